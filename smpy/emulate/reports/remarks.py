"""Remarks for the user after a run: long polls, sources of kernel times, files, cores, spread, lost messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.collectives.world_schedules import algorithms_in
from smpy.compute.clock.sampling import Sampling
from smpy.compute.clock.system_time import SystemTime
from smpy.compute.models.modelling import Modelling
from smpy.emulate.reports.ranks_in_text import lines_by_rank, place_of
from smpy.engine.bytes_of_files import BytesOfFiles
from smpy.engine.messages import ANY, LeftKind, LeftOver
from smpy.platforms.placement.rank_cores import cores_text
from smpy.records.remark import Remark
from smpy.units import format_bytes, format_speed, format_time

if TYPE_CHECKING:
    from smpy.compute.clock.library_threads import LibraryThreads
    from smpy.engine.engine import Engine
    from smpy.engine.time_categories import Spent
    from smpy.options import RunConfig
    from smpy.platforms import Models, Polling
    from smpy.platforms.description import Description
    from smpy.records.profile import RunProfile

_POLLS_SHARE: Final = 0.05  # share of the ranks' time; a smaller one is not worth a line
_SHARED_SHARE: Final = 0.05  # share of the time; a kernel slowed down by less gets no remark
_FAULTS_SHARE: Final = 0.1  # share of the measured computing; below it, page faults get no remark
_FAULTS_MIN: Final = 100  # with fewer, the system works for something else
_FAULTS_MIN_S: Final = 0.05  # a run with less, such as that of its imports, gets no remark
_LINES_MAX: Final = 8  # in the summary
_LEFT_MAX: Final = 1000  # in its JSON

_KINDS: Final = {
    LeftKind.SEND: ("send", "message that nobody received", "messages that nobody received"),
    LeftKind.RECV: ("receive", "receive without a message", "receives without a message"),
    LeftKind.REQUEST: ("request", "request never completed", "requests never completed"),
    LeftKind.COLLECTIVE: ("collective", "collective never completed", "collectives never completed"),
}


def remarks_on(engine: Engine, models: Models, home: str) -> tuple[Remark, ...]:
    """All remarks on a run.

    Parameters
    ----------
    engine : Engine
        The world, which is over.
    models : Models
        Models of its machine.
    home : str
        The program's directory: file names are given from there.
    """
    is_partial = any(map(isnan, engine.finish_s()))  # then it has left over what it was about to complete
    left = [] if is_partial else list(engine.left_over())
    return (
        *_network(models),
        *_collectives(engine, models.network.times_collectives_by),
        *_polls(engine, models.polling),
        *_fast_kernels(engine),
        *_modelled(engine),
        *([] if is_partial else _uncertain(engine)),
        *_sampled(engine),
        *_energy(engine),
        *_files(engine),
        *_devices(engine),
        *_left_over(left, home),
    )


def _network(models: Models) -> Iterable[Remark]:
    """Source of the network model's numbers that the machine does not state."""
    if about := models.network.about:
        yield Remark("network", (about,), {"model": models.network.name, "about": about})


def _collectives(engine: Engine, model: str) -> Iterable[Remark]:
    """Remark that the network has timed some collectives as a whole."""
    timed = [operation for operation, names in algorithms_in(engine).used().items() if model in names]
    if timed:
        text = f"{', '.join(timed)} as a whole, by the network's model {model}"
        yield Remark("collectives", (text,), {"model": model, "operations": timed})


def _polls(engine: Engine, polling: Polling) -> Iterable[Remark]:
    """Remark that polls at growing intervals delayed the calls that they wait for."""
    spent_s = engine.spent_s()
    share = (spent_s.polling + spent_s.probing) / (sum(spent_s) or 1.0)
    if share > _POLLS_SHARE and not polling.polls_notice:
        text = f"took {share:.1%} of the time in vain, by SMPI's rule; --set smpy/polls=notice ends them in time"
        yield Remark("polls", (text,), {"share": share})


def _fast_kernels(engine: Engine) -> Iterable[Remark]:
    for name, (rate, peak) in engine.kernels_above_peak.items():
        text = f"modelled at {format_speed(rate)}, above the {format_speed(peak)} of its host's core (--strict refuses)"
        yield Remark(name, (text,), {"flop_per_s": rate if isfinite(rate) else None, "peak_flop_per_s": peak})


