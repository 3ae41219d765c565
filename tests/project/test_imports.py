"""Imports point down."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import smpy

ROOT = Path(smpy.__file__).parent
LAYERS = [  # a package sees those above its line, and those on it
    {"__version__"},
    {"errors"},
    {"units", "input_files", "arguments", "installed_parts"},
    {"engine", "platforms", "records", "compute", "blas", "experimental"},
    {"option_texts", "options"},
    {"collectives"},
    {"mpi", "replay", "export", "importers"},
    {"emulate"},
    {"runs"},
    {"study", "calibrate", "report"},
    {"cli"},
    {"__main__"},
]
ROOMS = {  # the same within packages; "" is the package's own files
    "mpi": [
        {"state"},
        {"data"},
        {"requests"},
        {"collectives"},
        {"comms", "process"},
        {"topology", "rma", "io", "checks"},
        {"conformance"},
        {"MPI"},
    ],
    "emulate": [{""}, {"modules"}, {"process", "threads"}, {"reports"}, {"run"}],
    "platforms": [{"models"}, {"", "own_format", "presets", "simgrid", "topologies"}, {"placement"}, {"inspection"}],
    "compute": [{"clock"}, {"models"}, {"folded"}],
}
IN_TEXT = re.compile(r"(?:^|;)[ >.]*(?:import (smpy[\w., ]*)|from (smpy[\w.]*) import (\w+))", re.MULTILINE)
COMPILED = ("smpy.engine._event", "smpy.engine._surface")
KERNEL = "smpy.engine.kernel"


@cache
def _imports() -> list[tuple[Path, str, int]]:
    """Each import in smpy: the importing file, the dotted name, how many dots a relative one begins with."""
    imports = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imports += [(path.relative_to(ROOT), alias.name, 0) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                imports += [(path.relative_to(ROOT), name, node.level) for name in names]
    return imports


def _imported_by(text: str) -> Iterator[str]:
    """Dotted names that a program text or a doctest imports; of another text, the module's whose name it is."""
    if re.fullmatch(r"smpy(\.\w+)+", text):
        yield text
    for found in IN_TEXT.finditer(text):
        if found[1]:
            yield from (name.split()[0] for name in found[1].split(","))
        else:
            yield f"{found[2]}.{found[3]}"


@cache
def _imports_in_texts() -> list[tuple[Path, str]]:
    """Each import of smpy in a string: the file with the string, the dotted name."""
    imports = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                imports += [(path.relative_to(ROOT), name) for name in _imported_by(node.value) if _is_there(name)]
    return imports


def _is_there(name: str) -> bool:
    """Whether a name is a module's of smpy, or a name's in one: groups of entry points look alike."""
    top = ROOT / name.split(".")[1] if "." in name else ROOT
    return top.is_dir() or top.with_suffix(".py").is_file()


def _module(path: Path) -> str:
    return ".".join(("smpy", *path.with_suffix("").parts)).removesuffix(".__init__")


def _edges() -> dict[str, set[str]]:
    """The modules of smpy, and those that each imports, wherever in it and whatever for."""
    modules = {_module(path.relative_to(ROOT)) for path in ROOT.rglob("*.py")}
    edges: dict[str, set[str]] = {module: set() for module in modules}
    for path, name, _ in _imports():
        imported = name if name in modules else name.rpartition(".")[0]
        if imported in modules:
            edges[_module(path)].add(imported)
    return edges


def _circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan 1972)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        path.append(module)
        for other in sorted(edges[module]):
            if other not in number:
                visit(other)
            if other in path:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == number[module]:
            first = path.index(module)
            if len(path) - first > 1:
                found.append(sorted(path[first:]))
            del path[first:]

    for module in sorted(edges):
        if module not in number:
            visit(module)
    return found


def _layer(layers: list[set[str]], package: str) -> int:
    return next(number for number, packages in enumerate(layers) if package in packages)


def _may_see(layers: list[set[str]], package: str, other: str) -> bool:
    if package == other:
        return True
    if "analysis" in (package, other):
        return package in {"study", "cli"} or other in {"__version__", "errors", "units", "records"}
    return _layer(layers, other) <= _layer(layers, package)


def test_imports_are_absolute():
    assert [(str(path), name) for path, name, level in _imports() if level] == []


def test_no_modules_import_each_other_in_a_circle():
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set()}) == [["a", "b", "c"]]
    assert _circles(_edges()) == []


