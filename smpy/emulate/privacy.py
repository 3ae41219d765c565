"""Which modules each rank has of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection
from importlib.machinery import ModuleSpec, PathFinder
from typing import Final

from smpy.emulate.facade import Facade
from smpy.emulate.requirements import packages_requiring_mpi4py
from smpy.emulate.sources import STAND_INS
from smpy.errors import UsageError

# mpi4py's pure-Python parts are every rank's own; these are one for all
SHARED_PARTS: Final = frozenset({"mpi4py.MPI", "mpi4py._mpiabi"})
Finder = Callable[[str], "ModuleSpec | None"]
_SITE: Final = frozenset({"site-packages", "dist-packages"})


def check_names(private: Collection[str], shared: Collection[str], path: list[str]) -> None:
    """Raise unless the packages that the user names are there, and each is named once.

    Raises
    ------
    UsageError
        If one is not, or is to be private and shared.
    """
    for option, names in (("--private", private), ("--shared", shared)):
        for name in names:
            top = name.partition(".")[0]
            if top not in sys.builtin_module_names and top not in STAND_INS and PathFinder.find_spec(top, path) is None:
                raise UsageError(f"{option} {name}: neither on sys.path nor beside the program is such a package")
    if both := sorted(set(private).intersection(shared)):
        raise UsageError(f"{both[0]} cannot be both --private and --shared: say one of them")


class Privacy:
    """Tells private modules (each rank has its own) from shared ones.

    Private are: the program's own modules (found in its directory, or in a directory it has itself put on `sys.path`,
    unless that is one of installed packages), the package of a program started with `-m`, mpi4py's pure-Python parts,
    installed packages that require mpi4py, and those named. Extension modules are always shared, and so are modules
    that say so themselves (`Source.says_shared`), with all that lies in them, unless they are named as private.

    Parameters
    ----------
    private, shared : collection of str
        Modules named by the user; what lies in a named package goes with it.
    home : str
        The program's directory.
    path : list of str
        `sys.path` as the program finds it.
    """

    def __init__(self, private: Collection[str], shared: Collection[str], home: str, path: list[str]) -> None:
        self._known: dict[str, bool] = {"smpy": False, "__main__": True, "mpi4py": True}
        self._known.update(dict.fromkeys(SHARED_PARTS, False))
        self._known.update(dict.fromkeys(sys.builtin_module_names, False))
        self._known.update(dict.fromkeys(private, True))
        self._known.update(dict.fromkeys(shared, False))
        self._named = frozenset(private)
        self._home = os.path.abspath(home)
        self._first_path = {os.path.abspath(entry) for entry in path}
        self._requiring: frozenset[str] | None = None

    def is_named(self, name: str) -> bool:
        """Whether the user wants a module, or a package it lies in, to be private."""
        return any(name == own or name.startswith(f"{own}.") for own in self._named)

    def is_beside_program(self, spec: ModuleSpec) -> bool:
        """Whether a top-level module was found in the program's directory."""
        return self._home in _places(spec)

    def is_named_below(self, name: str) -> bool:
        """Whether the user wants a part of a package to be private."""
        return any(own.startswith(f"{name}.") for own in self._named)

    def is_decided(self, name: str) -> bool:
        """Whether the answer for a module stands."""
        return name in self._known

    def declare(self, name: str, *, is_private: bool) -> None:
        """From now on this is so: it turned out when the module was made."""
        self._known[name] = is_private

    def decide(self, name: str, find: Finder) -> bool:
        """Whether a module is private; `find` is asked where a top-level one lies.

        A name that cannot be found yet is shared for now: the import system will say that it is missing.
        """
        known = self._known.get(name)
        if known is not None:
            return known
        parent = name.rpartition(".")[0]
        if parent:
            known = self.decide(parent, find)
        elif (loaded := sys.modules.get(name)) is not None and type(loaded) is not Facade:
            known = False
        else:
            spec = find(name)
            if spec is None:
                return False
            known = self._is_private(name, spec)
        self._known[name] = known
        return known

    def _is_private(self, name: str, spec: ModuleSpec) -> bool:
        places = _places(spec)
        if not places:
            return False  # frozen or built in
        if self.is_beside_program(spec):
            return True
        added = {os.path.abspath(entry) for entry in sys.path} - self._first_path
        if any(place in added and os.path.basename(place) not in _SITE for place in places):
            return True
        if name in sys.stdlib_module_names:
            return False
        if self._requiring is None:
            self._requiring = packages_requiring_mpi4py(sys.path)
        return name in self._requiring


def _places(spec: ModuleSpec) -> set[str]:
    """Directories in which a top-level module was found."""
    if spec.submodule_search_locations is not None:
        return {os.path.dirname(os.path.abspath(location)) for location in spec.submodule_search_locations}
    if spec.origin is None or not spec.has_location:
        return set()
    return {os.path.dirname(os.path.abspath(spec.origin))}
