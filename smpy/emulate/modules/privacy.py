"""Decides which modules each rank has a copy of."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from importlib.machinery import ModuleSpec
from typing import Final

from smpy.emulate.modules.mpi_users import Find, MpiUsers
from smpy.emulate.modules.package_imports import user_cache

# mpi4py's pure-Python parts are private, except these
SHARED_PARTS: Final = frozenset({"mpi4py.MPI", "mpi4py._mpiabi"})
_SITE: Final = frozenset({"site-packages", "dist-packages"})


class Privacy:
    """Tells private modules (each rank has its own) from shared ones.

    Private are: the program's own modules (found in its directory, or in a directory it has itself put on `sys.path`,
    unless that is one of installed packages), the package of a program started with `-m`, mpi4py's pure-Python parts,
    other modules that use MPI (`MpiUsers`), and those named. Extension modules are always shared, and so are modules
    that say so themselves (`Source.says_shared`), with all that lies in them, unless they are named as private.

    Parameters
    ----------
    private, shared : collection of str
        Modules named by the user; what lies in a named package goes with it.
    home : str
        The program's directory.
    path : list of str
        `sys.path` as the program finds it.
    find : callable
        Finds a top-level module.
    """

    def __init__(
        self, private: Collection[str], shared: Collection[str], home: str, path: list[str], find: Find
    ) -> None:
        self._declared = dict.fromkeys([name.partition(".")[0] for name in sys.modules], False)  # there before the run
        self._declared.update(dict.fromkeys((*sys.builtin_module_names, "smpy"), False))
        self._declared.update({"__main__": True, "mpi4py": True})
        self._declared["numpy"] = False  # its compiled parts cannot be loaded twice, whatever its modules import
        self._declared.update(dict.fromkeys(SHARED_PARTS, False))
        self._declared.update(dict.fromkeys(private, True))
        self._declared.update(dict.fromkeys(shared, False))
        self._known = self._declared.copy()
        self._named = frozenset(private)
        self._homes = {os.path.abspath(home)}
        self._first_path = {os.path.abspath(entry) for entry in path}
        self._by_place: dict[str, bool | None] = {}
        self._find = find
        self._users = MpiUsers(user_cache(), find, self._judge_imported)

    def is_named(self, name: str) -> bool:
        """Whether the user declared a module, or a package that contains it, private."""
        return any(name == own or name.startswith(f"{own}.") for own in self._named)

    def is_beside_program(self, spec: ModuleSpec) -> bool:
        """Whether a top-level module was found in the program's directory."""
        return not self._homes.isdisjoint(_places(spec))

    def add_home(self, home: str) -> None:
        """Treat modules of another program's directory as its own from now on."""
        self._homes.add(os.path.abspath(home))

    def has_private_parts(self, name: str) -> bool:
        """Whether a package that is not private has private modules."""
        return self._users.has_some_in(name) or any(own.startswith(f"{name}.") for own in self._named)

    def is_decided(self, name: str) -> bool:
        """Whether the decision on a module is final."""
        return name in self._known

    def is_known_private(self, name: str) -> bool:
        """Whether a module was decided to be private."""
        return self._known.get(name, False)

    def declare(self, name: str, *, is_private: bool) -> None:
        """Record whether a module was private or shared when it was created; modules in a shared one are shared too."""
        self._known[name] = is_private
        if not is_private:
            self._declared[name] = False

    def decide(self, name: str) -> bool:
        """Whether a module is private.

        A name that cannot be found yet counts as shared: the import system will report that it is missing.
        """
        known = self._known.get(name)
        if known is None:
            known = self._decide(name)
            top = name.partition(".")[0]
            if top in self._by_place or top in self._declared:  # the module has been found
                self._known[name] = known
        return known

    def _decide(self, name: str) -> bool:
        package = name
        while package:
            if package in self._declared:
                return self._declared[package]
            package = package.rpartition(".")[0]
        top = name.partition(".")[0]
        by_place = self._judge_by_place(top)
        return name in self._users if by_place is None else by_place

    def _judge_by_place(self, top: str) -> bool | None:
        """Whether a package is private by the user's declaration or its location; None if its sources must decide."""
        if top in self._declared:
            return self._declared[top]
        if top not in self._by_place:
            spec = self._find(top)
            if spec is None:
                return False
            self._by_place[top] = self._place(top, spec)
        return self._by_place[top]

    def _judge_imported(self, top: str) -> bool | None:
        """Whether an import of this package makes its importer private; None if the package's sources must decide.

        An import from the standard library does not, even if the user names it: the library keeps nothing of a rank
        that others could take, and half of all packages import `unittest`. Finders may do much when they are asked for
        a module of it, too: setuptools' imports setuptools.
        """
        return False if top in sys.stdlib_module_names else self._judge_by_place(top)

    def _place(self, top: str, spec: ModuleSpec) -> bool | None:
        if self.is_beside_program(spec):
            return True
        places = _places(spec)
        added = {os.path.abspath(entry) for entry in sys.path} - self._first_path
        if any(place in added and os.path.basename(place) not in _SITE for place in places):
            return True
        return None if places and top not in sys.stdlib_module_names else False


def _places(spec: ModuleSpec) -> set[str]:
    """Directories in which a top-level module was found."""
    if spec.submodule_search_locations is not None:
        return {os.path.dirname(os.path.abspath(location)) for location in spec.submodule_search_locations}
    if spec.origin is None or not spec.has_location:
        return set()
    return {os.path.dirname(os.path.abspath(spec.origin))}
