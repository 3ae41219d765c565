"""Efficiencies of a run, or of runs on several numbers of ranks: the hierarchy of the POP centre of excellence [1]_.

Let C_r be the time that rank r computes, T that of the run, and T_x that of its replay without x:

    parallel efficiency     mean(C_r) / T                       = load balance x communication
      load balance          mean(C_r) / max(C_r)
      communication         max(C_r) / T                        = serialisation x transfer
        serialisation       max(C_r) / T_ideal
        transfer            T_ideal / T                         = the product of the next four
          contention        T_contention / T                    every message alone on its links
          bandwidth         T_(contention, bandwidth) / T_contention                    and of no length
          latency           T_(contention, bandwidth, latency) / T_(contention, bandwidth)
          overhead          T_ideal / T_(contention, bandwidth, latency)                and MPI's calls cost nothing

The dependences between ranks stay in T_ideal: a receive waits for its send, a large send for its receive.

Computing is bound by three parts of the machine. With C the sum of C_r, C_alone that of a replay in which hosts' memory
has no limit but the bandwidth of each core, and C_cores that of one in which moving bytes takes no time:

    memory of a host        (C - C_alone) / C
    memory of a core        (C_alone - C_cores) / C
    cores                   C_cores / C

Runs on several numbers P of ranks are compared with a reference, the run of fewest ranks:

    computing scales        C of the reference / C; with as much work a rank (weak), times P / P_ref
      operations            the same of the operations that were computed, where the trace tells them
      speed                 the same of C_cores / operations: how fast cores compute
      memory of a core      the same of C_alone / C_cores: how much longer moving bytes takes than computing
      memory of a host      the same of C / C_alone: how much longer it takes as cores share the memory of their host
    global efficiency       parallel efficiency x how computing scales

References
----------
.. [1] Rosas, Giménez, Labarta: "Scalability prediction for fundamental performance factors", Supercomputing Frontiers
   and Innovations 1 (2), 2014; POP CoE, "POP Standard Metrics for Parallel Performance Analysis".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.analysis.pop_prediction import FactorPredictions, predict_factors
from smpy.analysis.regions import computing_in_region
from smpy.analysis.replays import (
    ReplayFunction,
    depends_on_time,
    moves_memory,
    not_awaited,
)
from smpy.analysis.result import Result, import_optional
from smpy.analysis.timeline import floats, read_timeline, skipped_words, words_by_number
from smpy.errors import UsageError
from smpy.records.columns import numbers
from smpy.records.recorded_machine import names_machine
from smpy.records.text_table import text_table
from smpy.records.whole_runs import check_whole, why_not_whole
from smpy.units import format_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

PARTS: Final = ("contention", "bandwidth", "latency", "overhead")
"""Parts of the transfer, in the order in which the replays remove them."""

MEMORY_PARTS: Final = ("memory", "core_memory")
"""Limits of moving bytes, in the order in which the replays remove them: a host's memory, then a core's."""

_LONGER: Final = 1e-9  # relative to the time: a replay that is longer by more gets a remark


@dataclass(frozen=True, slots=True)
class Efficiencies:
    """Efficiencies of one run; None: unknown without a replay.

    Attributes
    ----------
    n_ranks : int
        Number of ranks of the run.
    time_s : float
        T: the makespan; of a region, the longest that a rank was in it.
    computing_s, longest_computing_s : float
        Sum and maximum of C_r.
    parallel, load_balance, communication, serialisation, transfer, contention, bandwidth, latency, overhead : float
        Factors, as defined above.
    ideal_s : float or None
        T_ideal.
    operations : float or None
        Operations of all ranks together, in flop; None: the trace does not tell.
    alone_s, cores_s : float or None
        C_alone and C_cores.
    n_hosts, ranks_on_a_host : int
        Hosts with ranks, and the most ranks that one has.
    """

    n_ranks: int
    time_s: float
    computing_s: float
    longest_computing_s: float
    parallel: float
    load_balance: float
    communication: float
    serialisation: float | None = None
    transfer: float | None = None
    contention: float | None = None
    bandwidth: float | None = None
    latency: float | None = None
    overhead: float | None = None
    ideal_s: float | None = None
    operations: float | None = None
    alone_s: float | None = None
    cores_s: float | None = None
    n_hosts: int = 0
    ranks_on_a_host: int = 0

    @property
    def memory_share(self) -> float | None:
        """Share of computing spent waiting for the memory of a host."""
        return None if self.alone_s is None else max(1 - self.alone_s / self.computing_s, 0.0)

    @property
    def core_memory_share(self) -> float | None:
        """Share of computing spent waiting for the memory of a core."""
        if self.alone_s is None or self.cores_s is None:
            return None
        return max((self.alone_s - self.cores_s) / self.computing_s, 0.0)

    @property
    def cores_share(self) -> float | None:
        """Share of computing spent in the cores."""
        return None if self.cores_s is None else self.cores_s / self.computing_s


@dataclass(frozen=True, slots=True)
class RunScaling:
    """Scaling of one run from the reference.

    Attributes
    ----------
    computing, operations, speed, core_memory, memory : float or None
        Scaling of computing, and its parts; memory's are None where all is bytes, or none of it.
    global_efficiency : float
        Parallel efficiency times the scaling of computing.
    speedup : float
        Time of the reference / time, with weak scaling times P / P_ref.
    """

    computing: float
    operations: float | None
    speed: float | None
    core_memory: float | None
    memory: float | None
    global_efficiency: float
    speedup: float


@dataclass(frozen=True, slots=True, eq=False)
class Pop(Result):
    """Efficiencies of runs, by ascending number of ranks.

    Attributes
    ----------
    region : str or None
        Part of the program; None: all of it.
    runs : sequence of Efficiencies
        One a trace.
    scalings : sequence of RunScaling
        Likewise; empty for one run.
    noise_free : sequence of Efficiencies
        Efficiencies of the same runs without noise, where asked for; else empty.
    is_weak : bool
        Whether the caller says that runs have as much work a rank.
    remarks : sequence of str
        Remarks for readers.
    predictions : FactorPredictions or None
        Predictions for other numbers of ranks, where asked for.
    """

    region: str | None
    runs: Sequence[Efficiencies]
    scalings: Sequence[RunScaling]
    noise_free: Sequence[Efficiencies]
    is_weak: bool
    remarks: Sequence[str]
    predictions: FactorPredictions | None

    def table(self) -> str:
        """One line per factor, one column per run, with noise-free columns beside; then predictions and remarks."""
        about = f" of {self.region}" if self.region else ""
        head, runs = [f"Efficiencies{about}"], list(self.runs)
        for n in (run.n_ranks for run in self.runs):
            head.append(f"{n:,} rank{'' if n == 1 else 's'}")
            head += ["without noise"] * bool(self.noise_free)
        scalings = list(self.scalings)
        if self.noise_free:
            runs = [run for pair in zip(self.runs, self.noise_free, strict=True) for run in pair]
            scalings = [
                scaling_of(run, runs[i % 2], is_weak=self.is_weak) for i, run in enumerate(runs) if self.scalings
            ]
        lines = [["time", *(format_time(run.time_s) for run in runs)]]
        if scalings:
            lines.append(["speed-up", *(f"{run.speedup:.4g}" for run in scalings)])
            lines.append(["global efficiency", *(_percent(run.global_efficiency) for run in scalings)])
        for depth, name, key in FACTOR_TREE:
            values = [getattr(run, key) for run in runs]
            if any(value is not None for value in values):
                lines.append(["  " * (depth + bool(scalings)) + name, *map(_percent, values)])
        for depth, name, key in SCALING_TREE if scalings else ():
            values = [getattr(run, key) for run in scalings]
            if any(value is not None for value in values):
                lines.append(["  " * (depth + 1) + name, *map(_percent, values)])
        has_memory = any(_waits_for_memory(run) for run in runs)
        for name, key in COMPUTING_SHARES if has_memory else ():
            lines.append([name, *(_percent(getattr(run, key)) for run in runs)])
        width = max(len(line[0]) for line in [head, *lines])
        text = text_table([head[0].ljust(width), *head[1:]], [[line[0].ljust(width), *line[1:]] for line in lines])
        parts = [text, *([self.predictions.table()] if self.predictions else []), *self.remarks]
        return "\n\n".join(parts)

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the result."""
        return {
            "region": self.region,
            "is_weak": self.is_weak,
            "runs": [asdict(run) for run in self.runs],
            "scalings": [asdict(run) for run in self.scalings],
            "noise_free": [asdict(run) for run in self.noise_free],
            "predictions": self.predictions.to_record() if self.predictions else None,
            "remarks": list(self.remarks),
        }

    def plot(self) -> Figure:
        """Factors over the number of ranks, with predictions as lines; a single run is drawn as bars."""
        graph = import_optional("plotly.graph_objects")
        if self.predictions is not None:
            return self.predictions.plot()
        shown = [(name, key) for _, name, key in FACTOR_TREE if any(getattr(run, key) is not None for run in self.runs)]
        if len(self.runs) == 1:
            figure = graph.Figure(
                graph.Bar(x=[name for name, _ in shown], y=[getattr(self.runs[0], k) for _, k in shown])
            )
        else:
            ranks = [run.n_ranks for run in self.runs]
            figure = graph.Figure(
                [graph.Scatter(x=ranks, y=[getattr(run, key) for run in self.runs], name=name) for name, key in shown]
            )
            figure.update_xaxes(type="log", title="ranks")
        figure.update_layout(title="Efficiencies", yaxis_title="efficiency", yaxis_range=[0, 1.05])
        return figure