def test_imports_are_found_in_program_texts():
    program = (
        "import sys; import smpy.cli.run, smpy.emulate.run.run as run\nif x:\n    from smpy.runs.guard import Guard\n"
    )
    assert list(_imported_by(program)) == ["smpy.cli.run", "smpy.emulate.run.run", "smpy.runs.guard.Guard"]
    assert list(_imported_by("\n>>> from smpy.study import study\n")) == ["smpy.study.study"]
    assert list(_imported_by("smpy.cli.main")) == ["smpy.cli.main"]
    assert list(_imported_by("says where smpy.cli is, and what to import from smpy")) == []


def test_a_package_imports_only_what_lies_below_it():
    imports = [*((path, name) for path, name, _ in _imports()), *_imports_in_texts()]
    wrong = [
        f"{path} imports {name}"
        for path, name in imports
        if name.startswith("smpy.")
        and path != Path("__init__.py")  # the front door: names of several packages
        and not _may_see(LAYERS, path.with_suffix("").parts[0], name.split(".")[1])
    ]
    assert wrong == []


def _room(package: str, inside: str) -> str:
    return inside if any(inside in rooms for rooms in ROOMS[package]) else ""


@pytest.mark.parametrize("package", ROOMS)
def test_a_room_imports_only_what_lies_below_it(package):
    layers = ROOMS[package]
    wrong = [
        f"{path} imports {name}"
        for path, name, _ in _imports()
        if path.parts[0] == package and path.name != "__init__.py" and name.startswith(f"smpy.{package}.")
        for importing, imported in [
            (_room(package, path.with_suffix("").parts[1]), _room(package, name.split(".")[2])),
        ]
        if importing != imported and _layer(layers, imported) > _layer(layers, importing)
    ]
    assert wrong == []


def test_only_engine_kernel_imports_the_compiled_modules():
    assert {path.as_posix() for path, name, _ in _imports() if name.startswith(COMPILED)} == {"engine/kernel.py"}


def _uses_of_the_kernel(source: str) -> list[str]:
    """Lines of a source that name the kernel as cffi shows it: its module, `lib` or `ffi`; numpy has a `lib`, too."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names) if any(alias.name == KERNEL for alias in names):
                found.append(f"{node.lineno}: import {KERNEL}")
            case ast.ImportFrom(module=module, names=names) if any(
                KERNEL in (module, f"{module}.{alias.name}") for alias in names
            ):
                found.append(f"{node.lineno}: from {module}")
            case ast.Attribute(value=ast.Name(id="np"), attr="lib"):
                pass
            case ast.Attribute(attr="lib" | "ffi") | ast.Name(id="lib" | "ffi"):
                found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def test_only_engine_names_the_kernel():
    assert _uses_of_the_kernel("from smpy.engine.kernel import surface") == ["1: from smpy.engine.kernel"]
    assert _uses_of_the_kernel("from smpy.engine import kernel") == ["1: from smpy.engine"]
    assert _uses_of_the_kernel("import smpy.engine.kernel") == ["1: import smpy.engine.kernel"]
    assert _uses_of_the_kernel("loop.lib.sim_new()\nffi.NULL") == ["2: ffi", "1: loop.lib"]
    assert _uses_of_the_kernel("np.lib.NumpyVersion") == []
    outside = [path for path in sorted(ROOT.rglob("*.py")) if ROOT / "engine" not in path.parents]
    named = {str(path.relative_to(ROOT)): _uses_of_the_kernel(path.read_text(encoding="utf-8")) for path in outside}
    assert {path: places for path, places in named.items() if places} == {}


def _at_run_time(source: str) -> set[str]:
    """Names of engine that a source imports, those for annotations left out."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for inside in ast.iter_child_nodes(node):
            if isinstance(inside, ast.If) and ast.unparse(inside.test) == "TYPE_CHECKING":
                inside.body = []
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        f"{node.module}.{alias.name}"
        for node in imports
        for alias in node.names
        if f"{node.module}.{alias.name}".startswith("smpy.engine.")
    }


def test_platforms_import_engine_only_to_build_a_machine():
    planted = "if TYPE_CHECKING:\n    from smpy.engine.a import b\ndef f():\n    from smpy.engine import c"
    assert _at_run_time(planted) == {"smpy.engine.c"}
    files = sorted((ROOT / "platforms").rglob("*.py"))
    needed = {path.name: _at_run_time(path.read_text(encoding="utf-8")) for path in files}
    assert {file: names for file, names in needed.items() if names} == {
        "description.py": {"smpy.engine.platform_builder.PlatformBuilder", "smpy.engine.platform_refusals.located"}
    }
