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
    {"engine", "platforms", "records", "compute", "blas"},
    {"collectives"},
    {"mpi", "replay"},
    {"emulate"},
    {"runs"},
    {"study", "calibrate", "report"},
    {"cli"},
    {"__main__"},
]
MPI_LAYERS = [  # the same within smpy.mpi
    {"state"},
    {"data"},
    {"requests"},
    {"collectives"},
    {"comms"},
    {"topology", "rma", "io"},
    {"conformance"},
    {"MPI"},
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


def test_a_package_imports_only_what_lies_below_it():
    wrong = [
        f"{path} imports {name}"
        for path, name, _ in _imports()
        if name.startswith("smpy.")
        and path != Path("__init__.py")  # the front door: names of several packages
        and not _may_see(LAYERS, path.with_suffix("").parts[0], name.split(".")[1])
    ]
    assert wrong == []


def test_a_layer_of_mpi_imports_only_what_lies_below_it():
    wrong = [
        f"{path} imports {name}"
        for path, name, _ in _imports()
        if path.parts[0] == "mpi" and name.startswith("smpy.mpi.")
        for importing, imported in [(path.with_suffix("").parts[1], name.split(".")[2])]
        if importing != imported and _layer(MPI_LAYERS, imported) >= _layer(MPI_LAYERS, importing)
    ]
    assert wrong == []


def test_only_engine_kernel_imports_the_compiled_modules():
    assert {path.as_posix() for path, name, _ in _imports() if name.startswith(COMPILED)} == {"engine/kernel.py"}
