"""What bounds a run: how much shorter it would be were a part of the machine 10 % better, found by replay.

Let T be the makespan, and T' that of the replay with a part 1.1 times better: latencies of links 1 / 1.1 of what they
are, bandwidths 1.1 times; calls and polls, computing, a kernel, or the computing of a host in 1 / 1.1 of the time. If
all of T were that part, T' would be T / 1.1; the share that the part bounds is how much of that the run gains:

    share = (T - T') / T / (1 - 1 / 1.1)

Contention is no quantity that could be 1.1 times better: of it the share is (T - T_0) / T, with T_0 of the replay whose
messages do not share links, as if each tenth of it saved as much as another one. Shares of parts that work at the same
time, or in each other's place, need not add up to 100 %; a share below 0 is a scheduling anomaly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.analysis.replays import Better, Replay, Replayed, check_can_replay, depends_on_time, not_awaited
from smpy.analysis.result import Result, needed
from smpy.analysis.timeline import COMPUTE, read_timeline
from smpy.records.text_table import text_table
from smpy.units import format_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

FACTOR: Final = 1.1
_KERNELS: Final = 20
_DIGITS: Final = 9  # of a share: those that differ by less are in the order in which they were found
_IN_THE_HEAD: Final = 3
_SMALLEST_SHARE: Final = 0.005
_WHOLE: Final[tuple[tuple[str, str], ...]] = (
    ("computing", "computing"),
    ("latency", "the network's latency"),
    ("bandwidth", "the network's bandwidth"),
    ("overhead", "the overhead of MPI's calls"),
)


@dataclass(frozen=True, slots=True)
class Bound:
    """How much a part bounds a run.

    Attributes
    ----------
    part : str
        "latency", "bandwidth", "contention", "overhead", "computing", "kernel", "link" or "host".
    name : str
        Of the kernel, link or host; else empty.
    makespan_s : float
        With that part better; of contention: without it.
    share : float
        That it bounds.
    """

    part: str
    name: str
    makespan_s: float
    share: float

    @property
    def words(self) -> str:
        """For people: "the network's latency"."""
        named = {"kernel": "kernel ", "link": "the bandwidth of link ", "host": "computing on host "}
        if self.part in named:
            return named[self.part] + self.name
        return dict(_WHOLE).get(self.part, "contention in the network")


@dataclass(frozen=True, slots=True, eq=False)
class Bounds(Result):
    """What bounds a run.

    Attributes
    ----------
    makespan_s : float
        The run's.
    bounds : sequence of Bound
        The largest share first.
    remarks : sequence of str
        What a reader should know.
    """

    makespan_s: float
    bounds: Sequence[Bound]
    remarks: Sequence[str]

    def table(self) -> str:
        """In words, and as a table."""
        largest = [it for it in self.bounds[:_IN_THE_HEAD] if it.share >= _SMALLEST_SHARE]
        words = "; ".join(f"{it.words}: {100 * it.share:.0f} %" for it in largest)
        head = f"{format_time(self.makespan_s)} are bound by {words or 'nothing that is known'}"
        rows = [
            (
                f"{it.share:.1%}",
                format_time(it.makespan_s),
                f"without {it.words}" if it.part == "contention" else f"{it.words} 10 % better",
            )
            for it in self.bounds
        ]
        return "\n\n".join([f"{head}\n{text_table(('bounds', 'makespan', 'with'), rows, n_words=1)}", *self.remarks])

    def to_record(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "makespan_s": self.makespan_s,
            "bounds": [{**asdict(it), "words": it.words} for it in self.bounds],
            "remarks": list(self.remarks),
        }

    def plot(self) -> Figure:
        """The shares, as bars."""
        graph = needed("plotly.graph_objects")
        shown = self.bounds[::-1]
        bars = graph.Bar(x=[it.share for it in shown], y=[it.words for it in shown], orientation="h")
        figure = graph.Figure(bars)
        figure.update_layout(title="What bounds the run", yaxis_automargin=True, xaxis_tickformat=".0%")
        return figure


def bounds(
    trace: Trace,
    replay: Replay,
    *,
    n_links: int = 3,
    n_hosts: int = 3,
    told: Callable[[str], None] | None = None,
) -> Bounds:
    """Find what bounds a run.

    Parameters
    ----------
    trace : Trace
        All of the run.
    replay : Replay
        What performs it again, once for each part.
    n_links, n_hosts : int
        How many are looked at: links that were saturated longest, hosts that computed longest.
    told : callable, optional
        Called with what is done next.

    Raises
    ------
    UsageError
        If the trace cannot be replayed.
    """
    check_can_replay(trace)
    before_s, found = trace.makespan_s, []
    replays: list[Replayed] = []
    for part, name in _parts(trace, n_links, n_hosts):
        if told is not None:
            told(f"{part} {name}".rstrip())
        if part == "contention":
            replays.append(replay(trace, ideal=("contention",)))
            scale = 1.0
        else:
            better: Better = (part, name, FACTOR) if name else (part, FACTOR)
            replays.append(replay(trace, better=(better,)))
            scale = 1 - 1 / FACTOR
        after_s = replays[-1].makespan_s
        found.append(Bound(part, name, after_s, (before_s - after_s) / before_s / scale))
    remarks = list(not_awaited(replays))
    if depends_on_time(trace):
        remarks.append("The program took what came first, or looked in vain: replays do as it did.")
    return Bounds(before_s, sorted(found, key=lambda it: -round(it.share, _DIGITS)), remarks)


def _parts(trace: Trace, n_links: int, n_hosts: int) -> Iterator[tuple[str, str]]:
    yield from ((part, "") for part, _ in _WHOLE)
    yield "contention", ""
    yield from (("kernel", name) for name in _kernels(trace))
    profile = trace.info.get("profile") or {}
    links, hosts = profile.get("links"), profile.get("hosts")
    if links:
        heat = zip(links["saturated_s"], links["busy_s"], links["link"], strict=True)
        hottest = sorted(heat, key=lambda it: (-it[0], -it[1]))
        yield from (("link", name) for _, busy_s, name in hottest[:n_links] if busy_s > 0)
    if hosts:
        slowest = sorted(zip(hosts["compute_s"], hosts["host"], strict=True), key=lambda it: -it[0])
        yield from (("host", name) for compute_s, name in slowest[:n_hosts] if compute_s > 0)


def _kernels(trace: Trace) -> list[str]:
    """Those that computed, the longest first."""
    timeline = read_timeline(trace, with_messages=False)
    computes = timeline.kind == COMPUTE
    by_place = np.bincount(
        timeline.place[computes], weights=timeline.duration_s()[computes], minlength=len(timeline.places)
    )
    total_s: dict[str, float] = {}
    for place, seconds in zip(timeline.places, by_place.tolist(), strict=True):
        if place.is_kernel and seconds > 0:
            total_s[place.call] = total_s.get(place.call, 0.0) + seconds
    return sorted(total_s, key=lambda name: -total_s[name])[:_KERNELS]
