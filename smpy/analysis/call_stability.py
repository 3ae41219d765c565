"""Stability of a program's calls: whether its ranks make them in the same order whatever the noise.

A replay performs the calls of one run in its order. The run of a program on another machine makes the same calls in the
same order if nothing that it does depends on time. Runs that differ in noise alone show it. Stability is the length of
the longest common subsequence of the calls of two runs, over their number, of each rank or of each line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.call_events import CallEvents, read_call_events
from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.errors import UsageError
from smpy.records.text_table import text_table

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

STABLE: Final = 0.99
"""Below this share of calls in the same order a program depends on time."""

_ROWS_SHOWN: Final = 20


class LineStability(NamedTuple):
    """Stability of a call in a line.

    Attributes
    ----------
    call : str
        Such as "Recv".
    line : str
        Such as "farm.py:12".
    n_calls : int
        Number of calls of all ranks, in the mean over the runs.
    stability : float
        Share of them that come in the same order, among the calls of this line.
    """

    call: str
    line: str
    n_calls: float
    stability: float


@dataclass(frozen=True, slots=True, eq=False)
class Stability(Result):
    """Shares of calls that come in the same order in several runs.

    Attributes
    ----------
    traces : sequence of str
        The runs.
    stability : float
        Share of the calls of all ranks, in the mean over the runs, each compared with the first.
    by_run : sequence of float
        The same of each run but the first.
    by_rank : sequence of float
        The same of each rank, in the mean over the runs; NaN: it makes no calls.
    lines : sequence of LineStability
        The same of each line, the least stable first.
    """

    traces: Sequence[str]
    stability: float
    by_run: Sequence[float]
    by_rank: Sequence[float]
    lines: Sequence[LineStability]

    @property
    def is_stable(self) -> bool:
        """Whether replays on other machines do what the program would do there."""
        return self.stability >= STABLE

    def table(self) -> str:
        """Stability, its meaning, and the lines whose calls differ."""
        if self.stability == 1:
            advice = "the order of calls does not depend on time: replays may change the machine freely"
        elif self.is_stable:
            advice = "few calls depend on time: replays on other machines are close to runs there"
        else:
            advice = "the order of calls depends on time: run the program again on another machine, do not replay it"
        head = f"Stability: {self.stability:.4g} of {len(self.traces)} runs: {advice}"
        rows = [
            (f"{row.stability:.4f}", f"{row.n_calls:,.0f}", row.call, row.line)
            for row in self.lines[:_ROWS_SHOWN]
            if row.stability < 1
        ]
        if not rows:
            return head
        ranks = np.array(self.by_rank)
        worst = int(np.nanargmin(ranks))
        which = f"  least stable: rank {worst}, {ranks[worst]:.4f}"
        return f"{head}\n{which}\n{text_table(('stability', 'calls', 'call', 'line'), rows, n_words=2)}"

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the result."""
        return {
            "traces": list(self.traces),
            "stability": self.stability,
            "is_stable": self.is_stable,
            "by_run": list(self.by_run),
            "by_rank": [None if share != share else share for share in self.by_rank],
            "lines": [row._asdict() for row in self.lines],
        }

    def plot(self) -> Figure:
        """Stability of each line, as bars, the least stable first."""
        graph = import_optional("plotly.graph_objects")
        shown = self.lines[:_ROWS_SHOWN][::-1]
        names = [plotly_text(f"{row.call} {row.line}".strip()) for row in shown]
        figure = graph.Figure(graph.Bar(x=[row.stability for row in shown], y=names, orientation="h"))
        figure.update_layout(title="Stability", xaxis_title="share of calls in the same order", xaxis_range=[0, 1])
        figure.update_yaxes(automargin=True)
        return figure


def stability(traces: Sequence[Trace]) -> Stability:
    """Compare the order of calls of several runs of a program.

    Parameters
    ----------
    traces : sequence of Trace
        Two runs or more, which differ in noise; each is compared with the first.

    Raises
    ------
    UsageError
        If there are fewer than two, they are of different programs or numbers of ranks, or make no calls.
    """
    if len(traces) < 2:
        raise UsageError("stability compares runs: name two traces or more, of runs that differ in --seed")
    first = traces[0]
    for other in traces[1:]:
        for name, what in (("program", "program"), ("ranks", "number of ranks")):
            if other.info[name] != first.info[name]:
                raise UsageError(
                    f"{first.folder} and {other.folder} are of a different {what}: "
                    f"{first.info[name]} and {other.info[name]}; stability compares runs of one program"
                )
    labels: dict[str, int] = {}
    runs = [_Run(trace, labels) for trace in traces]
    ranks, lines = (_compared(runs, by_line=by_line) for by_line in (False, True))
    if not ranks.n_calls.any():
        raise UsageError(f"{first.folder} and the others make no calls: there is nothing to compare")
    names = [label for label, _ in sorted(labels.items(), key=lambda each: each[1])]
    rows = [
        LineStability(*_split(names[number]), float(lines.n_calls[number]), float(lines.stability[number]))
        for number in np.flatnonzero(lines.n_calls)
    ]
    return Stability(
        traces=[str(trace.folder) for trace in traces],
        stability=float(np.mean(ranks.by_run)),
        by_run=ranks.by_run,
        by_rank=ranks.stability.tolist(),
        lines=sorted(rows, key=lambda row: (row.stability, -row.n_calls)),
    )