def _modelled(engine: Engine) -> Iterable[Remark]:
    """Remarks on the source of the times of kernels, noise and memory."""
    modelling = engine.world_storage.get(Modelling, Modelling())
    if modelling.uses:
        uses = modelling.uses.items()
        calibrated = [name for name, use in uses if use.is_calibrated]
        others = [name for name, use in uses if not use.is_calibrated]
        lines = [f"{_listed(calibrated)} as calibrated"] if calibrated else []
        if others:
            lines.append(f"{_listed(others)} by roofline: the machine's [kernels] has no cost of {_them(others)}")
        lines += [
            f"{name}: {use.n_extrapolated:,} of {use.n_calls:,} calls are extrapolated beyond the sizes measured"
            for name, use in uses
            if use.n_extrapolated
        ]
        lines += [
            f"{name}: {use.n_without_time:,} of {use.n_calls:,} calls take no time: its cost is not above 0 there"
            for name, use in uses
            if use.n_without_time
        ]
        yield Remark("kernels", tuple(lines), {"kernels": {name: asdict(use) for name, use in uses}})
    if modelling.draws is not None and not modelling.draws.n_drawn:
        text = "--noise drew none: no kernel was called whose calibration has noise"
        yield Remark("noise", (text,), {"n_drawn": 0})
    if modelling.bytes_without_bandwidth:
        moved = format_bytes(modelling.bytes_without_bandwidth)
        text = f"{moved} moved in no time: --set host.memory_bandwidth=400GB/s gives hosts a bandwidth"
        yield Remark("memory", (text,), {"bytes": modelling.bytes_without_bandwidth})
    if modelling.random_bytes_without_rate:
        accessed = format_bytes(modelling.random_bytes_without_rate)
        text = f"{accessed} read at random in no time: host.random_access (smpy calibrate host) gives cores a rate"
        yield Remark("random access", (text,), {"bytes": modelling.random_bytes_without_rate})


def remarks_on_shared_hosts(engine: Engine, profile: RunProfile) -> Iterable[Remark]:
    """Kernels that take longer than alone on their hosts: their ranks share the memory, or the cores.

    With noise on computing there is no remark: kernels take longer by that, too.

    Parameters
    ----------
    engine : Engine
        The world, which is over.
    profile : RunProfile
        Its profile.
    """
    uses = engine.world_storage.get(Modelling, Modelling()).uses
    if not uses or engine.has_noise or len(set(profile.host_of_rank)) == len(profile.host_of_rank):
        return
    totals = profile.by_site()
    whole_s = sum(each.total_s for each in totals)
    kernels: dict[str, dict[str, float]] = {}
    for name, use in uses.items():
        spent_s = sum(each.spent_s[0] for each in totals if each.site.call == name)
        if spent_s - use.seconds > _SHARED_SHARE * whole_s:
            kernels[name] = {"seconds": spent_s, "alone_s": use.seconds}
    lines = [
        f"{name} took {format_time(each['seconds'])}, alone {format_time(each['alone_s'])}"
        for name, each in kernels.items()
    ]
    if lines:
        hint = "memory of a host, or its cores: --trace FOLDER, then smpy analyze bounds FOLDER shows the share of each"
        yield Remark("shared hosts", (*lines[:_LINES_MAX], hint), {"kernels": kernels})


def remarks_on_page_faults(system_time: SystemTime) -> Iterable[Remark]:
    """Remark on measured computing of which the system took much for page faults: a real run may have fewer or more.

    Parameters
    ----------
    system_time : SystemTime
        Share of the measured bursts that the system took.
    """
    if system_time.system_s < _FAULTS_MIN_S or system_time.page_faults < _FAULTS_MIN:
        return
    share = system_time.system_s / system_time.seconds
    if share >= _FAULTS_SHARE:
        lines = (
            f"{share:.0%} of the measured computing is the system's: about {system_time.page_faults:,.0f} page faults",
            "a real run may have fewer: --keep-memory predicts a run without most of them",
        )
        yield Remark("page faults", lines, {"share": share, "page_faults": round(system_time.page_faults)})


