"""Bounds of a run, by replay: the gain if a part of the machine or of the program were 10 % better.

Let T be the makespan, and T' that of the replay with a part 1.1 times better: latencies of links 1 / 1.1 of what they
are, bandwidths 1.1 times; calls and polls in 1 / 1.1 of the time. If all of T were that part, T' would be T / 1.1; the
share that the part bounds is how much of that the run gains:

    share = (T - T') / T / (1 - 1 / 1.1)

Parts are nested:

    computing                   takes 1 / 1.1 of the time, whatever bounds it: its flop and its bytes are divided by 1.1
      cores                     1.1 times as many flop a second
      memory of a core          1.1 times the bandwidth that one core has at most
      memory of a host          1.1 times the bandwidth that its cores share
      a kernel                  takes 1 / 1.1 of the time, whatever bounds it; likewise computing outside of kernels
        a host                  the same there alone
    devices                     compute 1.1 times as fast, and their memory has 1.1 times the bandwidth
    links of devices            1.1 times the bandwidth, and 1 / 1.1 of the latency, to the host and to each other
    latency
    bandwidth
      contention                see below
      a link
    overhead

Were the makespan smooth, shares of computing, latency, bandwidth and overhead would add up to 100 %, and those of cores
and memories to that of computing; where two parts bound the same work alike, only both together gain. Contention cannot
be 1.1 times better: its share is (T - T_0) / T, with T_0 of the replay whose messages do not share links, as if each
tenth of it saved as much as another one. A share below 0 is a scheduling anomaly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.messages import CONTENTION, hottest_links, link_labels
from smpy.analysis.replays import (
    Better,
    Replayed,
    ReplayFunction,
    depends_on_time,
    moves_memory,
    not_awaited,
    uses_devices,
)
from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.analysis.timeline import COMPUTE, read_timeline, skipped_words
from smpy.records.text_table import text_table
from smpy.records.time_words import MODELLED, USER_CODE
from smpy.records.whole_runs import check_whole
from smpy.units import format_time

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

FACTOR: Final = 1.1
_KERNELS: Final = 20
_DIGITS: Final = 9  # digits of a share: equal shares keep the order of the search
_IN_THE_HEAD: Final = 3
_SMALLEST_SHARE: Final = 0.005  # in the head
_SHOWN_SHARE: Final = 0.001  # in the table
_SPLIT_SHARE: Final = 0.01  # a kernel with a smaller share is not split by host
_LARGE_PART: Final = 0.5  # share within a part: the head names sub-parts with a larger one
_EXECUTE: Final = "execute"
_WORDS: Final = {
    "computing": "computing",
    "cores": "cores",
    "core_memory": "memory of a core",
    "memory": "memory of a host",
    "device": "devices",
    "device_link": "links of devices",
    "latency": "the network's latency",
    "bandwidth": "the network's bandwidth",
    "contention": CONTENTION,
    "link": "the bandwidth of link {}",
    "overhead": "the overhead of MPI's calls",
}


@dataclass(frozen=True, slots=True)
class Bound:
    """Bound that a part sets on a run.

    Attributes
    ----------
    part : str
        "computing", "cores", "core_memory", "memory", "kernel", "host", "device", "device_link", "latency",
        "bandwidth", "contention", "link" or "overhead".
    name : str
        Name of the kernel, link or host; else empty. An empty kernel is user code.
    kernel : str or None
        Kernel that is better on a host; empty: user code; None: all computing, or no host.
    level : int
        Depth of nesting: 0 for a part of the whole run.
    makespan_s : float
        Makespan with that part better; of contention: without it.
    share : float
        Share of the makespan that the part bounds.
    joins : str
        Nodes that a link joins, for people; empty: not known.
    """

    part: str
    name: str
    kernel: str | None
    level: int
    makespan_s: float
    share: float
    joins: str = ""

    @property
    def words(self) -> str:
        """Words for the part: "the network's latency"."""
        if self.part in _WORDS:
            return _WORDS[self.part].format(self.joins or self.name)
        work = _work_words(self.name if self.part == "kernel" else self.kernel)
        return work if self.part == "kernel" else f"{work} on host {self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Bounds(Result):
    """Bounds of a run, by its parts.

    Attributes
    ----------
    makespan_s : float
        The run's.
    bounds : sequence of Bound
        Parts of the run, each followed by its own parts; parts of one whole by falling share.
    remarks : sequence of str
        Remarks for readers.
    """

    makespan_s: float
    bounds: Sequence[Bound]
    remarks: Sequence[str]

    def table(self) -> str:
        """Summary in words, and a table of the parts that bound 0.1 % or more."""
        wholes = [bound for bound in self.bounds if not bound.level][:_IN_THE_HEAD]
        words = "; ".join(self._whole_words(whole) for whole in wholes if whole.share >= _SMALLEST_SHARE)
        head = f"{format_time(self.makespan_s)} are bound by {words or 'nothing that is known'}"
        rows = [
            (
                f"{round(row.share, 3) + 0.0:.1%}",
                format_time(row.makespan_s),
                "  " * row.level + (f"without {row.words}" if row.part == "contention" else f"{row.words} 10 % better"),
            )
            for row in self.shown
        ]
        table = text_table(("bounds", "makespan", "with"), rows, n_words=1)
        if any(row.level for row in self.shown):
            table += "\n  (an indented part is one of the part above it)"
        return "\n\n".join([f"{head}\n{table}", *self.remarks])

    @property
    def shown(self) -> Sequence[Bound]:
        """Parts of 0.1 % or more, and parts that contain such parts."""
        rows: list[Bound] = []
        for bound in reversed(self.bounds):
            if bound.share >= _SHOWN_SHARE or (rows and rows[-1].level > bound.level):
                rows.append(bound)
        return rows[::-1]

    def _whole_words(self, whole: Bound) -> str:
        """A part and its share, and the largest parts of it: "computing: 42 % (kernel dgemm 41 %)"."""
        large = [
            f"{part.words} {100 * part.share:.0f} %"
            for part in self._parts_of(whole)
            if part.share >= max(_LARGE_PART * whole.share, _SMALLEST_SHARE)
        ]
        return f"{whole.words}: {100 * whole.share:.0f} %" + (f" ({', '.join(large)})" if large else "")

    def _parts_of(self, whole: Bound) -> Iterator[Bound]:
        for part in self.bounds[self.bounds.index(whole) + 1 :]:
            if part.level <= whole.level:
                return
            if part.level == whole.level + 1:
                yield part

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the result."""
        return {
            "makespan_s": self.makespan_s,
            "bounds": [{**asdict(bound), "words": bound.words} for bound in self.bounds],
            "remarks": list(self.remarks),
        }

    def plot(self) -> Figure:
        """The shares, as bars."""
        graph = import_optional("plotly.graph_objects")
        shown = self.shown[::-1]
        names = ["\u2003" * bound.level + plotly_text(bound.words) for bound in shown]
        bars = graph.Bar(x=[bound.share for bound in shown], y=names, orientation="h")
        figure = graph.Figure(bars)
        figure.update_layout(title="What bounds the run", yaxis_automargin=True, xaxis_tickformat=".0%")
        return figure


