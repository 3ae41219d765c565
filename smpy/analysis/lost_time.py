"""Lost time: rank-seconds of a run by cause, each instant of each rank once.

P ranks that take T have P x T rank-seconds. Computing is no loss; each other rank-second has a cause [1]_, [2]_:

=========================  ==========================================================================================
load imbalance             a rank waits, sleeps or has ended, while two ranks or more compute
insufficient parallelism   the same, while one rank computes, or none
synchronisation            a rank waits in a barrier, a fence, a lock, or a send that must see its receive
communication              overheads of calls, polls, files, and messages under way
contention                 the part of messages that they would not take alone on their links; and of kernels, that
                           they would not take alone on their hosts
skipped                    iterations whose time was added, and not simulated
=========================  ==========================================================================================

Departures from the papers: a wait for the last rank of four that compute 10, 20, 30 and 40 ms is imbalance for 30 ms
and insufficient parallelism for 30 ms, as only one rank computes from 30 ms on. A barrier that no call names, such as
the `Wait` of an `Ibarrier`, is not synchronisation. Computing on a core that ranks share is computing, unless a remark
of the run says how long its kernel takes alone.

References
----------
.. [1] Crovella, LeBlanc: "Parallel performance prediction using lost cycles analysis", Supercomputing 1994.
.. [2] Meira, LeBlanc, Poulos: "Waiting time analysis and performance visualization in Carnival", SPDT 1996.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.computing_lines import ComputingLines
from smpy.analysis.messages import contention_of_transfers, read_messages
from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.analysis.spans import merge_spans
from smpy.analysis.timeline import COMPUTE, KINDS, LATE, Place, Timeline, read_timeline
from smpy.errors import UsageError
from smpy.records.text_table import text_table
from smpy.units import format_time

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

CATEGORIES: Final = (
    "computing",
    "load_imbalance",
    "insufficient_parallelism",
    "synchronisation",
    "communication",
    "contention",
    "skipped",
)
"""Categories of rank-seconds; together they are all of them."""

_COMPUTING, _IMBALANCE, _SERIAL, _SYNCHRONISATION, _COMMUNICATION, _CONTENTION, _SKIPPED = range(len(CATEGORIES))
_WAITING: Final = _IMBALANCE  # or `_SERIAL`, by the number of ranks that compute
_CATEGORY_OF_KIND: Final[Mapping[str, int]] = {
    "compute": _COMPUTING,
    "sleep": _WAITING,
    "overhead": _COMMUNICATION,
    "polling": _COMMUNICATION,
    "probing": _COMMUNICATION,
    "io": _COMMUNICATION,
    "device": _COMPUTING,
    "transfer": _COMMUNICATION,
    "late_sender": _WAITING,
    "late_receiver": _WAITING,
    "late_members": _WAITING,
    "idle": _WAITING,
    "skipped": _SKIPPED,
}
_SYNCHRONISING: Final = frozenset(
    {"barrier", "ssend", "fence", "lock", "lock_all", "unlock", "unlock_all", "flush", "flush_all", "start", "complete"}
)
"""Calls, in small letters, in which a rank waits for others and for nothing else."""

_ENDED: Final = "ended ranks"
_ROUNDING: Final = 1e-9  # of the rank-seconds
_ROWS_SHOWN: Final = 20
_SMALLEST_SHARE: Final = 0.0005  # of the rank-seconds: the table leaves smaller rows out


class LostRow(NamedTuple):
    """Rank-seconds of a category in a line of the program.

    Attributes
    ----------
    place : Place
        The line; empty after the end of ranks.
    category : str
        One of `CATEGORIES`.
    seconds : float
        Rank-seconds.
    """

    place: Place
    category: str
    seconds: float

    @property
    def what(self) -> str:
        """Call in tables, or the words for ranks that have ended."""
        has_ended = self.category != "computing" and not (self.place.call or self.place.file)
        return _ENDED if has_ended else self.place.what


@dataclass(frozen=True, slots=True, eq=False)
class LostTime(Result):
    """Rank-seconds of a run by category, in all and by line.

    Attributes
    ----------
    n_ranks : int
        Number of ranks of the run.
    time_s : float
        Its makespan, or the length of the window that its trace has.
    seconds : mapping of str to float
        Rank-seconds of each of `CATEGORIES`; they add up to `n_ranks` times `time_s`.
    rows : sequence of LostRow
        The same by line, the largest first.
    run_eur : float or None
        Cost of the run; None: not known.
    """

    n_ranks: int
    time_s: float
    seconds: Mapping[str, float]
    rows: Sequence[LostRow]
    run_eur: float | None

    @property
    def rank_seconds(self) -> float:
        """Number of ranks times the makespan."""
        return self.n_ranks * self.time_s

    @property
    def lost_s(self) -> float:
        """Rank-seconds in which nothing was computed."""
        return self.rank_seconds - self.seconds["computing"] - self.seconds["skipped"]

    def eur(self, seconds: float) -> float | None:
        """Share of rank-seconds in the cost of the run; None: not known."""
        return None if self.run_eur is None else self.run_eur * seconds / self.rank_seconds

    def table(self) -> str:
        """Categories, the largest first; then categories by line."""
        whole = f"{format_time(self.lost_s)} of {format_time(self.rank_seconds)}"
        cost = f"{_eur_text(self.eur(self.lost_s))} EUR of {_eur_text(self.run_eur)}"
        costs = "" if self.run_eur is None else f", {cost}"
        ranks = f"{self.n_ranks:,} rank{'s' * (self.n_ranks != 1)} x {format_time(self.time_s)}"
        head = f"Lost: {whole}, {self.lost_s / self.rank_seconds:.1%}{costs} ({ranks})"
        largest = sorted(self.seconds.items(), key=lambda each: -each[1])
        above_rounding = [each for each in largest if each[1] > _ROUNDING * self.rank_seconds]
        categories = [(*self._cells(seconds), _words(name)) for name, seconds in above_rounding]
        columns = ("time", "share", *["EUR"] * (self.run_eur is not None), "category")
        shown = [row for row in self.rows if row.seconds >= _SMALLEST_SHARE * self.rank_seconds]
        lines = [
            (*self._cells(row.seconds), _words(row.category), row.what, row.place.where) for row in shown[:_ROWS_SHOWN]
        ]
        by_line = text_table((*columns, "call", "line"), lines, n_words=3)
        n_left = len(self.rows) - len(lines)
        left = f"\n  ... {n_left:,} more: --json has them all" if n_left else ""
        return f"{head}\n{text_table(columns, categories, n_words=1)}\n\nBy line\n{by_line}{left}"

    def _cells(self, seconds: float) -> tuple[str, ...]:
        costs = [] if self.run_eur is None else [_eur_text(self.eur(seconds))]
        return (format_time(seconds), f"{seconds / self.rank_seconds:.1%}", *costs)

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the result."""
        return {
            "ranks": self.n_ranks,
            "makespan_s": self.time_s,
            **{f"{name}_s": seconds for name, seconds in self.seconds.items()},
            "run_eur": self.run_eur,
            "lost_eur": self.eur(self.lost_s),
            "lines": [
                {
                    **row.place.to_record(),
                    "function": row.place.function or None,
                    "category": row.category,
                    "seconds": row.seconds,
                    "eur": self.eur(row.seconds),
                }
                for row in self.rows
            ],
        }

    def plot(self) -> Figure:
        """Rank-seconds of the costliest lines, as bars with a colour for each category."""
        graph = import_optional("plotly.graph_objects")
        shown = self.rows[:_ROWS_SHOWN]
        figure = graph.Figure()
        for category in CATEGORIES:
            rows = [row for row in shown if row.category == category]
            if rows:
                names = [plotly_text(f"{row.what} {row.place.where}".rstrip()) for row in rows]
                bars = graph.Bar(x=[row.seconds for row in rows], y=names, orientation="h", name=_words(category))
                figure.add_trace(bars)
        figure.update_layout(title="Lost time", barmode="stack", xaxis_title="rank-seconds", yaxis_automargin=True)
        figure.update_yaxes(autorange="reversed", categoryorder="total descending")
        return figure


