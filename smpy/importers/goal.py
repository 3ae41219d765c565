"""Import of programs in GOAL, which LogGOPSim performs: the operations of each rank, in one order.

Where operations are concurrent, messages are started as soon as they may be, and the rank waits or computes in the
order of the lines. A program whose ranks do one thing after the other, as an exported trace, keeps its order.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.engine.trace import ACTIONS
from smpy.errors import UsageError
from smpy.importers.action_rows import ACTION_ROW, action_row
from smpy.importers.message_counts import MessageCounts
from smpy.replay.goal_file import GoalProgram, read_goal

if TYPE_CHECKING:
    from smpy.importers.held_rows import Row
    from smpy.importers.import_options import ImportOptions
    from smpy.importers.trace_builder import TraceBuilder

_HEAD: Final = b"num_ranks"
_RANK: Final = 2  # place of the timeline in a row
_ROWS_AT_ONCE: Final = 1 << 17
_CONCURRENT: Final = "concurrent operations of a rank are performed in the order of their lines"


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file begins as a program in GOAL, or has its suffix."""
    return head.lstrip().startswith(_HEAD) or path.suffix.lower() == ".goal"


def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
    """Read a program into a builder.

    Raises
    ------
    UsageError
        If it is none, or nobody receives a message: file, line and why.
    """
    if options.cycles is not None:
        raise UsageError(f"{path} has no counters: leave out --cycles")
    program = read_goal(path)
    builder.begin(program.n_ranks, options)
    _check_messages(program, builder)
    for rank in range(program.n_ranks):
        builder.actions(np.array(_Rank(program, rank, builder, options.flop_per_s).rows(), ACTION_ROW))
        options.on_progress((rank + 1) / program.n_ranks)
    if program.goal_rows.has_wildcards:
        builder.depends_on_time(choices=1)


def _check_messages(program: GoalProgram, builder: TraceBuilder) -> None:
    """Refuse a message that nobody receives."""
    goal_rows = program.goal_rows
    rank_of_timeline = np.append(np.arange(program.n_ranks, dtype=np.int32), goal_rows.rank_of_added)
    counts = MessageCounts(lambda rank, line: f"{program.path}, line {line}", builder.members)
    for first in range(0, len(goal_rows.rows), _ROWS_AT_ONCE):
        rows = goal_rows.rows[first : first + _ROWS_AT_ONCE].copy()
        rows["rank"] = rank_of_timeline[rows["rank"]]
        counts.add(rows, rows["line"])
    counts.check()


class _Rank:
    """The operations of one rank, from all its timelines."""

    def __init__(self, program: GoalProgram, rank: int, builder: TraceBuilder, flop_per_s: float) -> None:
        goal_rows = program.goal_rows
        first, last = goal_rows.first_of_rank[rank : rank + 2].tolist()
        self._rank, self._ns_per_unit = rank, flop_per_s / 1e9
        self._sites = {call: builder.site(rank, call, program.path.name) for call in ("send", "recv", "wait")}
        self._left: dict[int, list[tuple[Any, ...]]] = {}  # rows of each timeline, the next one last
        for row in reversed(goal_rows.rows[first:last].tolist()):
            self._left.setdefault(row[_RANK], []).append(row)
        if len(self._left) > 1:
            builder.remarks[_CONCURRENT] += 1
        self._reached: set[int] = set()
        self._waiting: dict[int, list[int]] = {}  # timelines that wait for each point
        self._going: deque[int] = deque(sorted(self._left))
        self._blocked: list[tuple[int, int, int]] = []  # line, timeline, and request or 0 to compute
        self._started: dict[tuple[int, int], tuple[int, int]] = {}  # line and request, by timeline and its own number
        self._rows: list[Row] = []

    def rows(self) -> list[Row]:
        """Rows of the rank, and its end."""
        while self._going or self._blocked:
            if self._going:
                self._advance(self._going.popleft())
            else:
                self._perform(*heappop(self._blocked))
        self._rows.append(action_row("end", self._rank, 0))
        return self._rows

    def _advance(self, timeline: int) -> None:
        """Pass rows of a timeline up to one that takes time, or waits for another timeline."""
        rows = self._left[timeline]
        while rows:
            _, nbytes, _, number, _, _, peer, tag, own, detail, line = rows[-1]
            action = ACTIONS[number]
            if action == "work":
                heappush(self._blocked, (line, timeline, 0))
                return
            if action == "after" and detail not in self._reached:
                self._waiting.setdefault(detail, []).append(timeline)
                return
            rows.pop()
            if action == "reach":
                self._reached.add(detail)
                self._going.extend(self._waiting.pop(detail, ()))
            elif action in ("isend", "irecv", "recv"):
                call = "send" if action == "isend" else "recv"
                self._started[timeline, own] = line, len(self._started) + 1
                message = self._sites[call], 0, peer, tag, nbytes
                self._rows.append(action_row(f"i{call}", self._rank, *message, request=len(self._started)))
            if action in ("recv", "wait"):
                line, request = self._started[timeline, own]
                heappush(self._blocked, (line, timeline, request))
                return

    def _perform(self, line: int, timeline: int, request: int) -> None:
        """Wait for a message, or compute; the timeline then goes on."""
        if request:
            self._rows.append(action_row("wait", self._rank, self._sites["wait"], request=request))
        else:
            amount = self._left[timeline].pop()[0] * self._ns_per_unit
            if amount > 0:
                self._rows.append(action_row("compute", self._rank, 0, amount=amount))
        self._going.append(timeline)
