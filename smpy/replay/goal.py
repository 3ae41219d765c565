"""Performs programs in GOAL: operations of a rank that are ordered by what they require, as LogGOPSim does.

A rank has one CPU, which works on one operation at a time. Operations that each require the one before are a timeline
of their rank; concurrent ones are on further timelines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.replaying import ReplayEngine
from smpy.engine.trace import ACTIONS, dtype_of
from smpy.platforms.placement.placement import place
from smpy.replay.changes import checked, faster
from smpy.replay.goal_file import ANY, CALC, SEND, GoalOperation, GoalProgram, RankProgram, read_goal
from smpy.replay.replay import ReplayResult, machine_with, result_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smpy.platforms.description import Description

_NUMBER: Final = {name: number for number, name in enumerate(ACTIONS)}
_ROOM_BYTES: Final = 1 << 62  # a receive takes a message of any size
_NS: Final = 1e-9
Row = tuple[float, int, int, int, int, int, int, int, int, int]


def is_goal(path: Path) -> bool:
    """Whether a file is a program in GOAL, by its name."""
    return path.suffix.lower() == ".goal"


def replay_goal(
    program: GoalProgram | str | Path,
    platform: str | Path | Description | None = None,
    *,
    options: Iterable[tuple[str, str]] = (),
    network: str | None = None,
    cpu: float = 1.0,
    ideal: Iterable[str] = (),
    on_yield: Callable[[], None] = lambda: None,
    **placement: Any,
) -> ReplayResult:
    """Perform a program in GOAL; parameters are those of `replay`.

    Without a platform each rank has a host of its own on a flat network.

    Raises
    ------
    UsageError
        If it is no such program: file, line and why; or if it does not fit the machine.
    SmpyError
        If it cannot be performed there.
    """
    program = program if isinstance(program, GoalProgram) else read_goal(program)
    n_ranks = program.n_ranks
    where = f"flat hosts={n_ranks} cores=1" if platform is None else platform
    machine = machine_with(where, n_ranks, options, network, tuple(ideal), checked(()))
    built = machine.build()
    host_of_rank = place(built, n_ranks, **{name: value for name, value in placement.items() if value})
    engine = ReplayEngine(built, built.models, host_of_rank)
    try:
        names = [engine.host_name(rank) for rank in range(n_ranks)]
        times = faster((), cpu, host_of_rank=names, kernel_of_site=(), rank_of_site=()).flop_of_rank
        rows = _Rows(engine)
        for number, rank in enumerate(program.ranks):
            rows.add(number, rank, float(times[number]))
        engine.perform(rows.given_once(), on_yield)
        return result_of(engine, machine, depends_on_time=program.has_wildcards)
    finally:
        engine.close()


class _Rows:
    """The rows of all timelines."""

    def __init__(self, engine: ReplayEngine) -> None:
        self._engine = engine
        self._rows: list[Row] = []
        self._n_points = 0

    def given_once(self) -> Callable[[int], NDArray[np.void] | None]:
        """Function that gives all rows when it is called first, and no more afterwards."""
        import numpy as np

        given: list[NDArray[np.void]] = [np.array(self._rows, dtype_of("actions"))]
        self._rows.clear()
        return lambda _timeline: given.pop() if given else None

    def add(self, rank: int, of: RankProgram, times: float) -> None:
        """Put the operations of a rank on timelines: each behind one whose end it requires, if that is a last one yet.

        Parameters
        ----------
        rank : int
            The rank, and the number of its first timeline.
        of : RankProgram
            Its operations.
        times : float
            Divisor of the time that it works.
        """
        self._row("work", rank)  # its timelines are of ordered operations
        order = of.order()
        timeline_of: dict[int, int] = {}
        behind: dict[int, int] = {}  # the operation on whose timeline each goes on
        is_last: set[int] = set()
        for number in order:
            found = next((each for each in of.needs_end.get(number, ()) if each in is_last), None)
            if found is not None:
                is_last.remove(found)
                behind[number], timeline_of[number] = found, timeline_of[found]
            else:
                timeline_of[number] = self._engine.new_timeline(rank) if timeline_of else rank
            is_last.add(number)
        points: dict[tuple[int, bool], int] = {}
        for number in order:
            for earlier, is_end in self._needs(of, number):
                if not (is_end and behind.get(number) == earlier) and (earlier, is_end) not in points:
                    self._n_points += 1
                    points[earlier, is_end] = self._n_points
        for number in order:
            timeline = timeline_of[number]
            for earlier, is_end in self._needs(of, number):
                if not (is_end and behind.get(number) == earlier):
                    self._row("after", timeline, detail=points[earlier, is_end])
            self._operate(timeline, of.operations[number], number + 1, points.get((number, False)), times)
            if (number, True) in points:
                self._row("reach", timeline, detail=points[number, True])
        for timeline in sorted({rank, *timeline_of.values()}):
            self._row("end", timeline)

    @staticmethod
    def _needs(of: RankProgram, number: int) -> list[tuple[int, bool]]:
        """The operations that one requires, each with whether it is its end."""
        ends, starts = of.needs_end.get(number, ()), of.needs_start.get(number, ())
        return [*((each, True) for each in ends), *((each, False) for each in starts)]

    def _operate(self, timeline: int, operation: GoalOperation, request: int, start: int | None, times: float) -> None:
        is_message = operation.kind != CALC
        if is_message:
            is_send = operation.kind == SEND
            self._row(
                "isend" if is_send else "irecv",
                timeline,
                peer=operation.peer,
                tag=operation.tag,
                nbytes=operation.amount if is_send else _ROOM_BYTES,
                request=request,
            )
        if start is not None:
            self._row("reach", timeline, detail=start)
        if is_message:
            self._row("wait", timeline, request=request)
        else:
            self._row("work", timeline, amount=operation.amount * _NS / times)

    def _row(
        self,
        action: str,
        timeline: int,
        *,
        peer: int = ANY,
        tag: int = 0,
        nbytes: int = 0,
        amount: float = 0.0,
        request: int = 0,
        detail: int = 0,
    ) -> None:
        self._rows.append((amount, nbytes, timeline, _NUMBER[action], 0, 0, peer, tag, request, detail))
