"""Accesses to windows that conflict, and epochs that are left open.

Rules of MPI 4.1, 12.7: accesses of one epoch to the same bytes conflict unless all of them read, or all accumulate with
one operation and one basic type. Two ranks share an epoch between the same fences, in the same exposure of the target
(`Post`), and while both hold shared locks of it. A flush or an unlock completes accesses under locks; exclusive locks
order them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from smpy.mpi.checks.buffers import PendingBuffer, has_own_content
from smpy.mpi.checks.mistakes import Kind, Line, Mistakes, Side
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.message_specifications import to_send
from smpy.mpi.data.operations import PREDEFINED
from smpy.mpi.rma.targets import rank_of, target_of
from smpy.mpi.rma.window_parts import Window, WindowPart
from smpy.mpi.state import constants
from smpy.mpi.state.exceptions import Exception as MpiException

__all__ = ["WindowChecks"]

_READS: Final = ("Get", "Rget")
_WRITES: Final = ("Put", "Rput")
_ACCUMULATES: Final = ("Accumulate", "Raccumulate", "Get_accumulate", "Rget_accumulate")
_OF_ONE_ENTRY: Final = ("Fetch_and_op", "Compare_and_swap")
_OPENING: Final = {"Lock": "Unlock", "Lock_all": "Unlock_all", "Start": "Complete", "Post": "Wait"}
_CLOSING: Final = {**{closing: opening for opening, closing in _OPENING.items()}, "Test": "Post"}
_ALL: Final = -1
_NO_OP: Final = PREDEFINED["NO_OP"]

Epoch = tuple[str, int]
"""Kind of an epoch, and its number among those of its kind; 1, or 2 if it is exclusive, of a lock."""


class _How(NamedTuple):
    """Nature of an access: whether it reads, or accumulates entries of a basic type by an operation ("": any)."""

    reads: bool = False
    basic_type: str = ""
    operation: str = ""


class _Access:
    """An access of the present epoch to a rank's part of a window."""

    __slots__ = ("begin", "buffer", "epoch", "how")

    def __init__(self, buffer: PendingBuffer, epoch: Epoch, how: _How) -> None:
        self.begin: int = buffer.begin
        self.buffer = buffer
        self.epoch = epoch
        self.how = how

    def __lt__(self, other: _Access) -> bool:
        return self.begin < other.begin

    def conflicts_with(self, other: _Access) -> bool:
        """Whether the two, of which this one comes later, are of one epoch and conflict."""
        if self.epoch != other.epoch or (self.epoch == ("lock", 2) and self.buffer.rank != other.buffer.rank):
            return False
        return not _go_together(self.how, other.how) and self.buffer.overlaps(other.buffer)


def _go_together(one: _How, other: _How) -> bool:
    if not one.basic_type or not other.basic_type:
        return one.reads and other.reads
    is_one_operation = one.operation == other.operation or not one.operation or not other.operation
    return is_one_operation and one.basic_type == other.basic_type


def _basic_type(entries: BufferSegment) -> str:
    """Type string of the first basic element."""
    typemap = entries.layout.typemap
    while typemap.elements:
        typemap = typemap.elements[0][1]
    return typemap.code


class _Accesses:
    """Accesses to one rank's part of a window, in the order of their first bytes."""

    def __init__(self) -> None:
        self._all: list[_Access] = []
        self._longest = 0
        self._newest: dict[str, int] = {}

    def add(self, new: _Access, tell: Callable[[_Access], None]) -> None:
        """Add an access; `tell` of each before it that it conflicts with."""
        kind, number = new.epoch
        if kind != "lock" and number > self._newest.get(kind, 0):
            self._newest[kind] = number
            self.forget(lambda other: other.epoch[0] == kind)
        begin, end = new.buffer.begin, new.buffer.end
        first = bisect_left(self._all, begin - self._longest, key=lambda access: access.begin)
        for other in self._all[first:]:
            if other.begin >= end:
                break
            if new.conflicts_with(other):
                tell(other)
        self._longest = max(self._longest, end - begin)
        if new.buffer.call != "Rget":  # its wait, which orders it, is not seen here
            insort(self._all, new)

    def forget(self, is_over: Callable[[_Access], bool]) -> None:
        """Forget accesses that are over."""
        self._all = [access for access in self._all if not is_over(access)]
        if not self._all:
            self._longest = 0


class _Side:
    """Epochs of a rank on a window."""

    __slots__ = ("n_fences", "n_posts", "opened", "targets")

    def __init__(self) -> None:
        self.targets: set[int] = set()  # ranks that it has accessed
        self.n_fences = self.n_posts = 0
        self.opened: dict[tuple[str, int], Line] = {}  # by call, and the rank that it locks


