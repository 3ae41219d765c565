"""Accesses to one rank's part of a window in one epoch, and those among them that conflict (MPI 4.1, 12.7).

Two accesses to one byte conflict unless both read, or both accumulate by one operation on one basic datatype, or one
origin accumulates twice. `NO_OP` and compare-and-swap go with every operation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from smpy.mpi.checks.mistakes import Line
from smpy.mpi.checks.stretches import StretchIndex, StretchOfBytes
from smpy.mpi.requests.states import is_null

__all__ = ["COMPARE", "READ", "WRITE", "AccessKind", "EpochAccesses", "WindowAccess"]

_CONFLICTS_MAX: Final = 16
"""Conflicts of one access that are looked at: in a program where all ranks write to one place, each has very many."""

_REMOVED_MAX: Final = 4000
"""Accesses that are taken out of their order one by one, each in time that grows with the others' number."""


class AccessKind(NamedTuple):
    """Operation of an access, by name, and the basic types of the entries that it combines."""

    operation: str
    types: tuple[str, ...] = ()

    @property
    def is_reading(self) -> bool:
        """Whether it leaves the target as it is."""
        return self.operation in (_GET, _NO_OP)

    def fits(self, other: AccessKind) -> bool:
        """Whether an access of this kind and one of the other do not conflict, whoever makes them."""
        if self.is_reading and other.is_reading:
            return True
        if self in _PLAIN or other in _PLAIN:
            return False
        operations = {self.operation, other.operation}
        return self.types == other.types and (len(operations) == 1 or not operations.isdisjoint(_GO_WITH_ALL))


_GET: Final = "get"
_NO_OP: Final = "MPI_NO_OP"
READ: Final = AccessKind(_GET)
WRITE: Final = AccessKind("put")
COMPARE: Final = "compare and swap"
"""Operation of a compare-and-swap."""
_PLAIN: Final = (READ, WRITE)
_GO_WITH_ALL: Final = {_NO_OP, COMPARE}


class WindowAccess:
    """An access that a rank has started.

    Parameters
    ----------
    origin, rank : int
        The rank, in the window and in the world.
    target : int
        The rank whose part it is, in the window.
    what : str
        What it does, in words.
    line : Line
        Its line.
    kind : AccessKind
        Its kind.
    stretches : sequence of StretchOfBytes
        Bytes of the target's part.
    is_exclusive : bool
        Whether it is made under an exclusive lock.

    Attributes
    ----------
    request : callable or None
        The request of a read, as long as it exists: when that is complete, so is the read.
    """

    __slots__ = ("is_exclusive", "kind", "line", "origin", "rank", "request", "stretches", "target", "what")

    def __init__(
        self,
        origin: int,
        rank: int,
        target: int,
        what: str,
        line: Line,
        kind: AccessKind,
        stretches: Sequence[StretchOfBytes],
        *,
        is_exclusive: bool,
    ) -> None:
        self.origin = origin
        self.rank = rank
        self.target = target
        self.what = what
        self.line = line
        self.kind = kind
        self.stretches = tuple(stretches)
        self.is_exclusive = is_exclusive
        self.request: Callable[[], Any] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for an access and its repetition in a loop."""
        return self.origin, self.what, self.line, self.kind, self.stretches

    def is_over(self) -> bool:
        """Whether its request says that it is complete."""
        if self.request is None:
            return False
        request = self.request()
        return request is None or is_null(request)


class EpochAccesses:
    """Accesses of an epoch that no synchronisation has completed."""

    def __init__(self) -> None:
        self._by_kind: dict[AccessKind, StretchIndex[WindowAccess]] = {}
        self._known: dict[tuple[object, ...], WindowAccess] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not self._known

    def clear(self) -> None:
        """The epoch is over."""
        self._by_kind.clear()
        self._known.clear()

    def add(self, access: WindowAccess) -> WindowAccess:
        """Add an access; the one that was there, when it is the repetition of that."""
        known = self._known.get(access.key)
        if known is None:
            known = access
            self._insert(access)
        known.request = None
        return known

    def _insert(self, access: WindowAccess) -> None:
        self._known[access.key] = access
        index = self._by_kind.setdefault(access.kind, StretchIndex())
        for stretch in access.stretches:
            index.add(stretch, access)

    def remove(self, complete: Collection[WindowAccess]) -> None:
        """Some accesses are complete."""
        for access in complete:
            del self._known[access.key]
        if len(complete) > min(len(self._known), _REMOVED_MAX):
            left = list(self._known.values())
            self.clear()
            for access in left:
                self._insert(access)
            return
        for access in complete:
            for stretch in access.stretches:
                self._by_kind[access.kind].remove(stretch, access)

    def conflicts(self, new: WindowAccess) -> Iterator[tuple[WindowAccess, StretchOfBytes, StretchOfBytes]]:
        """Accesses that conflict with one, as many as are worth a look, and a stretch of each and its own."""
        return islice(self._conflicts(new), _CONFLICTS_MAX)

    def _conflicts(self, new: WindowAccess) -> Iterator[tuple[WindowAccess, StretchOfBytes, StretchOfBytes]]:
        seen: set[int] = set()
        for kind, index in self._by_kind.items():
            if kind.fits(new.kind):
                continue
            both_accumulate = kind not in _PLAIN and new.kind not in _PLAIN
            for stretch in new.stretches:
                for its, other in index.overlapping(stretch):
                    if other.origin == new.origin:
                        may_meet = not both_accumulate
                    else:
                        may_meet = not (other.is_exclusive or new.is_exclusive)
                    if not may_meet or id(other) in seen or other.is_over():
                        continue
                    seen.add(id(other))
                    yield other, its, stretch