def _work_words(kernel: str | None) -> str:
    """Words for computing; `smpy.execute` names no kernel of its own."""
    if kernel is None:
        return "computing"
    return MODELLED if kernel == _EXECUTE else f"kernel {kernel}" if kernel else USER_CODE


def bounds(
    trace: Trace,
    replay: ReplayFunction,
    *,
    is_other_machine: bool = False,
    n_links: int = 3,
    n_hosts: int = 3,
    progress: Callable[[str], None] | None = None,
) -> Bounds:
    """Find the bounds of a run.

    Parameters
    ----------
    trace : Trace
        All of the run.
    replay : ReplayFunction
        Performs the trace again, once for each part.
    is_other_machine : bool
        Whether `replay` performs it on another machine than that of the run: then its makespan is that of a replay.
    n_links, n_hosts : int
        Numbers of links, those saturated longest, and of hosts of each kernel, those that computed it longest.
    progress : callable, optional
        Called with the name of the next step.

    Raises
    ------
    UsageError
        If the trace cannot be replayed.
    """
    check_whole(trace, "be replayed")
    # a real run is not its replay, and a run on another machine is one
    makespan_s = replay(trace).makespan_s if trace.is_imported or is_other_machine else trace.makespan_s
    skipped_s = read_timeline(trace, with_messages=False).skipped_s()
    search = _Search(trace, replay, progress or (lambda _: None), [], makespan_s, skipped_s, link_labels(trace))
    work = _work(trace)
    computing = search.branch("computing", parts=lambda whole: _computing_parts(search, whole, work, n_hosts))
    devices = [search.branch(part) for part in ("device", "device_link")] if uses_devices(trace) else []
    latency = search.branch("latency")
    bandwidth = search.branch("bandwidth", parts=lambda _: _bandwidth_parts(search, n_links))
    overhead = search.branch("overhead")
    parts = [part for branch in _by_share([computing, *devices, latency, bandwidth, overhead]) for part in branch]
    remarks = list(not_awaited(search.replays))
    anomalies = [part.words for part in parts if part.share <= -_SHOWN_SHARE]
    if anomalies:
        remarks.append(f"The run takes longer with {', '.join(anomalies)} better: a scheduling anomaly.")
    if skipped_s:
        remarks.append(skipped_words(skipped_s, makespan_s, "shares are of"))
    if depends_on_time(trace):
        remarks.append("The program received from any source, or polled: replays repeat its choices.")
    return Bounds(makespan_s, parts, remarks)


