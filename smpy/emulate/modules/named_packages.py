"""Checks the packages that the user declares private or shared: they must exist and allow it."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Collection, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import Final

from smpy.emulate.modules.sources import STAND_INS, is_extension
from smpy.errors import UsageError, closest

# smpy makes these serve each rank differently, or depends on them: copies would not work
_ONE_FOR_ALL: Final = frozenset(
    {
        "asyncio", "atexit", "collections", "concurrent", "contextlib", "dataclasses", "datetime", "enum", "functools",
        "greenlet", "importlib", "inspect", "io", "logging", "multiprocessing", "numpy", "pickle", "random", "runpy",
        "smpy", "subprocess", "threading", "types", "typing", "warnings", "weakref"
    }
)  # fmt: skip


def check_names(private: Collection[str], shared: Collection[str], path: list[str]) -> None:
    """Raise unless the packages that the user names exist, can be private or shared as wished, and are named once.

    Raises
    ------
    UsageError
        If one is not.
    """
    for option, names in (("--private", private), ("--shared", shared)):
        for name in names:
            if find_module(name, path) is None:
                raise UsageError(
                    f"{option} {name}: neither on sys.path nor beside the program is such a package"
                    f"{_suggestion(name, path)}"
                )
    for name in private:
        spec = find_module(name, path)
        assert spec is not None
        if name.partition(".")[0] in _ONE_FOR_ALL or spec.origin in ("built-in", "frozen"):
            raise UsageError(f"--private {name}: all ranks share it, and each sees its own state in it; leave it out")
        if is_extension(spec):
            raise UsageError(f"--private {name}: a compiled module has one copy for all ranks; leave it out")
    if both := sorted(set(private).intersection(shared)):
        raise UsageError(f"{both[0]} cannot be both --private and --shared: say one of them")


def find_module(name: str, path: Sequence[str]) -> ModuleSpec | None:
    """Find a module on this `sys.path`, without importing the packages that contain it."""
    top, *below = name.split(".")
    spec = _find_top(top, path)
    for number in range(len(below)):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(".".join((top, *below[: number + 1])), spec.submodule_search_locations)
    return spec


def _find_top(name: str, path: Sequence[str]) -> ModuleSpec | None:
    for finder in sys.meta_path:  # those of editable installs too
        spec = PathFinder.find_spec(name, path) if finder is PathFinder else finder.find_spec(name, None)
        if spec is not None:
            return spec
    return PathFinder.find_spec(name, [STAND_INS[name]]) if name in STAND_INS else None


def _suggestion(name: str, path: Sequence[str]) -> str:
    parent, _, child = name.rpartition(".")
    package = find_module(parent, path) if parent else None
    if parent and package is None:
        return ""
    places = path if package is None else package.submodule_search_locations or ()
    there = {module.name for module in pkgutil.iter_modules(list(places))}
    close = closest(child, there)
    return "" if close is None else f": did you mean {f'{parent}.{close}' if parent else close}?"
