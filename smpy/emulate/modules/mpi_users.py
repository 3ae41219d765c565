"""Installed modules that use MPI: importers of mpi4py, and importers of such modules.

State that a module keeps of its rank gets into another one in two ways, and the set is closed under both.

* Another module imports it, and may keep what it finds there (`from .comm import rank`). So every importer of
  a private module is private. An import in a function counts within one package only: there it may serve to fill a
  global later, while across packages it loads an optional back end, and its result is looked up anew at each call.
  A module that imports `__main__` is private, its importers are not: IPython does, and much of what is installed
  imports IPython.
* It writes into another module (`settings.rank = rank`, a table of subclasses), mostly one of its own package. So a
  package goes as a whole. A package of more than 256 modules would cost too much at every rank, and few of its modules
  have to do with MPI: there each module is judged by itself, as are the parts of a namespace package, which have
  nothing to do with each other.

All ranks see what a private module writes into other packages. A base class in a shared module is one for all ranks,
so `isinstance` holds between them and the ranks' own subclasses; its table of subclasses, if it keeps one, has those of
all ranks. A shared module that gets at a private one nevertheless (by a name made at run time, or in a function) meets
the running rank's copy each time it looks.

Tests of a package are judged by themselves; extension modules are never private, nor is the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from typing import Final

from smpy.emulate.modules.package_imports import ImportCache, PackageImports

_WHOLE_MAX: Final = 256  # modules
_PROGRAM: Final = "__main__"

Find = Callable[[str], "ModuleSpec | None"]


class MpiUsers:
    """Finds the modules that use MPI, themselves or through their imports.

    Parameters
    ----------
    cache : ImportCache
        Says what packages import.
    find : callable
        Finds a top-level module.
    known : callable
        Says whether a top-level module is private whatever it imports; None: its imports decide.
    """

    def __init__(self, cache: ImportCache, find: Find, known: Callable[[str], bool | None]) -> None:
        self._cache = cache
        self._find = find
        self._known = known
        self._packages: dict[str, PackageImports | None] = {}  # None: settled otherwise, or nowhere
        self._private: set[str] = set()

    def __contains__(self, name: str) -> bool:
        """Whether a module is to be private."""
        top = name.partition(".")[0]
        self._settle(top)
        package = self._packages[top]
        if package is None or name == top or name in package.files or not package.files:
            return self._unit(name) in self._private
        parent = name.rpartition(".")[0]
        if _is_whole(package) and top in self._private:
            return True
        imports = package.read(name)
        if imports is None:  # made when it is imported, or an extension module
            return parent in self
        for other in imports.at_once:
            self._settle(other.partition(".")[0])
        return imports.uses_mpi or any(self._unit(other) in self._private for other in imports.at_once | imports.later)

    def has_some_in(self, package: str) -> bool:
        """Whether modules that lie in a package are judged apart from it, and are private."""
        return any(name.startswith(f"{package}.") for name in self._private)

    def _settle(self, top: str) -> None:
        """Judge a package and the packages that it imports, as far as they are not yet judged."""
        if top in self._packages:
            return
        packages = dict(self._read(top))
        suspects = [
            packages[name]
            for name in _spread(
                [name for name, package in packages.items() if package.using_mpi],
                [(name, other.partition(".")[0]) for name, package in packages.items() for other in package.outside],
                {unit.partition(".")[0] for unit in self._private},
            )
        ]
        at_once, later = (
            [(unit, self._unit(other)) for package in suspects for unit, other in imports_of(package)]
            for imports_of in (self._at_once, self._later)
        )
        using_mpi = [self._unit(name) for package in suspects for name in package.using_mpi - package.shared]
        self._private |= _spread(using_mpi, at_once + later, self._private - {_PROGRAM}, self._really_imports)
        self._private |= {unit for unit, other in at_once if other == _PROGRAM and self._really_imports(unit, other)}

    def _read(self, top: str) -> Iterator[tuple[str, PackageImports]]:
        waiting = [top]
        while waiting:
            name = waiting.pop()
            if name in self._packages:
                continue
            self._packages[name] = None
            known = self._known(name)
            if known:
                self._private.add(name)
            spec = self._find(name) if known is None else None
            if spec is None:
                continue
            package = self._packages[name] = self._cache.imports_of(name, spec)
            if name not in package.shared:
                yield name, package
                waiting.extend({other.partition(".")[0] for other in package.outside})

    def _at_once(self, package: PackageImports) -> Iterator[tuple[str, str]]:
        """(unit, name that it imports at import time) pairs."""
        if _is_whole(package):
            yield from ((package.name, other) for other in package.outside)
            return
        for module in package.files.keys() - package.shared:
            imports = package.by_module.get(module)
            if imports is not None:
                yield from ((module, other) for other in imports.at_once)

    def _later(self, package: PackageImports) -> Iterator[tuple[str, str]]:
        """(unit, name of the same package that a function of it imports) pairs."""
        if _is_whole(package):
            return
        own = f"{package.name}."
        for module in package.files.keys() - package.shared:
            imports = package.by_module.get(module)
            if imports is not None:
                yield from ((module, other) for other in imports.later if f"{other}.".startswith(own))

    def _really_imports(self, unit: str, other: str) -> bool:
        """Whether a unit imports another by its syntax: a search takes lines of docstrings for imports, too.

        Such lines name modules beside the program, or seem to: imports of other packages are taken as they were found.
        """
        if self._packages.get(other.partition(".")[0]) is not None:
            return True
        package = self._packages[unit.partition(".")[0]]
        assert package is not None  # its imports have been found
        modules = package.files.keys() - package.shared if _is_whole(package) else {unit}
        imports_by_module = {module: package.by_module[module] for module in modules if module in package.by_module}
        return any(
            self._unit(name) == other
            for module, imports in imports_by_module.items()
            if any(self._unit(name) == other for name in imports.at_once)
            for name in package.parse(module).at_once
        )

    def _unit(self, name: str) -> str:
        """Unit in which a module, or something in a module, is judged: its top-level package, or the module alone."""
        top = name.partition(".")[0]
        package = self._packages.get(top)
        if package is None or _is_whole(package):
            return top
        while name not in package.files and name != top:
            name = name.rpartition(".")[0]
        return name


def _is_whole(package: PackageImports) -> bool:
    return len(package.files) <= _WHOLE_MAX and not package.is_namespace


def _spread(
    first: list[str],
    imports: list[tuple[str, str]],
    known: set[str],
    is_so: Callable[[str, str], bool] = lambda importer, imported: True,
) -> set[str]:
    """Transitive closure: `first`, and all units that import one of them or of `known`, by pairs that pass `is_so`."""
    importers: dict[str, list[str]] = {}
    for importer, imported in imports:
        importers.setdefault(imported, []).append(importer)
    reached = set(first)
    waiting = [*reached, *(importers.keys() & known)]
    while waiting:
        imported = waiting.pop()
        for importer in importers.get(imported, ()):
            if importer not in reached and is_so(importer, imported):
                reached.add(importer)
                waiting.append(importer)
    return reached