FACTOR_TREE: Final = (
    (0, "parallel efficiency", "parallel"),
    (1, "load balance", "load_balance"),
    (1, "communication efficiency", "communication"),
    (2, "serialisation efficiency", "serialisation"),
    (2, "transfer efficiency", "transfer"),
    (3, "contention", "contention"),
    (3, "bandwidth", "bandwidth"),
    (3, "latency", "latency"),
    (3, "overhead", "overhead"),
)
"""Depth, name and attribute of each factor."""

SCALING_TREE: Final = (
    (0, "computation scalability", "computing"),
    (1, "operations", "operations"),
    (1, "speed", "speed"),
    (1, "memory of a core", "core_memory"),
    (1, "memory of a host", "memory"),
)
"""Depth, name and attribute of each factor, for several runs."""

COMPUTING_SHARES: Final = (
    ("computing bound by cores", "cores_share"),
    ("computing bound by memory of a core", "core_memory_share"),
    ("computing bound by memory of a host", "memory_share"),
)
"""Name and attribute of the parts of the machine that limit computing."""


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def pop(
    traces: Sequence[Trace],
    replay: ReplayFunction | None = None,
    *,
    region: str | None = None,
    is_weak: bool = False,
    predict: Sequence[int] = (),
    denoise: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Pop:
    """Find the efficiencies of runs.

    Parameters
    ----------
    traces : sequence of Trace
        Traces of runs of one program; several: on different numbers of ranks.
    replay : ReplayFunction, optional
        Performs a trace again, four times each, six where it moves memory; without it serialisation and transfer are
        not separated, nor cores and memory.
    region : str, optional
        Only this part of the program, by its name there; serialisation and transfer are not separated then.
    is_weak : bool
        Whether runs on more ranks have as much work a rank.
    predict : sequence of int
        Numbers of ranks to predict the efficiencies of; wants three traces or more.
    denoise : sequence of {"cpu", "net"}
        Find the efficiencies without noise of computing, or of the network, too: by five replays more.
    progress : callable, optional
        Called with the name of the next step.

    Raises
    ------
    UsageError
        If no rank computes, there is no such region, or too few traces to predict from; or if noise is to be removed
        from a region, or from a trace that cannot be replayed.
    """
    if denoise and (region is not None or replay is None):
        raise UsageError("noise is removed by replays of the whole run: give a replay, and leave out the region")
    ordered = sorted(traces, key=lambda trace: trace.n_ranks)
    remarks: list[str] = []
    runs, noise_free = [], []
    for trace in ordered:
        reason = _why_not_replayed(trace)
        if replay is not None and region is None and reason is not None:
            remarks.append(f"{trace.folder} {reason}. Serialisation and transfer are not told apart.")
        performs = replay if region is None and reason is None else None
        runs.append(_efficiencies(trace, performs, region, remarks, progress or (lambda _: None)))
        if denoise and replay is not None:
            check_whole(trace, "be replayed")
            noise_free.append(_noise_free(trace, replay, tuple(denoise), remarks, progress or (lambda _: None)))
    return Pop(
        region=region,
        runs=runs,
        scalings=[scaling_of(run, runs[0], is_weak=is_weak) for run in runs] if len(runs) > 1 else [],
        noise_free=noise_free,
        is_weak=is_weak,
        remarks=remarks,
        predictions=predict_factors(runs, predict) if predict else None,
    )


def _why_not_replayed(trace: Trace) -> str | None:
    """Reason why replays of a trace do not compare with its timeline; None if they do."""
    if (reason := why_not_whole(trace)) is not None:
        return f"cannot be replayed: {reason}"
    if not names_machine(trace):
        return "cannot be replayed: it was imported, and names no machine"
    if (trace.info["trace"].get("imported") or {}).get("cycles") is not None:
        return "takes computing from cycles in replays, and not in its timeline: --denoise cpu compares replays alone"
    return None


def _efficiencies(
    trace: Trace, replay: ReplayFunction | None, region: str | None, remarks: list[str], progress: Callable[[str], None]
) -> Efficiencies:
    timeline = read_timeline(trace, with_messages=False)
    if region is None:
        skipped_s = timeline.skipped_s()
        computing_s, time_s = timeline.computing_s(), timeline.time_s - skipped_s
        if skipped_s:
            remarks.append(skipped_words(skipped_s, timeline.time_s, "efficiencies are of"))
    else:
        skipped_s = 0.0
        computing_s, time_s = computing_in_region(trace, timeline, region)
    total_s, longest_s = float(computing_s.sum()), float(computing_s.max())
    if longest_s <= 0:
        where = f"region {region!r}" if region else str(getattr(trace, "folder", "the trace"))
        raise UsageError(f"no rank computes in {where}: efficiencies have no meaning there")
    n_told = len(timeline.traced_ranks)
    if n_told < trace.n_ranks:
        remarks.append(f"{trace.folder} has {n_told} of {trace.n_ranks} ranks only: means are over these.")
    base = Efficiencies(
        n_ranks=trace.n_ranks,
        time_s=time_s,
        computing_s=total_s,
        longest_computing_s=longest_s,
        parallel=total_s / n_told / time_s,
        load_balance=total_s / n_told / longest_s,
        communication=longest_s / time_s,
        operations=_operations(trace) if region is None else None,
        **_placement(trace),
    )
    if replay is None:
        return base
    if depends_on_time(trace):
        remarks.append(
            f"The program on {base.n_ranks} ranks received from any source, or polled: replays repeat its choices."
        )
    return _with_ideal(base, trace, replay, (), remarks, progress, skipped_s)


def _noise_free(
    trace: Trace, replay: ReplayFunction, denoise: tuple[str, ...], remarks: list[str], progress: Callable[[str], None]
) -> Efficiencies:
    progress(f"{trace.n_ranks} ranks without noise")
    quiet = replay(trace, denoise=denoise)
    skipped_s = read_timeline(trace, with_messages=False).skipped_s()
    time_s = quiet.makespan_s - skipped_s
    remarks.append(f"On {trace.n_ranks} ranks: {quiet.noise_removed}")
    computing_s = np.asarray(quiet.computing_s, dtype=np.float64)
    mean_s, longest_s = float(computing_s.mean()), float(computing_s.max())
    base = Efficiencies(
        n_ranks=trace.n_ranks,
        time_s=time_s,
        computing_s=float(computing_s.sum()),
        longest_computing_s=longest_s,
        parallel=mean_s / time_s,
        load_balance=mean_s / longest_s,
        communication=longest_s / time_s,
        **_placement(trace),
    )
    return _with_ideal(base, trace, replay, denoise, remarks, progress, skipped_s)


def _with_ideal(
    base: Efficiencies,
    trace: Trace,
    replay: ReplayFunction,
    denoise: tuple[str, ...],
    remarks: list[str],
    progress: Callable[[str], None],
    skipped_s: float,
) -> Efficiencies:
    replays = []
    for n in range(1, len(PARTS) + 1):
        progress(f"{trace.n_ranks} ranks without {', '.join((*['noise'] * bool(denoise), *PARTS[:n]))}")
        replays.append(replay(trace, ideal=PARTS[:n], denoise=denoise))
    remarks.extend(each for each in not_awaited(replays) if each not in remarks)
    times_s = [base.time_s, *(replayed.makespan_s - skipped_s for replayed in replays)]
    for part, before_s, after_s in zip(PARTS, times_s, times_s[1:], strict=False):
        if after_s > before_s * (1 + _LONGER):
            remarks.append(
                f"On {base.n_ranks} ranks the run takes longer without {part}, {format_time(after_s)} for "
                f"{format_time(before_s)}: a scheduling anomaly, other messages then came first."
            )
    alone_s = cores_s = base.computing_s
    if moves_memory(trace):
        progress(f"{trace.n_ranks} ranks without limits of memory")
        alone_s, cores_s = (
            float(np.sum(replay(trace, ideal=MEMORY_PARTS[:n], denoise=denoise).computing_s)) for n in (1, 2)
        )
    factors = dict(zip(PARTS, (after_s / before_s for before_s, after_s in pairwise(times_s)), strict=True))
    known = {key: value for key, value in asdict(base).items() if value is not None}
    return Efficiencies(
        **known | factors,
        serialisation=base.longest_computing_s / times_s[-1],
        transfer=times_s[-1] / times_s[0],
        ideal_s=times_s[-1],
        alone_s=alone_s,
        cores_s=cores_s,
    )


def _placement(trace: Trace) -> dict[str, int]:
    """Number of hosts with ranks, and the largest number of ranks on one."""
    ranks_of_host: dict[int, int] = {}
    for host, n_ranks in trace.info["trace"].get("hosts_of_ranks", ()):
        ranks_of_host[host] = ranks_of_host.get(host, 0) + n_ranks
    return {"n_hosts": len(ranks_of_host), "ranks_on_a_host": max(ranks_of_host.values(), default=0)}


def _operations(trace: Trace) -> float | None:
    """Flop of all ranks together; None if the trace lacks the actions, or has seconds in place of flop."""
    if why_not_whole(trace) is not None or trace.keeps_seconds:
        return None
    table = trace.table("actions", columns=["action", "amount", "detail"])
    action, names = words_by_number(table["action"])
    if "compute" not in names:
        return None
    computes = action == names.index("compute")
    n_threads = np.maximum(numbers(table["detail"])[computes], 1)
    total = float((floats(table["amount"])[computes] * n_threads).sum())
    return total if total > 0 else None


def scaling_of(run: Efficiencies, reference: Efficiencies, *, is_weak: bool) -> RunScaling:
    """Scaling of a run from the reference.

    Parameters
    ----------
    run, reference : Efficiencies
        Efficiencies of the run, and of the one of fewest ranks.
    is_weak : bool
        Whether the caller says that it has as much work a rank.
    """
    more = run.n_ranks / reference.n_ranks if is_weak else 1.0
    computing = more * reference.computing_s / run.computing_s
    operations = None
    if run.operations is not None and reference.operations is not None:
        operations = more * reference.operations / run.operations
    core_memory, memory = _memory_scaling(run, reference)
    speed = None if operations is None else computing / operations
    if speed is not None and memory is not None:
        speed = None if core_memory is None else speed / (core_memory * memory)
    return RunScaling(
        computing=computing,
        operations=operations,
        speed=speed,
        core_memory=core_memory,
        memory=memory,
        global_efficiency=run.parallel * computing,
        speedup=more * reference.time_s / run.time_s,
    )


def _memory_scaling(run: Efficiencies, reference: Efficiencies) -> tuple[float | None, float | None]:
    """Scaling of the time that memory of a core, and of a host, adds to computing; None if it adds none, or all."""
    if run.alone_s is None or run.cores_s is None or reference.alone_s is None or reference.cores_s is None:
        return None, None
    if not (_waits_for_memory(run) or _waits_for_memory(reference)):
        return None, None
    memory = reference.computing_s / reference.alone_s / (run.computing_s / run.alone_s)
    if not (run.cores_s and reference.cores_s):
        return None, memory
    return reference.alone_s / reference.cores_s / (run.alone_s / run.cores_s), memory


def _waits_for_memory(run: Efficiencies) -> bool:
    return run.cores_share is not None and run.cores_share < 1 - _LONGER