def _words(category: str) -> str:
    return category.replace("_", " ")


def _eur_text(eur: float | None) -> str:
    return "" if eur is None else f"{eur:,.2f}" if eur >= 0.1 else f"{eur:.2g}"


def lost(trace: Trace, run_eur: float | None = None) -> LostTime:
    """Divide the rank-seconds of a run among computing and the causes of its losses.

    Parameters
    ----------
    trace : Trace
        Trace of the run, with all its ranks.
    run_eur : float, optional
        Cost of the run, of which each category has its share.

    Returns
    -------
    LostTime
        Categories add up to the number of ranks times the makespan.

    Raises
    ------
    UsageError
        If the trace has no intervals, or some ranks only, or without pyarrow.
    """
    if trace.info["trace"].get("ranks") is not None:
        raise UsageError(
            f"{trace.folder} has some ranks only, and a loss depends on how many compute: "
            "record the run without --trace-ranks"
        )
    timeline = read_timeline(trace)
    pieces = _pieces(timeline)
    category, duration_s = pieces.category, pieces.end_s - pieces.start_s
    serial_s = np.where(category == _WAITING, duration_s - _parallel_s(pieces), 0.0)
    share = _contention_share(trace, timeline)[pieces.interval]
    contention_s = np.where(category == _COMMUNICATION, share * duration_s, 0.0)
    place, n_places = np.append(timeline.place, 0)[pieces.interval], len(timeline.places)
    key, n_cells = place.astype(np.int64) * len(CATEGORIES) + category, n_places * len(CATEGORIES)
    cells_s = np.bincount(key, duration_s - serial_s - contention_s, n_cells)
    spent_s = cells_s.reshape(n_places, len(CATEGORIES)).astype(np.float64)
    spent_s[:, _SERIAL] += np.bincount(place, serial_s, n_places)
    spent_s[:, _CONTENTION] += np.bincount(place, contention_s, n_places)
    _move_shared_computing(trace, timeline.places, spent_s)
    return LostTime(
        n_ranks=timeline.n_ranks,
        time_s=timeline.time_s,
        seconds=dict(zip(CATEGORIES, spent_s.sum(axis=0).tolist(), strict=True)),
        rows=_rows(timeline.places, spent_s, ComputingLines(trace)),
        run_eur=run_eur,
    )