def _uncertain(engine: Engine) -> Iterable[Remark]:
    """Remark that the mean of the largest of several noisy times exceeds each mean: no single path shows that."""
    n_noisy = len(engine.world_storage.get(Modelling, Modelling()).noisy)
    if n_noisy > 1 and engine.statistics().messages:
        text = "± is of first order, too small where ranks wait for the slowest of several; --noise draws instead"
        yield Remark("uncertainty", (text,), {"n_noisy_ranks": n_noisy})


def _devices(engine: Engine) -> Iterable[Remark]:
    """Remark on the part of the time in which the devices of ranks computed; skipped iterations have none of both."""
    busy_s = engine.device_busy_s()
    rank_s = zip(engine.finish_s(), engine.skipped_s(), strict=True)
    performed_s = max((end_s - skipped_s for end_s, skipped_s in rank_s if not isnan(end_s)), default=0.0)
    if not busy_s or not performed_s:
        return
    share, largest = sum(busy_s) / len(busy_s) / performed_s, max(busy_s) / performed_s
    text = f"{len(busy_s):,} with ranks computed {share:.1%} of the time, the busiest {largest:.1%}"
    yield Remark("devices", (text,), {"n": len(busy_s), "share": share, "largest_share": largest})


def _sampled(engine: Engine) -> Iterable[Remark]:
    """Remark on the regions that were executed until their time was known."""
    sampling = engine.world_storage.get(Sampling, Sampling())
    facts = {name: region.facts() for name, region in sampling.regions.items() if region.has_samples()}
    lines = [f"{name}: {_sample_text(fact)}" for name, fact in facts.items()]
    lines += [f"{name}: every run was made: only --compute measured samples" for name in sampling.unmeasured]
    if not lines:
        return
    if len(lines) > _LINES_MAX:
        lines = [*lines[:_LINES_MAX], f"and {len(lines) - _LINES_MAX} more"]
    yield Remark("sampled", tuple(lines), {"regions": facts, "unmeasured": list(sampling.unmeasured)})


def _energy(engine: Engine) -> Iterable[Remark]:
    """Remark that the energy of a run that skipped iterations is unknown."""
    if engine.keeps_energy and any(engine.skipped_s()):
        yield Remark("energy", ("unknown, as iterations were skipped: run without --iterations",), {})


def _files(engine: Engine) -> Iterable[Remark]:
    """Remark on the time that files would have taken."""
    moved = engine.world_storage.get(BytesOfFiles)
    if moved is not None:
        read, written = format_bytes(moved.n_read), format_bytes(moved.n_written)
        text = f"{read} read and {written} written by MPI.File in no time: [storage] of a machine gives it disks"
        yield Remark("files", (text,), {"read_bytes": moved.n_read, "written_bytes": moved.n_written})


def _sample_text(fact: dict[str, Any]) -> str:
    n_run, n_skipped, width = fact["n_run"], fact["n_skipped"], fact["relative_half_width"]
    of_rank = ", at most, on a rank" if (fact["n_ranks_run"] or 0) > 1 else ""
    interval = "" if width is None else f" ± {100 * width:.2g} % (95 %{of_rank})"
    skipped = f"; {n_skipped:,} skipped, whose results are missing" if n_skipped else ""
    return f"{n_run:,} of {n_run + n_skipped:,} runs, mean {format_time(fact['mean_s'])}{interval}{skipped}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_LINES_MAX]) + (f" and {len(names) - _LINES_MAX} more" if len(names) > _LINES_MAX else "")


