"""Handles that a program makes and never frees, by rank, with the line that made them.

A handle that Python has collected is not freed, neither in mpi4py nor here. Predefined objects do not count, nor
those that mpi4py makes for itself. A derived datatype counts once it is committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from smpy.mpi.checks.mistakes import Kind, Line, Mistakes, Side, is_of_library, line_here
from smpy.mpi.data.datatype_core import DatatypeCore
from smpy.mpi.requests.request import Request
from smpy.mpi.state.handle import Handle

__all__ = ["FREEING_CALLS", "HandleChecks"]

FREEING_CALLS: Final = frozenset({"Free", "Close", "Disconnect"})
_FAMILIES: Final = {
    "Comm": "communicator",
    "Group": "group",
    "Datatype": "datatype",
    "Op": "operation",
    "File": "file",
    "Win": "window",
    "Request": "persistent request",
}
"""Families whose objects must be freed; windows are made by the calls of `smpy.mpi.rma`."""


class _Made:
    """An object that a call has made; `keep` refers to it, so that no other object takes its identity."""

    __slots__ = ("call", "keep", "line")

    def __init__(self, call: str, line: Line, keep: object) -> None:
        self.call = call
        self.line = line
        self.keep = keep


class HandleChecks:
    """Objects that ranks have made and not yet freed."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, str, int], list[_Made]] = {}

    def made(self, rank: int, call: str, handles: Iterable[Any]) -> None:
        """Record the handles to new objects among the results of a call."""
        for handle in handles:
            family = getattr(handle, "_family", "")
            if family not in _FAMILIES or not _is_new(handle, call):
                continue
            line = line_here()
            if not is_of_library(line):
                self._made.setdefault((rank, family, _key(handle)), []).append(_Made(call, line, _kept(handle)))

    def freed(self, rank: int, family: str, key: int) -> None:
        """Record that a call has freed an object once."""
        objects = self._made.get((rank, family, key))
        if objects:
            objects.pop()
        if not objects:
            self._made.pop((rank, family, key), None)

    def report(self, mistakes: Mistakes) -> None:
        """Report all objects that were not freed."""
        for (rank, family, _), objects in self._made.items():
            for one in objects:
                if family == "Datatype" and not one.keep.is_committed:  # type: ignore[attr-defined]
                    continue
                mistakes.add(Kind.NOT_FREED, Side(rank, f"{_FAMILIES[family]} made by {one.call}", one.line))


def identity_of(handle: Any) -> tuple[str, int] | None:
    """Family and key of the object that a call is about to free; None for a null handle or another family."""
    family = getattr(handle, "_family", "")
    return (family, _key(handle)) if family in _FAMILIES and handle else None


def _is_new(handle: Handle, call: str) -> bool:
    """Whether a handle that a call returns refers to an object that the program must free."""
    if not handle:
        return False
    if isinstance(handle, Request):
        return handle._persistent() is not None
    if handle._family == "Group":
        return handle._identity() != handle._predefined["GROUP_EMPTY"]._identity() and len(_kept(handle)) > 0  # type: ignore[arg-type]
    return not call.startswith("Get_") and not handle._is_predefined()


def _key(handle: Any) -> int:
    key: int = handle._identity()
    return key


def _kept(handle: Any) -> object:
    """Object whose identity gives the key."""
    if isinstance(handle, DatatypeCore):
        return handle._layout_or_null
    if isinstance(handle, Request):
        return handle._persistent()
    return getattr(handle, "_members_or_null", handle)
