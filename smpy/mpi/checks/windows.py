"""Checks of windows: calls outside epochs, epochs and locks left open, and conflicting accesses.

Accesses to a rank's part are kept by their kind of epoch: between two fences, in the exposure of one `Post`, or under
locks. The first two are forgotten when the epoch ends. Accesses under locks are forgotten when their origin has
completed them, so programs that order accesses by messages have no conflicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from weakref import ref

from smpy.engine.messages import Entries
from smpy.mpi.checks.buffers import PendingBuffer
from smpy.mpi.checks.mistakes import NOWHERE, Kind, Line, Mistakes, Side, is_of_library
from smpy.mpi.checks.signatures import agree, basic_types_of, described
from smpy.mpi.checks.stretches import StretchOfBytes, stretches_of
from smpy.mpi.checks.window_buffers import AccessSegment
from smpy.mpi.checks.window_conflicts import COMPARE, READ, WRITE, AccessKind, WindowAccess
from smpy.mpi.checks.window_state import ALL, CheckedWindow, Origin
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.datatypes import BYTE
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.message_specifications import to_fill, to_send
from smpy.mpi.data.operations import PREDEFINED
from smpy.mpi.requests.request import Request
from smpy.mpi.rma.targets import rank_of, target_of
from smpy.mpi.rma.window_parts import WindowPart
from smpy.mpi.state import constants
from smpy.mpi.state.constants import PROC_NULL
from smpy.mpi.state.exceptions import ERROR_CLASSES
from smpy.mpi.state.exceptions import Exception as MpiException

__all__ = ["WindowCall", "WindowChecks"]

_NO_OP: Final = PREDEFINED["NO_OP"]
_ERR_RMA_SYNC: Final = ERROR_CLASSES["ERR_RMA_SYNC"][0]
_GETS: Final = ("Get", "Rget")
_PUTS: Final = ("Put", "Rput")
_ACCUMULATES: Final = ("Accumulate", "Raccumulate", "Get_accumulate", "Rget_accumulate", "Fetch_and_op")
_ACCESSES: Final = frozenset((*_GETS, *_PUTS, *_ACCUMULATES, "Compare_and_swap"))
_OPENS: Final = {"Lock": "Unlock", "Lock_all": "Unlock_all", "Start": "Complete", "Post": "Wait"}
"""Calls that open an epoch, and the call that ends each."""
_ENDS: Final = {end: opening for opening, end in _OPENS.items()} | {"Test": "Post"}
_COMPLETES: Final = frozenset(
    ("Fence", "Flush", "Flush_all", "Flush_local", "Flush_local_all", "Unlock", "Unlock_all", "Complete")
)
"""Calls after which the rank may use its own buffers again."""
_ENDS_FENCE: Final = frozenset(("Lock", "Lock_all", "Start"))
"""Calls that end an epoch of `Fence` without completing accesses."""
_KNOWN: Final = frozenset((*_ACCESSES, *_OPENS, *_ENDS, *_COMPLETES, "Free"))


Conflicting = tuple[WindowAccess, StretchOfBytes]
"""An access, and the bytes of it that another one touches."""


class WindowCall(NamedTuple):
    """A rank's call on a window; `peer` is the rank in the window that the call names."""

    name: str
    part: WindowPart
    window: CheckedWindow
    origin: Origin
    peer: int | None
    line: Line
    access: WindowAccess | None = None
    segments: tuple[AccessSegment, ...] = ()
    conflicts: tuple[tuple[Conflicting, Conflicting], ...] = ()