Branch = list[Bound]
"""A part, followed by its parts."""


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Searches for bounds: performs replays and keeps their results."""

    trace: Trace
    replay: ReplayFunction
    progress: Callable[[str], None]
    replays: list[Replayed]
    makespan_s: float
    skipped_s: float
    link_labels: dict[str, str]

    def branch(
        self,
        part: str,
        name: str = "",
        kernel: str | None = None,
        level: int = 0,
        parts: Callable[[Bound], Iterator[Branch]] = lambda _: iter(()),
    ) -> Branch:
        """Bound of a part, by a replay; then its parts by falling share."""
        self.progress(" ".join(filter(None, (part, name, kernel))))
        if part == "contention":
            again, scale = self.replay(self.trace, ideal=("contention",)), 1.0
        else:
            again, scale = self.replay(self.trace, better=(_better(part, name, kernel),)), 1 - 1 / FACTOR
        self.replays.append(again)
        share = (self.makespan_s - again.makespan_s) / (self.makespan_s - self.skipped_s) / scale
        joins = self.link_labels.get(name, "") if part == "link" else ""
        whole = Bound(part, name, kernel, level, again.makespan_s, share, joins)
        return [whole, *(part for branch in _by_share(parts(whole)) for part in branch)]


def _better(part: str, name: str, kernel: str | None) -> Better:
    if part == "kernel":
        return part, name, FACTOR
    if part == "host" and kernel is not None:
        return "kernel", kernel, name, FACTOR
    return (part, name, FACTOR) if name else (part, FACTOR)


def _by_share(branches: Iterable[Branch]) -> list[Branch]:
    return sorted(branches, key=lambda branch: -round(branch[0].share, _DIGITS))


def _computing_parts(search: _Search, whole: Bound, work: _Work, n_hosts: int) -> Iterator[Branch]:
    if moves_memory(search.trace):
        yield from (search.branch(part, level=1) for part in ("cores", "core_memory", "memory"))
    if list(work.kernels) == [""]:
        yield from _hosts(search, whole, work, None, n_hosts)
        return
    for kernel in work.kernels:
        yield search.branch(
            "kernel", kernel, level=1, parts=lambda bound: _hosts(search, bound, work, bound.name, n_hosts)
        )


def _hosts(search: _Search, whole: Bound, work: _Work, kernel: str | None, n_hosts: int) -> Iterator[Branch]:
    """Bounds of a kernel, or of all computing, on each of the hosts that compute it longest."""
    if whole.share < _SPLIT_SHARE:
        return
    seconds = work.kernels[kernel or ""]
    for host in np.argsort(-seconds, kind="stable")[: n_hosts if work.hosts else 0].tolist():
        if seconds[host] > 0:
            yield search.branch("host", work.hosts[host], kernel, whole.level + 1)


def _bandwidth_parts(search: _Search, n_links: int) -> Iterator[Branch]:
    yield search.branch("contention", level=1)
    yield from (search.branch("link", name, level=1) for name in hottest_links(search.trace)[:n_links])


class _Work(NamedTuple):
    """Computing of a run: names of the hosts, empty if unknown, and seconds of each kernel by host."""

    hosts: list[str]
    kernels: dict[str, NDArray[np.float64]]


def _work(trace: Trace) -> _Work:
    """Computing of a run by kernel, the longest first; the empty name stands for computing outside kernels."""
    timeline = read_timeline(trace, with_messages=False)
    hosts = list(dict.fromkeys(trace.host_of_rank))  # numbers, in a large run
    column_of = {host: column for column, host in enumerate(hosts)}
    host_of_rank = np.array([column_of[host] for host in trace.host_of_rank])
    names = ((trace.info.get("profile") or {}).get("hosts") or {}).get("host", hosts)
    computes = timeline.kind == COMPUTE
    kernels = [place.call if place.is_kernel else "" for place in timeline.places]
    row_of = {kernel: row for row, kernel in enumerate(dict.fromkeys(kernels))}
    row = np.array([row_of[kernel] for kernel in kernels])[timeline.place[computes]]
    shape = len(row_of), len(hosts)
    cell = row * len(hosts) + host_of_rank[timeline.rank[computes]]
    seconds = np.bincount(cell, weights=timeline.duration_s()[computes], minlength=shape[0] * shape[1]).reshape(shape)
    total_s = seconds.sum(axis=1)
    computing = [kernel for kernel in row_of if total_s[row_of[kernel]] > 0]
    longest = sorted(computing, key=lambda kernel: -total_s[row_of[kernel]])[:_KERNELS]
    by_kernel = {kernel: seconds[row_of[kernel]] for kernel in longest}
    return _Work(names if len(names) == len(hosts) else [], by_kernel)
