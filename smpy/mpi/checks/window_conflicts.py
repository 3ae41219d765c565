"""Accesses to one rank's part of a window in one epoch, and the conflicts among them (MPI 4.1, 12.7).

Two accesses to the same byte conflict, with three exceptions: both read; both accumulate by one operation on one
basic datatype; one origin accumulates twice. `NO_OP` and compare-and-swap are compatible with every operation.
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
"""Largest number of conflicts reported per access: if all ranks write to one place, each access has very many."""

_REMOVED_MAX: Final = 4000
"""Largest number of accesses removed one by one, each in a time that grows with the number of others."""


class AccessKind(NamedTuple):
    """Name of an access's operation, and the basic types of the entries that it combines."""

    operation: str
    types: tuple[str, ...] = ()

    @property
    def is_reading(self) -> bool:
        """Whether the access leaves the target unchanged."""
        return self.operation in (_GET, _NO_OP)

    def fits(self, other: AccessKind) -> bool:
        """Whether accesses of these two kinds do not conflict, whichever ranks make them."""
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
"""Name of the operation of a compare-and-swap."""
_PLAIN: Final = (READ, WRITE)
_GO_WITH_ALL: Final = {_NO_OP, COMPARE}


class WindowAccess:
    """An access that a rank has started.

    Parameters
    ----------
    origin, rank : int
        The rank, in the window and in the world.
    target : int
        Rank, in the window, that owns the accessed part.
    what : str
        Action of the access, in words.
    line : Line
        Line of the call.
    kind : AccessKind
        Operation, and types of the entries.
    stretches : sequence of StretchOfBytes
        Accessed bytes of the target's part.
    is_exclusive : bool
        Whether the access is made under an exclusive lock.

    Attributes
    ----------
    request : callable or None
        Weak reference to the request of a read: the read is complete when the request is.
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
        """Key that is equal for an access and its repetition in a loop."""
        return self.origin, self.what, self.line, self.kind, self.stretches

    def is_over(self) -> bool:
        """Whether the request of the access has completed."""
        if self.request is None:
            return False
        request = self.request()
        return request is None or is_null(request)


class EpochAccesses:
    """Accesses of an epoch that no synchronisation has completed yet."""

    def __init__(self) -> None:
        self._by_kind: dict[AccessKind, StretchIndex[WindowAccess]] = {}
        self._known: dict[tuple[object, ...], WindowAccess] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no access is recorded."""
        return not self._known

    def clear(self) -> None:
        """Forget all accesses at the end of the epoch."""
        self._by_kind.clear()
        self._known.clear()

    def add(self, access: WindowAccess) -> WindowAccess:
        """Add an access, and return it; a repetition returns the access recorded before."""
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
        """Remove accesses that are complete."""
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
        """Accesses that conflict with `new`, up to `_CONFLICTS_MAX`, each with its stretch and the new one's."""
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
