"""Imports point down."""

import ast
from collections.abc import Iterator
from pathlib import Path

import smpy

ROOT = Path(smpy.__file__).parent
LAYERS = [  # a package sees those above its line, and those on it
    {"__version__"},
    {"errors"},
    {"units", "input_files"},
    {"engine", "platforms", "records", "compute"},
    {"collectives"},
    {"mpi"},
    {"emulate"},
    {"study"},
    {"cli"},
    {"__main__"},
]
COMPILED = ("smpy.engine._event", "smpy.engine._surface")


def _imports() -> Iterator[tuple[Path, str, int]]:
    """Each import in smpy: the importing file, the dotted name, how many dots a relative one begins with."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path.relative_to(ROOT), alias.name, 0) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield path.relative_to(ROOT), f"{node.module}.{alias.name}", node.level


def _layer(package: str) -> int:
    return next(number for number, packages in enumerate(LAYERS) if package in packages)


def _may_see(package: str, other: str) -> bool:
    if package == other:
        return True
    if "analysis" in (package, other):
        return package in {"study", "cli"} or other in {"__version__", "errors", "units", "records"}
    return _layer(other) <= _layer(package)


def test_imports_are_absolute():
    assert [(str(path), name) for path, name, level in _imports() if level] == []


def test_a_package_imports_only_what_lies_below_it():
    wrong = [
        f"{path} imports {name}"
        for path, name, _ in _imports()
        if name.startswith("smpy.")
        and path != Path("__init__.py")  # the front door: names of several packages
        and not _may_see(path.with_suffix("").parts[0], name.split(".")[1])
    ]
    assert wrong == []


def test_only_engine_kernel_imports_the_compiled_modules():
    assert {path.as_posix() for path, name, _ in _imports() if name.startswith(COMPILED)} == {"engine/kernel.py"}