def _split(label: str) -> tuple[str, str]:
    call, _, line = label.partition(" ")
    return call, line


class _Run:
    """The calls of a run as numbers, with the same numbers for equal calls of all runs."""

    def __init__(self, trace: Trace, labels: dict[str, int]) -> None:
        events: CallEvents = read_call_events(trace)
        number_of = np.array([labels.setdefault(label, len(labels)) for label in trace.labels])
        self.first = events.first
        self.label = number_of[events.label]
        self.calls = np.stack([self.label, events.comm, events.peer, events.tag, events.bytes], axis=1)

    def of(self, rank: int) -> slice:
        return slice(int(self.first[rank]), int(self.first[rank + 1]))


class _Compared(NamedTuple):
    by_run: list[float]
    stability: NDArray[np.float64]  # of each rank, or line; NaN: no calls
    n_calls: NDArray[np.float64]


def _compared(runs: Sequence[_Run], *, by_line: bool) -> _Compared:
    """Stability of each rank; or of each line, whose calls are compared rank by rank."""
    n_ranks = len(runs[0].first) - 1
    n_rows = 1 + max(int(run.label.max(initial=-1)) for run in runs) if by_line else n_ranks
    common, longest = np.zeros((2, len(runs) - 1, n_rows))
    for number, run in enumerate(runs[1:]):
        for rank in range(n_ranks):
            ours, theirs = runs[0].of(rank), run.of(rank)
            one, other = _as_numbers(runs[0].calls[ours], run.calls[theirs])
            if not by_line:
                common[number, rank] = common_length(one, other)
                longest[number, rank] = max(len(one), len(other))
                continue
            its, others = runs[0].label[ours], run.label[theirs]
            for label in np.union1d(its, others).tolist():
                mine, yours = one[its == label], other[others == label]
                common[number, label] += common_length(mine, yours)
                longest[number, label] += max(len(mine), len(yours))
    whole = np.maximum(longest.sum(axis=1), 1)
    with np.errstate(invalid="ignore"):
        return _Compared(
            (common.sum(axis=1) / whole).tolist(), common.sum(axis=0) / longest.sum(axis=0), longest.mean(axis=0)
        )


def _as_numbers(one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows as numbers, equal where the rows are."""
    _, number = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
    number = number.reshape(-1)
    return number[: len(one)], number[len(one) :]


def common_length(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """Length of the longest common subsequence of two sequences of numbers, by the bits of a large integer [1]_.

    A zero at bit i says that the common subsequence with the first i + 1 numbers is one longer than with the first i.

    References
    ----------
    .. [1] Hyyrö: "Bit-parallel LCS-length computation revisited", AWOCA 2004.

    Examples
    --------
    >>> common_length(np.array([1, 2, 3, 4]), np.array([2, 4, 3]))
    2
    """
    n_shortest = min(len(one), len(other))
    differs = np.flatnonzero(one[:n_shortest] != other[:n_shortest])
    n_begin = int(differs[0]) if len(differs) else n_shortest
    one, other = one[n_begin:], other[n_begin:]
    n_shortest -= n_begin
    differs = np.flatnonzero(one[::-1][:n_shortest] != other[::-1][:n_shortest])
    n_end = int(differs[0]) if len(differs) else n_shortest
    one, other = one[: len(one) - n_end], other[: len(other) - n_end]
    if not len(one) or not len(other):
        return n_begin + n_end
    places: dict[int, int] = {}
    order = np.argsort(one, kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(one[order])) + 1):
        bits = np.zeros(len(one), np.uint8)
        bits[mine] = 1
        places[int(one[mine[0]])] = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
    ones = (1 << len(one)) - 1
    row = ones
    for number in other.tolist():
        matched = row & places.get(number, 0)
        if matched:
            row = ((row + matched) | (row - matched)) & ones
    return n_begin + n_end + len(one) - row.bit_count()
