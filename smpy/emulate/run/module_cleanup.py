"""Deletes the objects in a rank's modules when the rank ends, so that they can free their MPI objects.

Some functions of the rank outlive it, because other ranks call functions that it stored in a shared module. Objects
that such functions use are kept. An object outlives the rank if more references to it exist than the rank's own
modules hold. It uses everything that it refers to and, if it is a function, the globals that its code names. A
function that none of these modules holds may use any of its globals.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from types import (
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from smpy.engine.clocks import ComputingClock

_LASTING: Final = (ModuleType, type, FunctionType, int, float, complex, str, NoneType)
_LOOKED_INTO: Final = frozenset(
    {
        list, tuple, dict, set, frozenset, FunctionType, MethodType, CellType, GetSetDescriptorType,
        MemberDescriptorType, property, staticmethod, classmethod, functools.partial,
        type(functools.lru_cache(lambda: None)),
    }
)  # fmt: skip
_HOLDERS_OF_TABLE: Final = 2  # its module, and the list of tables
_OBJECTS_MAX: Final = 100_000  # limit of 50 ms; objects beyond it count as referred to from elsewhere


def release(modules: Iterable[Any], clock: ComputingClock | None) -> None:
    """Delete objects in a rank's modules, last made first, but not modules, classes, functions, or objects in use.

    The search counts as no computing of the rank.
    """
    mark_s = -1.0 if clock is None else clock.pause()
    tables: list[dict[str, Any]] = [getattr(module, "__dict__", {}) for module in modules]
    held = [[name for name in reversed(table) if _is_held(name, table[name])] for table in tables]
    used = _used_by_others(tables) if any(held) else set()
    if clock is not None:
        clock.resume(mark_s)
    for table, names in zip(tables, held, strict=True):
        for name in names:
            if (id(table), name) not in used:
                table[name] = None


def _is_held(name: str, value: object) -> bool:
    return not name.startswith("__") and not isinstance(value, _LASTING)


def _used_by_others(tables: list[dict[str, Any]]) -> set[tuple[int, str]]:
    """Variables used by objects that are also referenced from outside these modules."""
    search = _Search(tables)
    n_references: Counter[int] = Counter()
    things: dict[int, Any] = {}
    waiting = [value for table in tables for value in table.values()]
    n_references.update(map(id, waiting))
    while waiting and len(things) < _OBJECTS_MAX:
        thing = waiting.pop()
        if id(thing) not in things and search.looks_into(thing):
            things[id(thing)] = thing
            referents = search.referents(thing)
            n_references.update(map(id, referents))
            waiting += referents
            del referents
        del thing
    counts = _reference_counts(things)
    used = search.variables_used_by([things[key] for key, count in counts.items() if count > n_references[key]])
    n_functions = Counter(id(thing.__globals__) for thing in things.values() if type(thing) is FunctionType)
    for key, count in _reference_counts(search.tables).items():
        if count > n_functions[key] + _HOLDERS_OF_TABLE:
            used.update((key, name) for name in search.tables[key])
    return used


def _reference_counts(things: dict[int, Any]) -> dict[int, int]:
    """Number of references to each object, besides the one of `things`, by key."""
    mark = object()
    own = {0: mark}
    del mark
    n_own = {key: sys.getrefcount(thing) for key, thing in own.items()}[0]  # differs between versions of Python
    return {key: sys.getrefcount(thing) - n_own for key, thing in things.items()}


class _Search:
    """Visits objects by reference, but not from a function to all its globals.

    Parameters
    ----------
    tables : list of dict
        The dictionaries of the rank's modules.
    """

    def __init__(self, tables: list[dict[str, Any]]) -> None:
        self.tables = {id(table): table for table in tables}
        self._names = {table.get("__name__") for table in tables}

    def looks_into(self, thing: Any) -> bool:
        kind = type(thing)
        if kind is FunctionType:
            return id(thing.__globals__) in self.tables or thing.__closure__ is not None  # such as a decorator's
        if isinstance(thing, type):
            return thing.__module__ in self._names
        if kind is dict and id(thing) in self.tables:
            return False
        return kind in _LOOKED_INTO or kind.__module__ in self._names

    def referents(self, thing: Any) -> list[Any]:
        table = thing.__globals__ if type(thing) is FunctionType else None
        return [each for each in gc.get_referents(thing) if id(each) not in self.tables and each is not table]

    def variables_used_by(self, things: list[Any]) -> set[tuple[int, str]]:
        used: set[tuple[int, str]] = set()
        seen: set[int] = set()
        waiting = things
        while waiting:
            thing = waiting.pop()
            if id(thing) in seen or not self.looks_into(thing):
                continue
            seen.add(id(thing))
            waiting += self.referents(thing)
            if type(thing) is FunctionType and id(thing.__globals__) in self.tables:
                table = thing.__globals__
                for name in _names_in(thing.__code__):
                    if name in table:
                        used.add((id(table), name))
                        waiting.append(table[name])
        return used


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if type(const) is CodeType:
            yield from _names_in(const)
