"""Replay of a trace: the event kernel performs the actions of its ranks, and no Python runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.collectives.choice import selection_on
from smpy.collectives.hosts import Hosts
from smpy.engine.replaying import ReplayEngine, RowsError
from smpy.errors import DamagedFileError, DeadlockError, UsageError
from smpy.platforms.description import Description
from smpy.platforms.machine import changed, read_machine, with_collectives
from smpy.platforms.models.machine_models import SHORTEST_POLL_S
from smpy.platforms.models.network_models import IDEAL_PARTS
from smpy.platforms.placement.placement import place
from smpy.records.energy import Energy, run_energy
from smpy.records.profile import KINDS
from smpy.records.recorded_machine import recorded_machine
from smpy.records.remark import Remark
from smpy.records.trace import Trace
from smpy.records.trace_layout import MACHINE, damaged
from smpy.records.whole_runs import check_whole
from smpy.replay.background import (
    AnyBackground,
    add_background,
    recorded_background,
    remark_on_background,
)
from smpy.replay.changes import (
    MEMORY_PARTS,
    Better,
    PartImprovement,
    checked,
    faster,
    improve_parts,
    memory_factors,
    with_less_overhead,
)
from smpy.replay.noise import checked_noise, quiet_work, still_links, told_of_noise
from smpy.replay.replay_recording import CallSites, ReplayedProgram, ReplayRecording, check_recordable, settings_of
from smpy.replay.rows import ActionRows, RowRanges
from smpy.replay.trace_schedules import TraceSchedules, members_of

if TYPE_CHECKING:
    from array import array

    import numpy as np
    from numpy.typing import NDArray

    from smpy.engine.messages import LeftOver
    from smpy.platforms.models.network_models import Network

_WORK: Final = KINDS.index("compute"), KINDS.index("device")


@dataclass(frozen=True, slots=True, eq=False)
class ReplayResult:
    """Result of performing a trace.

    Attributes
    ----------
    makespan_s : float
        Date at which the last rank ended, in seconds.
    finish_s : array of float, [ranks]
        Date at which each rank ended.
    computing_s : array of float, [ranks]
        Time that each rank computed, or waited for its device.
    messages, bytes : int
        Messages and bytes, as in the summary of a run.
    n_left_alone : int
        Number of sends that were complete at once in the run but not on this machine. The trace does not say when the
        program waited for them, so the replay does not wait.
    depends_on_time : bool
        Whether the traced program may act differently on another machine, because it took messages from any source,
        polled, or waited for any of several requests.
    noise_removed : str
        Sentences about the removal of noise.
    network_about : str
        Source of the network model's numbers that come from the machine's links, and the model by which it times
        collectives; empty: there is neither.
    energy : Energy or None
        Joules of hosts and links; None: no part has a power.
    background : Remark or None
        Messages of other jobs; None: there were none.
    unreceived : tuple of LeftOver
        Sends of a program in GOAL whose messages nobody received, in the order of its lines.
    """

    makespan_s: float
    finish_s: NDArray[np.float64]
    computing_s: NDArray[np.float64]
    messages: int
    bytes: int
    n_left_alone: int
    depends_on_time: bool
    noise_removed: str = ""
    network_about: str = ""
    energy: Energy | None = None
    background: Remark | None = None
    unreceived: tuple[LeftOver, ...] = ()


def replay(
    trace: Trace | str | Path,
    *,
    platform: str | Path | Description | None = None,
    options: Iterable[tuple[str, str]] = (),
    network: str | None = None,
    collectives: str | None = None,
    algorithms: Iterable[tuple[str, str]] | None = None,
    background: AnyBackground | None = None,
    cpu: float = 1.0,
    ideal: Iterable[str] = (),
    better: Iterable[Better] = (),
    denoise: Iterable[str] = (),
    on_yield: Callable[[], None] = lambda: None,
    to: str | Path | None = None,
    overwrite: bool = False,
    only: RowRanges | None = None,
    **placement: Any,
) -> ReplayResult:
    """Perform a trace.

    On the machine of the run, the dates are those of the run. On another machine they are those of a run there, if the
    program's actions do not depend on time. Computing then keeps its operations; if the run charged measured time
    unscaled to any host, computing keeps its time.

    Parameters
    ----------
    trace : Trace or path
        Trace that `smpy run --trace` wrote.
    platform : str, path or Description, optional
        Another machine, as for `smpy run`; ranks are then placed on it anew, each with as many cores as in the run.
    options : iterable of (str, str), optional
        Changes of the machine, as for `--set`.
    network : str, optional
        Name of a network model in place of the machine's own, as for `--network`.
    collectives : str, optional
        Name or file of the table that chooses algorithms, as for `--collectives`; by default, the machine's.
    algorithms : iterable of (str, str), optional
        Collectives and the algorithms that they use; by default, those given to the run.
    background : UniformTraffic or Path or "none", optional
        Messages of other jobs, as for `--background`; by default, those of the run, whatever `seed` is.
    cpu : float, optional
        Factor by which all cores compute faster.
    ideal : iterable of {"contention", "bandwidth", "latency", "overhead", "memory", "core_memory"}, optional
        Idealised parts: messages do not share links ("contention"); links have unlimited bandwidth or no latency; calls
        and reads of the clock cost nothing ("overhead"); the memory of a host or of a core has unlimited bandwidth.
    better : iterable of tuple, optional
        Better parts, each with its factor: ``("latency", 1.1)``, ``("bandwidth", 1.1)`` (of all links), ``("overhead",
        1.1)``, ``("link", name, 1.1)`` (its bandwidth); ``("cores", 1.1)``, ``("core_memory", 1.1)`` and ``("memory",
        1.1)``, the bandwidths of a core's and of a host's memory; ``("computing", 1.1)``, ``("host", name, 1.1)``
        (computing there), ``("kernel", name, 1.1)`` (an empty name: computing outside of kernels) and ``("kernel",
        name, host, 1.1)``, which divide the time of this computing, whatever bounds it.
    denoise : iterable of {"cpu", "net"}, optional
        Parts without noise: computing takes the time of the kernels' models, or the 5th percentile of the times that
        the rank computed before the same call (`smpy.replay.noise`); links do not follow profiles.
    on_yield : callable, optional
        Called between stretches of at most about 50 ms of the kernel's work.
    to : str or path, optional
        Folder for a trace of the replay, with the call sites of this one; None: it leaves none.
    overwrite : bool
        Whether the trace of another program there may be replaced.
    only : RowRanges, optional
        Some of the actions of each rank: no others are performed.
    **placement
        `hostfile`, `ranks_per_host`, `map_by`, `host_order` and `seed`, as for `smpy.platforms.place`; by
        default, on the machine of the run, ranks keep their hosts.

    Raises
    ------
    UsageError
        If the trace is incomplete, or does not fit the machine; or if no trace can be written to that folder.
    SmpyError
        If the trace cannot be performed on the machine.
    """
    trace = trace if isinstance(trace, Trace) else Trace(trace)
    check_whole(trace, "be replayed")
    info = trace.info["trace"]
    changes, options, quiet_parts = checked(better), tuple(options), checked_noise(denoise)
    ideal = tuple(ideal)
    cpus_per_task = info.get("cpus_per_task", 1)
    if "cpu" in quiet_parts and cpus_per_task > 1:
        raise UsageError(
            f"{trace.folder}: its ranks computed in several threads, whose noise is not removed: denoise net"
        )
    if to is not None:
        check_recordable(to, trace, changes, ideal, quiet_parts)
    machine, is_recorded = _machine(trace, platform, options, network, ideal, changes)
    if collectives is not None:
        machine = with_collectives(machine, collectives)
    built = machine.build()
    improve_parts(built, changes)
    if "net" in quiet_parts:
        still_links(built)
    chosen = {name: value for name, value in placement.items() if value}
    if is_recorded and not chosen:
        host_of_rank = [host for host, n_ranks in info["hosts_of_ranks"] for _ in range(n_ranks)]
        if max(host_of_rank) >= machine.n_hosts:
            raise DamagedFileError(
                f"{trace.folder / MACHINE} has {machine.n_hosts} hosts, "
                f"and the run was on {max(host_of_rank) + 1} or more"
            )
    else:
        host_of_rank = place(built, trace.n_ranks, cpus_per_task=cpus_per_task, **chosen)
    engine = ReplayEngine(built, built.models, host_of_rank)
    engine.give_cores(cpus_per_task)
    try:
        if background is None:
            add_background(engine, *recorded_background(trace))
        else:
            add_background(engine, background, placement.get("seed") or 0)
        forced = [(operation, name) for operation, name in (info["algorithms"] if algorithms is None else algorithms)]
        comm_of = _new_comms(engine, *members_of(trace))
        schedules = _schedules(trace, engine, forced)
        rows = _rows(trace, engine, comm_of, schedules, cpu, ideal, changes)
        if trace.is_imported or not is_recorded or chosen or options or network is not None:
            rows.keep_seconds(_slowdown(trace, engine, host_of_rank))
        quiet = quiet_work(trace) if "cpu" in quiet_parts else None
        rows.without_noise(quiet)
        rows.keep_only(only)
        engine.know_memories(*memory_factors(ideal, changes))
        engine.know_places()
        perform = engine.perform
        if to is not None:
            rows.name_sites()
            perform = ReplayRecording(
                to,
                engine,
                machine,
                ReplayedProgram.of(trace),
                CallSites.of(trace, comm_of),
                schedules.algorithms,
                forced=forced,
                settings=settings_of(options, network),
                overwrite=overwrite,
            ).perform
        batches = iter(rows)
        try:
            perform(lambda _: next(batches, None), on_yield)
        except RowsError as error:
            raise damaged(f"{trace.folder / 'actions.parquet'}: {error}") from error
        except DeadlockError as error:
            raise DeadlockError(f"{trace.folder}: {error}") from error
        depends_on_time = bool(info["n_wildcards"] or info["n_polls"] or info["n_choices"])
        result = result_of(engine, machine, depends_on_time=depends_on_time)
        return replace(result, noise_removed=told_of_noise(quiet_parts, quiet))
    finally:
        engine.close()


def _machine(
    trace: Trace,
    platform: str | Path | Description | None,
    options: Iterable[tuple[str, str]],
    network: str | None,
    ideal: Iterable[str],
    changes: Sequence[PartImprovement],
) -> tuple[Description, bool]:
    """Return the machine, and whether its hosts are those of the run."""
    other = recorded_machine(trace) if platform is None else platform
    n_cores = trace.info["trace"].get("cpus_per_task", 1)
    machine = machine_with(other, trace.n_ranks, options, network, tuple(ideal), changes, cpus_per_task=n_cores)
    return machine, platform is None


def machine_with(
    platform: str | Path | Description,
    n_ranks: int,
    options: Iterable[tuple[str, str]],
    network: str | None,
    ideal: tuple[str, ...],
    changes: Sequence[PartImprovement],
    *,
    cpus_per_task: int = 1,
) -> Description:
    """Return a machine with the changes of `replay`, except those of links, memory and computing.

    Raises
    ------
    UsageError
        If a change cannot be made, or there is no such machine.
    """
    for part in ideal:
        if part not in (*IDEAL_PARTS, *MEMORY_PARTS):
            raise UsageError(f"{part!r} cannot be ideal: {', '.join((*IDEAL_PARTS, *MEMORY_PARTS))} can")
    if isinstance(platform, Description):
        machine = changed(platform, list(options), network=network)
    else:
        machine = read_machine(platform, n_ranks, list(options), cpus_per_task=cpus_per_task, network=network)
    if any(part in IDEAL_PARTS for part in ideal):
        parts = {*machine.models.network.ideal, *ideal}
        try:
            improved = replace(machine.models.network, ideal=tuple(part for part in IDEAL_PARTS if part in parts))
        except ValueError as wrong:
            raise UsageError(str(wrong)) from None
        machine = replace(machine, models=replace(machine.models, network=improved))
    for what, _, _, factor in changes:
        if what == "overhead":
            machine = with_less_overhead(machine, factor)
    if "overhead" in ideal:
        costs = {"test_s": SHORTEST_POLL_S, "iprobe_s": SHORTEST_POLL_S}  # else time would stand still during polls
        polling = replace(machine.models.polling, **costs, polls_grow=False, polls_notice=True)
        machine = replace(machine, models=replace(machine.models, polling=polling))
    return machine


def _schedules(trace: Trace, engine: ReplayEngine, forced: Sequence[tuple[str, str]]) -> TraceSchedules:
    selection = selection_on(engine.platform.models, forced)
    return TraceSchedules(trace, engine, selection, lambda ranks: Hosts(engine.hosts_of(ranks)))


def _rows(
    trace: Trace,
    engine: ReplayEngine,
    comm_of: Sequence[int],
    schedules: TraceSchedules,
    cpu: float,
    ideal: Iterable[str],
    changes: Sequence[PartImprovement],
) -> ActionRows:
    kernels = _kernel_of_site(trace)
    hosts = [engine.host_name(rank) for rank in range(engine.n_ranks)]
    divisors = faster(changes, cpu, host_of_rank=hosts, kernel_of_site=kernels, rank_of_site=trace.rank_of_site)
    overhead = 0.0 if "overhead" in ideal else 1.0
    for what, _, _, factor in changes:
        if what == "overhead":
            overhead *= factor
    return ActionRows(trace, comm_of, schedules, divisors, overhead)


def _new_comms(engine: ReplayEngine, members: dict[int, list[int]], other_of: dict[int, int]) -> list[int]:
    """The kernel's number of each communicator, indexed by the trace's number."""
    number_of = {0: 0} if len(members[0]) == engine.n_ranks else {}  # else ranks of the world were spawned
    for comm in sorted(members):
        if comm in number_of:
            continue
        other = other_of[comm]
        if other == comm:
            number_of[comm] = engine.comm_new(members[comm])
        else:
            number_of[comm], number_of[other] = engine.comm_new_inter(members[comm], members[other])
    return [number_of.get(comm, -1) for comm in range(max(number_of) + 1)]


def _kernel_of_site(trace: Trace) -> list[str]:
    calls, label_of_site, is_kernel = trace.calls, trace.label_of_site, trace.is_kernel
    return [calls[label][0] if kernel else "" for label, kernel in zip(label_of_site, is_kernel, strict=True)]


def _slowdown(trace: Trace, engine: ReplayEngine, host_of_rank: Sequence[int]) -> NDArray[np.float64] | None:
    """Ratio of each rank's core speed in the run to that in the replay; None: measured work is scaled to each host."""
    import numpy as np

    info = trace.info["trace"]
    speed_now_of = {host: engine.platform.speed_flop_per_s(host) for host in set(host_of_rank)}
    if trace.is_imported:
        if not trace.keeps_seconds:
            return None
        of_nanoseconds: NDArray[np.float64] = 1e9 / np.array([speed_now_of[host] for host in host_of_rank])
        return of_nanoseconds
    if info["host_speed_flop_per_s"] is not None:
        return None
    before = recorded_machine(trace).build()
    hosts = [host for host, n_ranks in info["hosts_of_ranks"] for _ in range(n_ranks)]
    speed_of = {host: before.speed_flop_per_s(host) for host in set(hosts)}
    was = np.array([speed_of[host] for host in hosts])
    slowdown: NDArray[np.float64] = was / np.array([speed_now_of[host] for host in host_of_rank])
    return slowdown