class WindowChecks:
    """Windows of a world that are not freed yet.

    Parameters
    ----------
    mistakes : Mistakes
        Collects the mistakes found.
    line_of : callable
        Returns the line of a number.
    """

    def __init__(self, mistakes: Mistakes, line_of: Callable[[int], Line]) -> None:
        self._mistakes = mistakes
        self._line_of = line_of
        self._windows: dict[int, CheckedWindow] = {}
        self._conflicts: dict[object, tuple[Side, Side]] = {}

    # ---- calls ----

    def begin(
        self, name: str, rank: int, part: WindowPart, arguments: dict[str, Any], here: Callable[[], Line]
    ) -> WindowCall | None:
        """Check the begin of a call on a window; None when no check depends on the call."""
        if name not in _KNOWN:
            return None
        named = arguments.get("target_rank", arguments.get("rank"))
        try:
            peer = None if named is None else rank_of(part, named, name)
            if peer == PROC_NULL:
                return None
            line, access, segments = here(), None, tuple[AccessSegment, ...]()
            conflicts = tuple[tuple[Conflicting, Conflicting], ...]()
            if peer is not None and name in _ACCESSES:
                part.epochs.check_access(peer, name)
                segments = _segments_of(name, arguments)
                entries = segments[0][0]
                target = target_of(part, peer, arguments.get("target_disp", arguments.get("target")), entries, name)
                self._compare_types(Side(rank, name, line), entries.layout, target.layout)
                access = _access_of(name, part, peer, arguments, target, rank, line)
        except Exception:  # noqa: BLE001  # the call itself raises it
            return None
        window = self._windows.get(part.communicator.number)
        if window is None:
            window = self._windows[part.communicator.number] = CheckedWindow(part.communicator.size)
        origin = window.origins.get(part.rank)
        if origin is None:
            origin = window.origins[part.rank] = part.checked = Origin(rank, self._mistakes, window.notes)
        if access is not None:
            self._take_over(part, window, origin, access.target)
            access, conflicts = self._begin_access(access, part, window, origin, name)
        elif origin.has_accessed:
            self._check_fence(name, origin, arguments, line)
        return WindowCall(name, part, window, origin, peer, line, access, segments, conflicts)

    def end(self, call: WindowCall, result: object) -> list[PendingBuffer]:
        """Record the end of a call, and return the buffers of the request that it has started."""
        if call.access is not None:
            return self._end_access(call, call.access, result)
        name = call.name
        if name in _COMPLETES:
            call.origin.buffers.completed(call.peer, Side(call.origin.rank, f"{name} completes it", call.line))
            if call.window.notes is not None:
                call.window.notes.look(call.part.rank, _or_all(call.peer), name)
        if name == "Fence":
            self._end_of_fence(call)
        elif name == "Free":
            self._forget(call)
        elif name.startswith("Flush"):
            self._complete(call, is_local=name.startswith("Flush_local"))
        elif name in _OPENS:
            call.origin.open(name, call.peer, call.line)
        elif name in _ENDS and result is not False:
            call.origin.close(_ENDS[name], call.peer)
            if _ENDS[name] == "Post":
                call.window.targets[call.part.rank].exposed.clear()
                call.window.give_back(call.part.rank)
            else:
                self._complete(call)
        return []

    def _end_access(self, call: WindowCall, access: WindowAccess, result: object) -> list[PendingBuffer]:
        """Report the conflicts of an access that was not refused; return the buffers of its request."""
        for conflict in call.conflicts:
            self._tell(call.part, *conflict)
        has_request = isinstance(result, Request)
        if call.name in _GETS and has_request:
            access.request = ref(result)
        if is_of_library(call.line):
            return []
        return call.origin.buffers.started(access.target, call.name, call.line, call.segments, has_request=has_request)

    def drop(self, call: WindowCall) -> None:
        """Ignore the access of a call that has failed."""
        if call.access is not None:
            call.access.request = _no_request

    def failed(self, name: str, rank: int, part: WindowPart, error: MpiException, here: Callable[[], Line]) -> None:
        """Report a failed call on a window if its error is one of epochs."""
        if error != _ERR_RMA_SYNC:
            return
        if name in _ACCESSES or name.startswith("Flush"):
            self._mistakes.add(Kind.OUTSIDE, Side(rank, f"{name} outside an epoch", here()))
        elif name in _ENDS:
            self._mistakes.add(Kind.OUTSIDE, Side(rank, f"{name} without {_ENDS[name]}", here()))
        elif part.communicator.number in self._windows:
            origin = self._windows[part.communicator.number].origins.get(part.rank)
            for opening, line in self._open_epochs(origin) if origin is not None else ():
                self._tell_of_open(rank, f"{opening} without {_OPENS[opening]}", line, f"{name} comes before", here())

    # ---- accesses of the compiled surface ----

    def completed(self, part: WindowPart, name: str, peer: int, line: Line) -> None:
        """Record that a compiled call has completed accesses, some of which were taken over."""
        window = self._windows[part.communicator.number]
        origin = window.origins[part.rank]
        self.end(WindowCall(name, part, window, origin, None if peer == ALL else peer, line), None)

    def _take_over(self, part: WindowPart, window: CheckedWindow, origin: Origin, target: int) -> None:
        """Take over the accesses to a target, and the rank's own buffers, that the surface has recorded."""
        if window.notes is None:
            return
        accesses, ranks = window.targets[target], part.communicator.world_ranks()
        for epoch, by, number, begin, end, is_read, is_exclusive in window.notes.take(target):
            kind, what = (READ, "Get reads") if is_read else (WRITE, "Put writes")
            stretches = (StretchOfBytes(begin, end),)
            line = self._line_of(number)
            access = WindowAccess(by, ranks[by], target, what, line, kind, stretches, is_exclusive=is_exclusive)
            if epoch < 0:
                access = accesses.locked.add(access)
                window.origins[by].locked.setdefault(target, {})[id(access)] = access
            else:
                accesses.begin_fenced(epoch).add(access)
        for number, address, nbytes, is_written, has_changed, memory in window.notes.take_buffers(part.rank, target):
            call, entries = "Get" if is_written else "Put", Entries(address, nbytes, BYTE._layout, memory)
            buffer = PendingBuffer(origin.rank, call, self._line_of(number), entries, is_written=is_written)
            buffer.remember(has_changed=has_changed)
            origin.buffers.add(target, buffer)

    # ---- accesses ----

    def _compare_types(self, access: Side, origin: Layout, target: Layout) -> None:
        """Report an access whose entries have different types at the origin and the target."""
        if agree(origin, target) or is_of_library(access.line):
            return
        ends = ((origin, "in its own memory"), (target, "in the window"))
        sides = (access._replace(what=f"{access.what} of {described(layout)} {where}") for layout, where in ends)
        self._mistakes.add(Kind.TYPES, *sides)

    def _begin_access(
        self, access: WindowAccess, part: WindowPart, window: CheckedWindow, origin: Origin, name: str
    ) -> tuple[WindowAccess, tuple[tuple[Conflicting, Conflicting], ...]]:
        """Record an access, and return it with its conflicts: the call may still be refused."""
        target, epochs = window.targets[access.target], part.epochs
        if epochs.is_fenced:
            accesses = target.begin_fenced(origin.n_fences)
            origin.has_accessed = True
        elif epochs.started is None:
            accesses = target.locked
        else:
            accesses = target.exposed
        if name.startswith("R") and accesses is not target.locked and not is_of_library(access.line):
            self._mistakes.add(Kind.OUTSIDE, Side(origin.rank, f"{name} without a lock", access.line))
        conflicts = tuple(((other, its), (access, own)) for other, its, own in accesses.conflicts(access))
        access = accesses.add(access)
        if accesses is target.locked:
            origin.locked.setdefault(access.target, {})[id(access)] = access
        return access, conflicts

    def _tell(self, part: WindowPart, *conflicting: Conflicting) -> None:
        if all(is_of_library(access.line) for access, _ in conflicting):
            return
        ordered = sorted(conflicting, key=lambda one: (one[0].line, one[0].what))
        key = tuple((access.line, access.what) for access, _ in ordered)
        is_dynamic = part.window.flavor == constants.WIN_FLAVOR_DYNAMIC
        owner = part.communicator.world_ranks()[conflicting[0][0].target]
        sides = []
        for access, (begin, end) in ordered:
            place = f"memory that rank {owner} has attached" if is_dynamic else _place(begin, end, owner)
            sides.append(Side(access.rank, f"{access.what} {place}", access.line))
        self._mistakes.add(Kind.CONFLICTS, *self._conflicts.setdefault(key, (sides[0], sides[1])))

    def _complete(self, call: WindowCall, *, is_local: bool = False) -> None:
        """Forget a rank's accesses under locks, to one target or to all; after local completion, only its reads."""
        if call.window.notes is not None:
            call.window.notes.complete(call.part.rank, _or_all(call.peer), is_local)
        locked = call.origin.locked
        for rank in list(locked) if call.peer is None else (call.peer,):
            accesses = locked.pop(rank, {})
            left = {key: one for key, one in accesses.items() if one.kind is not READ} if is_local else {}
            complete = [one for key, one in accesses.items() if key not in left] if left else accesses.values()
            if complete:
                call.window.targets[rank].locked.remove(complete)
                call.window.give_back(rank)
            if left:
                locked[rank] = left

    def _check_fence(self, name: str, origin: Origin, arguments: dict[str, Any], line: Line) -> None:
        """Report accesses in an epoch of `Fence` when the call that follows needs another fence before it."""
        if name in _ENDS_FENCE:
            self._report_accesses(origin, f"{name} comes before", line)
        elif name == "Fence" and int(arguments["assertion"]) & constants.MODE_NOPRECEDE:
            self._report_accesses(origin, "Fence with MODE_NOPRECEDE completes none", line)

    def _end_of_fence(self, call: WindowCall) -> None:
        origin, target = call.origin, call.window.targets[call.part.rank]
        if target.n_fences == origin.n_fences:
            target.fenced.clear()
            call.window.give_back(call.part.rank)
        if call.window.notes is not None:
            call.window.notes.end_fence(call.part.rank, origin.n_fences)
        origin.n_fences += 1
        origin.fence, origin.has_accessed = call.line, False

    def _forget(self, call: WindowCall) -> None:
        """Forget a rank's state on a window that it has freed, and the window after its last rank."""
        self._report_accesses(call.origin)
        if call.window.notes is not None:
            call.window.notes.look(call.part.rank, ALL, None)
        del call.window.origins[call.part.rank]
        if not call.window.origins:
            del self._windows[call.part.communicator.number]

    # ---- at the end ----

    def report(self) -> None:
        """Report epochs that are still open."""
        for window in self._windows.values():
            for origin in window.origins.values():
                self._report_accesses(origin)
                for name, line in self._open_epochs(origin):
                    self._tell_of_open(origin.rank, f"{name} without {_OPENS[name]}", line)

    def _open_epochs(self, origin: Origin) -> Iterator[tuple[str, Line]]:
        """Calls that opened a rank's current epochs, and their lines."""
        yield from origin.opened.items()
        for rank, line in origin.lock_lines.items():
            yield "Lock_all" if rank == ALL else "Lock", line if isinstance(line, Line) else self._line_of(line)

    def _report_accesses(self, origin: Origin, then: str = "", where: Line = NOWHERE) -> None:
        if origin.has_accessed and origin.fence is not None:
            self._tell_of_open(origin.rank, "Fence without another after the accesses", origin.fence, then, where)
        origin.has_accessed = False

    def _tell_of_open(self, rank: int, what: str, line: Line, then: str = "", where: Line = NOWHERE) -> None:
        if not is_of_library(line):
            later = (Side(rank, then, where),) if then else ()
            self._mistakes.add(Kind.EPOCHS, Side(rank, what, line), *later)