class WindowChecks:
    """Checks of the calls on all windows of a world."""

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._accesses: dict[tuple[Window, int], _Accesses] = {}
        self._sides: dict[tuple[Window, int], _Side] = {}
        self._ranks: dict[tuple[Window, int], int] = {}

    def called(
        self,
        part: WindowPart,
        rank: int,
        call: str,
        given: dict[str, Any],
        here: Callable[[], Line],
        *,
        is_over: object,
    ) -> None:
        """A call on a window has returned.

        Parameters
        ----------
        part : WindowPart
            The rank's part of the window.
        rank : int
            Its world rank.
        call : str
            Name of the method.
        given : dict of str to object
            Arguments by name.
        here : callable
            Tells the line of the call.
        is_over : object
            Value that it returned: a test of accesses that are not over closes nothing.
        """
        key = part.window, part.rank
        side = self._sides.get(key)
        if side is None:
            side = self._sides[key] = _Side()
            self._ranks[key] = rank
        if call == "Free":
            del self._sides[key]
            self._accesses[key] = _Accesses()
        elif call == "Fence":
            side.n_fences += 1
        elif call in _OPENING:
            target = given.get("rank", _ALL)
            if target != constants.PROC_NULL:
                side.opened[call, target] = here()
                side.n_posts += call == "Post"
        elif call in _CLOSING or call.startswith("Flush"):
            self._close(part, side, call, given, is_over=is_over)
        elif call in (*_READS, *_WRITES, *_ACCUMULATES, *_OF_ONE_ENTRY):
            with suppress(MpiException, ValueError):
                self._add(part, rank, side, call, given, here)

    def _close(self, part: WindowPart, side: _Side, call: str, given: dict[str, Any], *, is_over: object) -> None:
        target = given.get("rank", _ALL)
        if call in _CLOSING and is_over is not False:
            side.opened.pop((_CLOSING[call], target), None)
        if call.startswith(("Unlock", "Flush")):
            mine, reads_only = self._ranks[part.window, part.rank], "local" in call
            for rank in side.targets if target == _ALL else side.targets & {target}:
                self._accesses[part.window, rank].forget(
                    lambda access: (
                        access.epoch[0] == "lock"
                        and access.buffer.rank == mine
                        and (not reads_only or access.how.reads)
                    )
                )

    # ---- accesses ----

    def _add(
        self, part: WindowPart, rank: int, side: _Side, call: str, given: dict[str, Any], here: Callable[[], Line]
    ) -> None:
        target = rank_of(part, given["target_rank"], call)
        if target == constants.PROC_NULL:
            return
        origin: BufferSegment = to_send(given.get("result", given["origin"]), call)
        place = given["target_disp"] if call in _OF_ONE_ENTRY else given["target"]
        room = target_of(part, target, [place, 1, origin.datatype] if call in _OF_ONE_ENTRY else place, origin, call)
        if not room.nbytes or not has_own_content(room.entries):
            return
        how = _How(reads=call in _READS)
        if call in (*_ACCUMULATES, *_OF_ONE_ENTRY):
            operation = given.get("op", _NO_OP)
            name = "" if operation == _NO_OP else operation._operation.name
            how = _How(basic_type=_basic_type(room), operation=name)
        buffer = PendingBuffer(rank, call, here(), room.entries, is_written=call not in _READS)
        new = _Access(buffer, self._epoch(part, side, target), how)
        owner = part.communicator.world_ranks()[target]

        def tell(other: _Access) -> None:
            what = f"bytes of the window at rank {owner}"
            first, second = (
                Side(each.buffer.rank, f"{each.buffer.call} of {what}", each.buffer.line) for each in (other, new)
            )
            self._mistakes.add(Kind.CONFLICTS, first, second)

        side.targets.add(target)
        self._accesses.setdefault((part.window, target), _Accesses()).add(new, tell)

    def _epoch(self, part: WindowPart, side: _Side, target: int) -> Epoch:
        kind = part.epochs.locks.get(target, part.epochs.locks.get(_ALL))
        if kind is not None:
            return "lock", 2 if kind == constants.LOCK_EXCLUSIVE else 1
        if part.epochs.started is not None:
            other = self._sides.get((part.window, target))
            return "exposure", 0 if other is None else other.n_posts
        return "fence", side.n_fences

    # ---- at the end ----

    def report(self) -> None:
        """Tell of epochs that are open."""
        for key, side in self._sides.items():
            for (call, target), line in side.opened.items():
                name = call if target == _ALL else f"{call}({target})"
                what = f"{name} without {_OPENING[call]}"
                self._mistakes.add(Kind.EPOCHS, Side(self._ranks[key], what, line))