def _about(network: Network) -> str:
    """Sources of the network's numbers, and the model by which it times collectives."""
    model = network.times_collectives_by
    return "; ".join(filter(None, [network.about, f"collectives as a whole by its model {model}" if model else ""]))


def result_of(engine: ReplayEngine, machine: Description, *, depends_on_time: bool) -> ReplayResult:
    """Result of a world that has performed a trace on a machine."""
    import numpy as np

    finish_s: array[float] = engine.finish_s()
    accounts = engine.accounts()
    spent_s = np.sum([accounts.spent_s[kind] for kind in _WORK], axis=0)
    computing_s = np.bincount(np.asarray(accounts.rank), weights=spent_s, minlength=engine.n_ranks).astype(np.float64)
    counts = engine.statistics()
    dates_s = np.asarray(finish_s)
    makespan_s = float(dates_s.max())
    return ReplayResult(
        makespan_s=makespan_s,
        finish_s=dates_s,
        computing_s=computing_s,
        messages=int(counts.messages),
        bytes=int(counts.bytes),
        n_left_alone=engine.n_left_alone(),
        depends_on_time=depends_on_time,
        network_about=_about(engine.platform.models.network),
        background=remark_on_background(engine),
        energy=run_energy(engine, machine, makespan_s, sum(engine.accounts_energy_j(len(accounts.rank)))),
    )