def _place(begin: int, end: int, owner: int) -> str:
    places = f"byte {begin}" if end == begin + 1 else f"bytes {begin}-{end - 1}"
    return f"{places} of rank {owner}'s part"


def _access_of(
    name: str, part: WindowPart, peer: int, arguments: dict[str, Any], room: BufferSegment, rank: int, line: Line
) -> WindowAccess | None:
    """Access of a call to the entries `room`; None when it has no bytes, or too many stretches."""
    stretches = stretches_of(room.layout.typemap, room.start, room.count)
    if not stretches:
        return None
    if name in _GETS:
        kind, what = READ, "reads"
    elif name in _PUTS:
        kind, what = WRITE, "writes"
    else:
        operation = arguments["op"]._operation.name if name in _ACCUMULATES else COMPARE
        kind = AccessKind(operation, basic_types_of(room.layout))
        how = "" if operation == COMPARE else f" with {operation}"
        what = f"of {described(room.layout)}{how} {'reads' if kind.is_reading else 'updates'}"
    is_exclusive = part.epochs.locks.get(peer) == constants.LOCK_EXCLUSIVE
    return WindowAccess(part.rank, rank, peer, f"{name} {what}", line, kind, stretches, is_exclusive=is_exclusive)


def _segments_of(name: str, arguments: dict[str, Any]) -> tuple[AccessSegment, ...]:
    """Entries that a call uses in its rank's memory; the target defaults to the count and type of the first."""
    if name in _GETS:
        return ((to_fill(arguments["origin"], name), True),)
    if "result" not in arguments:
        return ((to_send(arguments["origin"], name), False),)
    result = to_fill(arguments["result"], name), True
    if name == "Compare_and_swap":
        return (to_send(arguments["origin"], name), False), (to_send(arguments["compare"], name), False), result
    return (result,) if arguments["op"] == _NO_OP else ((to_send(arguments["origin"], name), False), result)


def _or_all(peer: int | None) -> int:
    """Rank as the surface expects it: `ALL` instead of None."""
    return ALL if peer is None else peer


def _no_request() -> None:
    """Stand in for the request of an access that failed."""
