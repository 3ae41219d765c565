"""Performs programs in GOAL: operations of each rank, ordered by their requirements, as in LogGOPSim.

A rank has one CPU, which works on one operation at a time. A chain of operations that each require the previous one
is a timeline of the rank; concurrent operations are on further timelines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.collectives.selection import DEFAULT
from smpy.collectives.world_schedules import Algorithms
from smpy.engine.messages import ANY, LeftKind
from smpy.engine.replaying import ReplayEngine
from smpy.engine.trace import ACTIONS
from smpy.errors import DeadlockError
from smpy.option_texts import NO_BACKGROUND
from smpy.platforms.placement.placement import place
from smpy.replay.background import AnyBackground, add_background
from smpy.replay.changes import checked, faster
from smpy.replay.goal_file import GoalProgram, read_goal
from smpy.replay.replay import ReplayResult, machine_with, result_of
from smpy.replay.replay_recording import CallSites, ReplayedProgram, ReplayRecording, check_recordable, settings_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smpy.engine.messages import LeftOver
    from smpy.platforms.description import Description

_ROWS_AT_ONCE: Final = 1 << 10
_CALLS: Final = {
    ACTIONS.index(action): call
    for action, call in {"work": "calc", "isend": "send", "irecv": "recv", "recv": "recv", "wait": "wait"}.items()
}
_LINES_MAX: Final = 8  # lines on messages in an error


def is_goal(path: Path) -> bool:
    """Whether a file is a program in GOAL, by its name."""
    return path.suffix.lower() == ".goal"


def replay_goal(
    program: GoalProgram | str | Path,
    platform: str | Path | Description | None = None,
    *,
    options: Iterable[tuple[str, str]] = (),
    network: str | None = None,
    background: AnyBackground = NO_BACKGROUND,
    cpu: float = 1.0,
    ideal: Iterable[str] = (),
    on_yield: Callable[[], None] = lambda: None,
    to: str | Path | None = None,
    overwrite: bool = False,
    **placement: Any,
) -> ReplayResult:
    """Perform a program in GOAL; parameters are those of `replay`.

    Without a platform, each rank has its own host on a flat network.

    Raises
    ------
    UsageError
        If it is no such program: file, line and why; or if it does not fit the machine.
    SmpyError
        If it cannot be performed there.
    """
    program = program if isinstance(program, GoalProgram) else read_goal(program)
    n_ranks, options, ideal = program.n_ranks, tuple(options), tuple(ideal)
    if to is not None:
        check_recordable(to, None, (), ideal)
    where = f"flat hosts={n_ranks} cores=1" if platform is None else platform
    machine = machine_with(where, n_ranks, options, network, ideal, checked(()))
    built = machine.build()
    host_of_rank = place(built, n_ranks, **{name: value for name, value in placement.items() if value})
    engine = ReplayEngine(built, built.models, host_of_rank)
    try:
        add_background(engine, background, placement.get("seed") or 0)
        names = [engine.host_name(rank) for rank in range(n_ranks)]
        times = faster((), cpu, host_of_rank=names, kernel_of_site=(), rank_of_site=()).flop_of_rank
        perform, sites = engine.perform, None
        if to is not None:
            sites = CallSites.of_programs(n_ranks)
            recording = ReplayRecording(
                to,
                engine,
                machine,
                ReplayedProgram.of_file(program.path, None, n_wildcards=program.goal_rows.has_wildcards),
                sites,
                Algorithms(DEFAULT),
                settings=settings_of(options, network),
                overwrite=overwrite,
            )
            perform = recording.perform
        for rank in program.goal_rows.rank_of_added.tolist():
            engine.new_timeline(rank)
        try:
            perform(_Rows(program, times.tolist(), sites), on_yield)
        except DeadlockError as error:
            raise DeadlockError("\n".join((f"{program.path}: {error}", *_waiting(engine)))) from error
        result = result_of(engine, machine, depends_on_time=program.goal_rows.has_wildcards)
        return replace(result, unreceived=_unreceived(engine))
    finally:
        engine.close()


def _unmatched(engine: ReplayEngine) -> list[LeftOver]:
    """Sends and receives without a partner, in the order of the lines."""
    left = [each for each in engine.left_over() if each.kind in (LeftKind.SEND, LeftKind.RECV)]
    return sorted(left, key=lambda each: each.line)


def _unreceived(engine: ReplayEngine) -> tuple[LeftOver, ...]:
    return tuple(each for each in _unmatched(engine) if each.kind == LeftKind.SEND)


def _waiting(engine: ReplayEngine) -> list[str]:
    """Lines of text about sends and receives without a partner."""
    left = _unmatched(engine)
    lines = [
        f"  line {each.line[1]}: rank {each.rank} {'sends to' if each.is_send else 'receives from'} "
        f"{'any rank' if each.peer == ANY else f'rank {each.peer}'}"
        for each in left[:_LINES_MAX]
    ]
    return lines if len(left) <= _LINES_MAX else [*lines, f"  and so on: {len(left):,} messages in all"]


class _Rows:
    """The rows of a program, some at a time, for a rank that has none left."""

    def __init__(self, program: GoalProgram, speeds: Sequence[float], sites: CallSites | None) -> None:
        self._goal_rows = program.goal_rows
        self._place = (program.path.name, 0)
        self._sites = sites
        self._speeds = speeds
        self._next = self._goal_rows.first_of_rank[:-1].tolist()
        self._end = self._goal_rows.first_of_rank[1:].tolist()

    def __call__(self, timeline: int) -> NDArray[np.void] | None:
        """The next rows of a rank, for one of its timelines; None if there are no more."""
        n_ranks = len(self._next)
        rank = timeline if timeline < n_ranks else int(self._goal_rows.rank_of_added[timeline - n_ranks])
        first = self._next[rank]
        n = min(_ROWS_AT_ONCE, self._end[rank] - first)
        self._next[rank] += n
        if not n:
            return None
        rows = self._goal_rows.part(first, n, self._speeds[rank])
        if self._sites is not None:
            for action, call in _CALLS.items():
                rows["account"][rows["action"] == action] = self._sites.site(rank, call, self._place)
        return rows