def _them(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _left_over(left: list[LeftOver], home: str) -> Iterable[Remark]:
    if not left:
        return
    n_of = Counter(one.kind for one in left)
    counts = [f"{n:,} {_KINDS[kind][1 if n == 1 else 2]}" for kind, n in sorted(n_of.items())]
    lines = _lines(left, home)
    head = f"{', '.join(counts)} (--strict: an error)"
    yield Remark("lost messages", (head, *lines), {"n": len(left), "first": _facts(left, home)}, is_fault=True)


def _lines(left: list[LeftOver], home: str) -> list[str]:
    """One line for all ranks that left the same messages at the same place."""
    lines = _described(left, _text, home)
    if len(lines) > _LINES_MAX:
        lines = _described(left, lambda one: _KINDS[one.kind][0], home)
    if len(lines) > _LINES_MAX:
        lines = [*lines[:_LINES_MAX], f"  and so on: {len(lines)} lines in all"]
    return lines


def _described(left: list[LeftOver], tell: Callable[[LeftOver], str], home: str) -> list[str]:
    n_of = Counter((one.rank, tell(one), place_of(*one.line, home)) for one in left)
    return lines_by_rank([(rank, text + _times(n), place) for (rank, text, place), n in n_of.items()])


def _times(n: int) -> str:
    return f", {n:,} times" if n > 1 else ""


def _text(one: LeftOver) -> str:
    comm = f" on communicator {one.comm}" if one.comm > 0 else ""
    if one.kind == LeftKind.COLLECTIVE:
        return f"non-blocking collective{comm}"
    source = "any source" if one.peer == ANY else f"rank {one.peer}"
    tag = "any tag" if one.tag == ANY else f"tag {one.tag}"
    what = f"send to rank {one.peer}" if one.is_send else f"receive from {source}"
    return f"{what}, {tag}, {one.nbytes:,} bytes{comm}"


def _facts(left: list[LeftOver], home: str) -> list[dict[str, object]]:
    return [
        {
            "kind": _KINDS[one.kind][0],
            "rank": one.rank,
            "peer": None if one.kind == LeftKind.COLLECTIVE else one.peer,
            "tag": None if one.kind == LeftKind.COLLECTIVE else one.tag,
            "bytes": one.nbytes,
            "line": place_of(*one.line, home),
        }
        for one in left[:_LEFT_MAX]
    ]


def remarks_on_cores(
    config: RunConfig, engine: Engine, host_of_rank: Sequence[int], spread: LibraryThreads | None
) -> Iterable[Remark]:
    """Describe the cores of each rank, and their use by measured computing; nothing for one core."""
    n_cores = config.cpus_per_task
    if n_cores == 1:
        return
    lines = [cores_text(engine.platform, host_of_rank, n_cores, by_socket=config.map_by == "socket")]
    if spread is not None:
        lines.append(f"{format_time(spread.total_s)} of library threads were measured, and are spread over these cores")
    elif config.measures_computing:
        lines.append("libraries had one thread here: their measured computing is on one core of each rank")
    spread_s = None if spread is None else spread.total_s
    yield Remark("cores", tuple(lines), {"cpus_per_task": n_cores, "spread_s": spread_s})


def remarks_on_spread(
    config: RunConfig, calibration: Path | None, machine: Description, spent_s: Spent
) -> Iterable[Remark]:
    """Remark on the spread to be expected, if a calibration says one.

    Parameters
    ----------
    config : RunConfig
        The run.
    calibration : Path or None
        Calibration of the machine on which computing was measured.
    machine : Description
        The simulated machine: its calibration tells of messages, and of kernels with a model.
    spent_s : Spent
        Time of the ranks, in seconds, by kind.
    """
    computing = machine.calibration
    if config.measures_computing:
        computing = {}
        if calibration is not None:
            from smpy.records.calibration_file import read_result  # the run has imported it for the speed it says

            computing = read_result(calibration)["calibration"]
    return _spread_of(
        computing=(computing.get("computing_spread"), spent_s.computing),
        messages=(machine.calibration.get("spread"), spent_s.communicating),
    )


def _spread_of(**parts: tuple[Any, float]) -> Iterable[Remark]:
    """Remark on the mean spread of parts of the time, each weighted with its seconds.

    Time in which a rank waits for others spreads as theirs does. There is none if most of the time has no known spread.
    """
    known = {name: part for name, part in parts.items() if _is_spread(part[0]) and part[1] > 0}
    known_s = sum(time_s for _, time_s in known.values())
    if not known or known_s < sum(time_s for _, time_s in parts.values()) / 2:
        return
    overall = sum(spread * time_s for spread, time_s in known.values()) / known_s
    each = " and ".join(f"{name} by {spread:.1%}" for name, (spread, _) in known.items())
    text = f"half of equal runs on a real machine differ from their median by up to {overall:.1%}: {each} (calibration)"
    facts = {f"{name}_spread": spread for name, (spread, _) in known.items()}
    yield Remark("spread", (text,), {"makespan_spread": overall, **facts})


def _is_spread(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value) and value >= 0