class _Pieces(NamedTuple):
    """Parts of the ranks' time; those of a rank tile the whole run."""

    rank: NDArray[np.int32]
    interval: NDArray[np.int64]  # -1: before a rank's first interval, or after its last
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    category: NDArray[np.int8]  # `_WAITING` is not yet divided


def _pieces(timeline: Timeline) -> _Pieces:
    """Intervals of the ranks' own programs, gaps around them, and parts in which threads of a waiting rank compute."""
    first, n_own = timeline.first[: timeline.n_ranks + 1], int(timeline.first[timeline.n_ranks])
    begin_s, end_s = timeline.start_s.min(), timeline.end_s.max()
    is_there = np.diff(first) > 0
    enters_s, leaves_s = np.full((2, timeline.n_ranks), end_s)
    enters_s[is_there] = timeline.start_s[first[:-1][is_there]]
    leaves_s[is_there] = timeline.end_s[first[1:][is_there] - 1]
    before, after = np.flatnonzero(enters_s > begin_s), np.flatnonzero(leaves_s < end_s)
    category_of_kind = np.array([_CATEGORY_OF_KIND[kind] for kind in KINDS], np.int8)
    n_gaps = len(before) + len(after)
    pieces = _Pieces(
        np.concatenate([timeline.rank[:n_own], before, after]).astype(np.int32),
        np.concatenate([np.arange(n_own), np.full(n_gaps, -1)]),
        np.concatenate([timeline.start_s[:n_own], np.full(len(before), begin_s), leaves_s[after]]),
        np.concatenate([timeline.end_s[:n_own], enters_s[before], np.full(len(after), end_s)]),
        np.concatenate([category_of_kind[timeline.kind[:n_own]], np.full(n_gaps, _WAITING, np.int8)]),
    )
    synchronises = np.array([place.call.lower() in _SYNCHRONISING for place in timeline.places])
    is_late = np.isin(timeline.kind[:n_own], LATE) & synchronises[timeline.place[:n_own]]
    pieces.category[:n_own][is_late] = _SYNCHRONISATION
    return _with_threads(timeline, pieces) if timeline.has_threads else pieces


