"""Collective calls of a real run: who takes part in which, and what each rank then does and waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from smpy.errors import UsageError
from smpy.importers.action_rows import NUMBER, action_row
from smpy.importers.collective_sizes import OF_ROOT, OPERATIONS, shape_of
from smpy.importers.real_rank import Meeting, MeetingPart
from smpy.importers.waiting_time import tell

if TYPE_CHECKING:
    from smpy.importers.trace_builder import TraceBuilder

_ENTRY: Final = NUMBER["entry"]
_BYTES_MAX: Final = 1 << 50


class Meetings:
    """The collective calls under way: ranks meet in the n-th call of an operation in a communicator.

    Parameters
    ----------
    builder : TraceBuilder
        Knows communicators, and numbers calls.
    """

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._index_of: dict[int, dict[int, int]] = {}
        self._n_calls_of: dict[tuple[int, str, int], int] = {}
        self._open: dict[tuple[int, str, int], Meeting] = {}
        self._n_latches = 0

    def members(self, comm: int) -> dict[int, int]:
        """Rank in a communicator of each of its members."""
        if comm not in self._index_of:
            self._index_of[comm] = {rank: index for index, rank in enumerate(self._builder.members[comm])}
        return self._index_of[comm]

    def join(self, part: MeetingPart, operation: str, comm: int) -> None:
        """Let a rank take part in its next call of an operation.

        Raises
        ------
        UsageError
            If there is no such operation, or the rank is not in the communicator.
        """
        rank, when = part.state.rank, f"at {part.state.entered_s:.9g} s"
        if operation not in OPERATIONS:
            raise UsageError(f"rank {rank} performs {operation} {when}, which cannot be imported")
        if not 0 <= min(part.sent, part.received) <= max(part.sent, part.received) <= _BYTES_MAX:
            raise UsageError(f"rank {rank} moves {max(part.sent, part.received):,} bytes {when}: too many")
        if rank not in self.members(comm):
            raise UsageError(f"rank {rank} performs {operation} {when} in a communicator that it is not in")
        name = f"i{operation}" if part.request else operation
        n = self._n_calls_of[comm, name, rank] = self._n_calls_of.get((comm, name, rank), -1) + 1
        part.meeting = self._open.get((comm, name, n))
        if part.meeting is None:
            part.meeting = self._open[comm, name, n] = Meeting(name, comm, n)
        part.meeting.parts.append(part)

    def leave(self, part: MeetingPart) -> None:
        """Let a rank leave; the last one ends the call."""
        meeting = part.meeting
        assert meeting is not None
        meeting.n_left += 1
        if meeting.n_left == len(self.members(meeting.comm)):
            del self._open[meeting.comm, meeting.operation, meeting.n]
            self._end(meeting)

    def check(self) -> None:
        """Check that no call lacks a rank.

        Raises
        ------
        UsageError
            Names the first one.
        """
        for meeting in self._open.values():
            lacking = sorted(set(self.members(meeting.comm)) - {part.state.rank for part in meeting.parts})
            raise UsageError(
                f"rank {meeting.parts[0].state.rank} performs {meeting.operation} number {meeting.n + 1} of "
                f"communicator {meeting.comm}, and rank {lacking[0]} does not"
            )

    def _end(self, meeting: Meeting) -> None:
        """Fill the actions of a call; give each rank the one that entered last before it left."""
        parts = sorted(meeting.parts, key=lambda part: part.entered_s)
        latest = 0
        for part in sorted(parts, key=lambda part: part.left_s):
            while latest + 1 < len(parts) and parts[latest + 1].entered_s <= part.left_s:
                latest += 1
            part.last_s, part.last_rank = parts[latest].entered_s, parts[latest].state.rank
        index_of = self.members(meeting.comm)
        parts.sort(key=lambda part: index_of[part.state.rank])
        self._act(meeting, parts)
        for part in parts:
            assert part.call is not None
            tell(part.call)
        meeting.parts.clear()  # no circle is left to the garbage collector

    def _act(self, meeting: Meeting, parts: list[MeetingPart]) -> None:
        """Fill the actions of a call; parts are in the order of ranks."""
        n, builder, operation = len(parts), self._builder, meeting.operation
        if n == 1:
            parts[0].state.actions.fill(parts[0].row, [])
            return
        blocking = operation.removeprefix("i") if parts[0].request else operation
        root = self._root(blocking, parts)
        shape = shape_of(blocking, root, [part.sent for part in parts], [part.received for part in parts])
        if shape.assumed:
            builder.remarks[shape.assumed] += 1
        schedule = builder.collective(operation, n, **shape.facts)
        latch = 0
        if operation == "ibarrier":
            self._n_latches += 1
            latch = self._n_latches
        for index, part in enumerate(parts):
            rank, site, request = part.state.rank, part.site, part.request
            tables = shape.tables[index] if shape.tables else ()
            entries = [
                (0.0, number, rank, _ENTRY, site, -1, 0, 0, 0, table)
                for table, numbers in enumerate(tables)
                for number in numbers
            ]
            name, nbytes = "start" if request else "collective", shape.blocks[index]
            row = action_row(name, rank, site, meeting.comm, root, latch, nbytes, len(entries), request, schedule)
            before = [action_row("latch", rank, site, tag=latch, amount=n)] if latch else []
            part.state.actions.fill(part.row, [*before, row, *entries])

    def _root(self, operation: str, parts: list[MeetingPart]) -> int:
        if operation not in OF_ROOT:
            return 0
        root = max(part.root for part in parts)  # some formats tell it to the root alone
        if root < 0:
            self._builder.remarks["a root that the trace does not tell is taken to be 0"] += 1
            return 0
        if root >= len(parts):
            raise UsageError(f"rank {parts[0].state.rank} names a root {root} among {len(parts)} ranks")
        return root
