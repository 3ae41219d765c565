"""Replay of SimGrid's time-independent traces, which `smpirun -trace-ti` writes and `smpirun -replay` performs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smpy.collectives.choice import selection_on
from smpy.collectives.comm_hosts import HostsOfComm
from smpy.collectives.hosts import Hosts
from smpy.collectives.world_schedules import Algorithms
from smpy.engine.replaying import ReplayEngine
from smpy.importers.time_independent_actions import Actions, ScheduleOf
from smpy.importers.time_independent_files import RowReader, TimeIndependentTrace
from smpy.option_texts import NO_BACKGROUND
from smpy.platforms.machine import with_collectives
from smpy.platforms.placement.placement import place
from smpy.replay.background import AnyBackground, add_background
from smpy.replay.changes import Better, checked, faster, improve_parts
from smpy.replay.replay import ReplayResult, machine_with, result_of
from smpy.replay.replay_recording import CallSites, ReplayedProgram, ReplayRecording, check_recordable, settings_of

if TYPE_CHECKING:
    from smpy.platforms.description import Description


def replay_time_independent(
    trace: TimeIndependentTrace,
    platform: str | Path | Description,
    *,
    options: Iterable[tuple[str, str]] = (),
    network: str | None = None,
    collectives: str | None = None,
    algorithms: Iterable[tuple[str, str]] | None = None,
    background: AnyBackground = NO_BACKGROUND,
    cpu: float = 1.0,
    ideal: Iterable[str] = (),
    better: Iterable[Better] = (),
    on_yield: Callable[[], None] = lambda: None,
    to: str | Path | None = None,
    overwrite: bool = False,
    **placement: Any,
) -> ReplayResult:
    """Perform a time-independent trace; parameters are those of `replay`.

    Raises
    ------
    UsageError
        If a line cannot be performed: file, line and why; or if the trace does not fit the machine.
    SmpyError
        If it cannot be performed there.
    """
    changes, ideal = checked(better), tuple(ideal)
    if to is not None:
        check_recordable(to, None, changes, ideal)
    options, algorithms = tuple(options), [(operation, name) for operation, name in algorithms or ()]
    machine = machine_with(platform, trace.n_ranks, options, network, ideal, changes)
    if collectives is not None:
        machine = with_collectives(machine, collectives)
    built = machine.build()
    improve_parts(built, changes)
    host_of_rank = place(built, trace.n_ranks, **{name: value for name, value in placement.items() if value})
    engine = ReplayEngine(built, built.models, host_of_rank)
    try:
        add_background(engine, background, placement.get("seed") or 0)
        known = Algorithms(selection_on(built.models, algorithms))
        hosts = HostsOfComm(lambda: Hosts(engine.hosts_of(range(trace.n_ranks))))

        def schedules() -> ScheduleOf:
            """Schedules for one rank: ranks make the same calls, and each has its own state of the host search."""
            own = HostsOfComm(hosts.known)
            return lambda operation, query: known.schedule(engine, operation, query, own)

        names = [engine.host_name(rank) for rank in range(trace.n_ranks)]
        times = faster(changes, cpu, host_of_rank=names, kernel_of_site=(), rank_of_site=()).flop_of_rank
        recording = None
        if to is not None:
            recording = ReplayRecording(
                to,
                engine,
                machine,
                ReplayedProgram.of_file(trace.path, engine.platform.speed_flop_per_s(host_of_rank[0])),
                CallSites.of_programs(trace.n_ranks),
                known,
                forced=algorithms,
                settings=settings_of(options, network),
                overwrite=overwrite,
            )
        site_of = None if recording is None else recording.sites.site
        rows = RowReader(
            trace,
            [
                Actions(rank, trace.n_ranks, schedules(), engine.sends_at_once, float(times[rank]), site_of)
                for rank in range(trace.n_ranks)
            ],
        )
        perform = engine.perform if recording is None else recording.perform
        perform(rows.rows_for, on_yield)
        return result_of(engine, machine, depends_on_time=rows.n_tests > 0)
    finally:
        engine.close()