def _with_threads(timeline: Timeline, pieces: _Pieces) -> _Pieces:
    """Pieces cut where threads of their rank begin and end to compute; a rank computes when one of its threads does."""
    n_own = int(timeline.first[timeline.n_ranks])
    computes = np.flatnonzero(timeline.kind[n_own:] == COMPUTE) + n_own
    rank_of = timeline.rank[computes]
    cut = []
    for rank in range(timeline.n_ranks):
        mine = np.flatnonzero(pieces.rank == rank)
        mine = mine[np.argsort(pieces.start_s[mine], kind="stable")]
        threads = computes[rank_of == rank]
        if not len(threads):
            cut.append(_Pieces._make(column[mine] for column in pieces))
            continue
        spans = merge_spans(timeline.start_s[threads], timeline.end_s[threads])
        start_s = np.sort(np.concatenate([pieces.start_s[mine], spans.ravel()]), kind="stable")
        part = mine[np.searchsorted(pieces.start_s[mine], start_s, side="right") - 1]
        in_span = np.searchsorted(spans[:, 0], start_s, "right") > np.searchsorted(spans[:, 1], start_s, "right")
        end_s = np.append(start_s[1:], pieces.end_s[mine[-1]])
        category = np.where(in_span, _COMPUTING, pieces.category[part]).astype(np.int8)
        cut.append(_Pieces(pieces.rank[part], pieces.interval[part], start_s, end_s, category))
    return _Pieces._make(np.concatenate(columns) for columns in zip(*cut, strict=True))


def _parallel_s(pieces: _Pieces) -> NDArray[np.float64]:
    """Part of each piece in which two ranks or more compute, or skip iterations."""
    is_busy = np.isin(pieces.category, (_COMPUTING, _SKIPPED))
    n_busy = int(is_busy.sum())
    date_s = np.concatenate([pieces.start_s[is_busy], pieces.end_s[is_busy]])
    order = np.argsort(date_s, kind="stable")
    change = np.repeat([1, -1], n_busy)[order]
    date_s = date_s[order]
    if not n_busy:
        return np.zeros(len(pieces.rank))
    is_parallel = np.cumsum(change)[:-1] >= 2  # between a date and the next
    until_s = np.concatenate([[0.0], np.cumsum(np.where(is_parallel, np.diff(date_s), 0.0))])
    parallel_s = np.interp(pieces.end_s, date_s, until_s) - np.interp(pieces.start_s, date_s, until_s)
    within_s: NDArray[np.float64] = np.minimum(np.maximum(parallel_s, 0.0), pieces.end_s - pieces.start_s)
    return within_s


def _contention_share(trace: Trace, timeline: Timeline) -> NDArray[np.float64]:
    """Share of each interval that contention in the network added to it; the last item is of no interval."""
    interval, seconds = contention_of_transfers(timeline, read_messages(trace))
    share = np.zeros(len(timeline.kind) + 1)
    share[interval] = seconds / timeline.duration_s()[interval]
    return share


def _move_shared_computing(trace: Trace, places: Sequence[Place], spent_s: NDArray[np.float64]) -> None:
    """Count the excess of kernels over their time alone on their hosts, from remarks of the run, as contention."""
    for remark in trace.info.get("remarks") or ():
        if remark["topic"] != "shared hosts":
            continue
        for name, kernel in remark["kernels"].items():
            its = [number for number, place in enumerate(places) if place.is_kernel and place.call == name]
            excess_s = spent_s[its, _COMPUTING] * (1 - kernel["alone_s"] / kernel["seconds"])
            spent_s[its, _COMPUTING] -= excess_s
            spent_s[its, _CONTENTION] += excess_s


def _rows(places: Sequence[Place], spent_s: NDArray[np.float64], lines: ComputingLines) -> list[LostRow]:
    total_s: dict[tuple[Place, str], float] = {}
    for number, category in np.argwhere(spent_s > 0).tolist():
        place, seconds = places[number], float(spent_s[number, category])
        for line, part_s in lines.split(place, seconds) if category == _COMPUTING else [(place, seconds)]:
            total_s[line, CATEGORIES[category]] = total_s.get((line, CATEGORIES[category]), 0.0) + part_s
    largest = sorted(total_s.items(), key=lambda each: -each[1])
    return [LostRow(place, category, seconds) for (place, category), seconds in largest]
