"""Phases of a run: blocks of calls that its ranks repeat, found without marks in the program.

The method is PAS2P's [1]_, on the calls of a trace. A call is known by its line, the size of its communicator, the
distance of its partner and the class of its size. Repeated blocks are found in the calls of rank 0 (`find_repeats`),
and looked up on the others by a call, or kernel, of the block that all ranks make equally often. A phase is a block
whose repetitions agree, in calls and in computing within 15 %, in 80 % of all cases. The rest of the run is one phase
more, of weight 1. The run is predicted from its phases:

    predicted = sum ET W       sequential = sum W c       speed-up = sequential / predicted

with the weight W, the number of repetitions; ET, the mean time of a repetition on rank 0, but the first; and c, the
computing of all ranks in one. An inner loop is no part of an outer one. Only phases of 1 % of the run's time or
computing count.

Departures from the paper: the rest that does not repeat is a phase; the calls of rank 0 alone make the pattern; ET is a
mean, as a median leaves out the extra time of a few long repetitions.

References
----------
.. [1] Wong, Rexachs, Luque: "Parallel application signature for performance analysis and prediction", IEEE TPDS 26 (7),
   2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.call_events import POSTED
from smpy.analysis.call_repeats import RepeatedBlocks, find_repeats
from smpy.analysis.phase_rows import PhaseRows, read_phase_rows
from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.errors import UsageError
from smpy.records.text_table import text_table
from smpy.records.whole_runs import check_performed, check_whole
from smpy.units import format_time

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

RELEVANT_SHARE: Final = 0.01
"""Phases of a smaller share of the makespan, and of the computing, do not count."""

_AGREE: Final = 0.8
_NEAR: Final = 0.15
_LINES_SHOWN: Final = 3
_PERFORMED: Final = (1, 2, 3)  # repetitions of a signature, from 0


@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """A block of calls that the ranks repeat, or the rest of the run.

    Attributes
    ----------
    lines : tuple of str
        Calls of the block with their lines, in order; empty: the rest of the run.
    weight : int
        Number of repetitions.
    time_s : float
        Time of a repetition, on rank 0.
    computing_s : float
        Computing of all ranks in a repetition.
    share : float
        Part of the makespan.
    agreement : float
        Share of repetitions, of all ranks, that agree.
    is_relevant : bool
        Whether it counts in predictions.
    repetitions : tuple of tuple of tuple of (int, int)
        Actions of each rank in the second to the fourth repetition: the first, and the one after the last, of each
        range; the phase that does not repeat has one repetition.
    """

    lines: tuple[str, ...]
    weight: int
    time_s: float
    computing_s: float
    share: float
    agreement: float
    is_relevant: bool
    repetitions: tuple[tuple[tuple[tuple[int, int], ...], ...], ...]

    @property
    def text(self) -> str:
        """Lines of the phase in tables."""
        if not self.lines:
            return "what does not repeat"
        left = len(self.lines) - _LINES_SHOWN
        return ", ".join(self.lines[:_LINES_SHOWN]) + (f", and {left} more" if left > 0 else "")


@dataclass(frozen=True, slots=True, eq=False)
class Phases(Result):
    """Phases of a run, and the prediction from them.

    Attributes
    ----------
    n_ranks : int
        Number of ranks of the run.
    makespan_s : float
        Its makespan.
    phases : sequence of Phase
        The largest first.
    """

    n_ranks: int
    makespan_s: float
    phases: Sequence[Phase]

    @property
    def relevant(self) -> list[Phase]:
        """Phases that count."""
        return [phase for phase in self.phases if phase.is_relevant]

    @property
    def predicted_s(self) -> float:
        """Predicted execution time: repetitions times their time."""
        return sum(phase.weight * phase.time_s for phase in self.relevant)

    @property
    def sequential_s(self) -> float:
        """Predicted computing of all ranks together."""
        return sum(phase.weight * phase.computing_s for phase in self.relevant)

    @property
    def computing_s(self) -> float:
        """Predicted computing of a rank, in the mean."""
        return self.sequential_s / self.n_ranks

    @property
    def speedup(self) -> float:
        """Sequential over predicted execution time."""
        return self.sequential_s / self.predicted_s if self.predicted_s else 0.0

    @property
    def efficiency(self) -> float:
        """Speed-up over the number of ranks."""
        return self.speedup / self.n_ranks

    @property
    def coverage(self) -> float:
        """Part of the makespan that the relevant phases are."""
        return self.predicted_s / self.makespan_s

    def table(self) -> str:
        """Phases, and the prediction beside the run."""
        rows = [
            (
                f"{phase.weight:,}",
                format_time(phase.time_s),
                format_time(phase.computing_s),
                f"{phase.share:.1%}",
                f"{phase.agreement:.0%}",
                phase.text,
            )
            for phase in self.relevant
        ]
        n_small = len(self.phases) - len(rows)
        small = f"\n  {n_small:,} more of less than {RELEVANT_SHARE:.0%} each do not count" if n_small else ""
        n_repeated = sum(bool(phase.lines) for phase in self.relevant)
        covered = f"{self.coverage:.1%} of {format_time(self.makespan_s)}"
        head = f"Phases: {n_repeated} that repeat; relevant ones cover {covered}"
        columns = ("weight", "time", "computing", "share", "agreement", "lines")
        facts = [
            f"  predicted   {format_time(self.predicted_s)}; the run took {format_time(self.makespan_s)}",
            f"  computing   {format_time(self.sequential_s)} of all ranks, {format_time(self.computing_s)} of each",
            f"  speed-up    {self.speedup:.4g} on {self.n_ranks:,} ranks, efficiency {self.efficiency:.1%}",
        ]
        return "\n".join([f"{head}\n{text_table(columns, rows, n_words=1)}{small}", *facts])

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the result."""
        return {
            "ranks": self.n_ranks,
            "makespan_s": self.makespan_s,
            "phases": [
                {
                    "lines": list(phase.lines),
                    "weight": phase.weight,
                    "time_s": phase.time_s,
                    "computing_s": phase.computing_s,
                    "share": phase.share,
                    "agreement": phase.agreement,
                    "is_relevant": phase.is_relevant,
                }
                for phase in self.phases
            ],
            "predicted_s": self.predicted_s,
            "sequential_s": self.sequential_s,
            "computing_s": self.computing_s,
            "speedup": self.speedup,
            "efficiency": self.efficiency,
            "coverage": self.coverage,
        }

    def plot(self) -> Figure:
        """Time of the relevant phases, as bars."""
        graph = import_optional("plotly.graph_objects")
        shown = self.relevant[::-1]
        names = [plotly_text(f"{phase.weight:,} x {phase.text}") for phase in shown]
        bars = graph.Bar(x=[phase.weight * phase.time_s for phase in shown], y=names, orientation="h")
        figure = graph.Figure(bars)
        figure.update_layout(title="Phases", xaxis_title="seconds of rank 0")
        figure.update_yaxes(automargin=True)
        return figure


def phases(trace: Trace) -> Phases:
    """Find the phases of a run.

    Parameters
    ----------
    trace : Trace
        Trace with dates, and with all that its ranks did; of a run, or imported.

    Raises
    ------
    UsageError
        If the trace has no dates, a part of the run only, or nothing that repeats; or without pyarrow.
    """
    check_whole(trace, "have phases")
    check_performed(trace, "have phases")
    makespan_s = trace.makespan_s
    if makespan_s <= 0:
        raise UsageError(f"{trace.folder}: no simulated time passed in the run: it has no phases")
    rows = read_phase_rows(trace)
    of_0 = np.flatnonzero(rows.is_call[: rows.first[1]])
    repeats = find_repeats(rows.code[of_0])
    finder = _Occurrences(rows)
    candidates = [
        candidate
        for number in range(len(repeats.runs))
        if (candidate := _candidate(rows, finder, of_0, repeats, number)) and candidate.weight > 1
    ]
    kept = [each for each in candidates if each.agreement >= _AGREE]
    if not kept:
        raise UsageError(f"{trace.folder}: the calls of its ranks do not repeat: there are no phases to find")
    owner = _owner(rows, kept)
    duration_s = np.diff(rows.date_s)
    mine = owner[: rows.first[1]]
    before_s = float(rows.date_s[0]) if rows.first[1] else makespan_s
    total_s = np.bincount(owner + 1, rows.computing_s, len(kept) + 1)
    every_phase = [
        _phase(trace, rows, each, owner, number, float(total_s[number + 1])) for number, each in enumerate(kept)
    ]
    rest_s = float(duration_s[mine < 0].sum()) + before_s
    rest = tuple(_ranges(rows, owner, -1, rank, *rows.first[rank : rank + 2].tolist()) for rank in range(rows.n_ranks))
    share, computing_s = rest_s / makespan_s, float(total_s[0])
    is_relevant = _is_relevant(share, computing_s, rows)
    every_phase.append(Phase((), 1, rest_s, computing_s, share, 1.0, is_relevant, (rest,)))
    return Phases(trace.n_ranks, makespan_s, sorted(every_phase, key=lambda phase: -phase.share))


class _Occurrences:
    """Rows of each label on each rank; labels that all ranks have equally often; and sums over rows."""

    def __init__(self, rows: PhaseRows) -> None:
        n_labels = int(rows.label.max(initial=0)) + 1
        rank = np.repeat(np.arange(rows.n_ranks), np.diff(rows.first))
        key = rank * n_labels + rows.label
        del rank
        counts = np.bincount(key, minlength=rows.n_ranks * n_labels)
        self._begin = np.append(0, np.cumsum(counts))
        self._order = np.argsort(key, kind="stable").astype(np.int32 if len(key) < 2**31 else np.int64)
        self._n_labels = n_labels
        counts = counts.reshape(rows.n_ranks, n_labels)
        self.sums = _Sums.of(rows)
        self.is_common = (counts == counts[0]).all(axis=0) & (counts[0] > 0)

    def of(self, rank: int, label: int) -> NDArray[np.int64]:
        """Indices of the rows of a rank that have a label."""
        at = rank * self._n_labels + label
        return self._order[self._begin[at] : self._begin[at + 1]].astype(np.int64)


class _Candidate(NamedTuple):
    """A block, with its repetitions on each rank."""

    labels: list[int]
    weight: int
    starts: list[list[NDArray[np.int64]]]  # [ranks][runs]: the row at which each repetition begins, and the end
    agreement: float


class _Anchor(NamedTuple):
    """A row of a block that all ranks have equally often, and by which its repetitions are found on all of them."""

    label: int
    picks: list[NDArray[np.int64]]  # of each run: which of the occurrences begin a repetition
    lengths: list[int]  # of each run: rows of a repetition
    is_end: bool = False  # whether it ends repetitions, in place of beginning them


def _candidate(
    rows: PhaseRows, finder: _Occurrences, of_0: NDArray[np.int64], repeats: RepeatedBlocks, number: int
) -> _Candidate | None:
    """A repeated block of rank 0, looked up on all ranks; None: it has no row that all of them have equally often."""
    runs = repeats.runs[number]
    is_own = repeats.owner[runs[0].starts[0] : runs[0].starts[1]] == number
    calls = rows.label[of_0[runs[0].starts[0] : runs[0].starts[1]]][is_own]
    labels = list(dict.fromkeys(calls.tolist()))
    best: _Candidate | None = None
    for anchor in _anchors(rows, finder, of_0, repeats, number):
        starts = [_starts(rows, finder, anchor, rank) for rank in range(rows.n_ranks)]
        each = _Candidate(labels, sum(map(len, anchor.picks)), starts, _agreement(finder.sums, starts))
        if best is None or each.agreement > best.agreement:
            best = each
    return best


def _starts(rows: PhaseRows, finder: _Occurrences, anchor: _Anchor, rank: int) -> list[NDArray[np.int64]]:
    """Rows at which the repetitions of each run begin on a rank, and the end of the last."""
    where, starts = finder.of(rank, anchor.label), []
    for pick, length in zip(anchor.picks, anchor.lengths, strict=True):
        at = where[pick] + anchor.is_end
        step = int(np.median(np.diff(at))) if len(at) > 1 else length
        if len(at) and anchor.is_end:
            at = np.append(max(int(at[0]) - step, int(rows.first[rank])), at)
        elif len(at):
            at = np.append(at, min(int(at[-1]) + step, int(rows.first[rank + 1])))
        starts.append(at)
    return starts


def _anchors(
    rows: PhaseRows, finder: _Occurrences, of_0: NDArray[np.int64], repeats: RepeatedBlocks, number: int
) -> list[_Anchor]:
    """Rows of a block that all ranks have equally often, the best ones for a cut first.

    A collective that ends the block parts the repetitions of all ranks, whatever else they do. Else the row counts that
    most repetitions have; computing belongs to the call after it, or to that before it.
    """
    runs, every = repeats.runs[number], np.arange(int(rows.first[1]))
    cuts = (
        (np.append(0, of_0 + 1), np.searchsorted(of_0, every)),
        (np.append(of_0, len(every)), np.searchsorted(of_0, every, side="right") - 1),
    )
    anchors: list[_Anchor] = []
    last = [of_0[run.starts[1:] - 1] for run in runs]
    label = int(rows.label[last[0][0]])
    if rows.kind[last[0][0]] == POSTED.index("collective") and finder.is_common[label]:
        lengths = [int(np.median(np.diff(cuts[0][0][run.starts]))) for run in runs]
        picks = [np.searchsorted(finder.of(0, label), ends) for ends in last]
        anchors.append(_Anchor(label, picks, lengths, is_end=True))
    best, most = None, 0
    for bounds, call in cuts:
        second = np.arange(*bounds[runs[0].starts[1:3]])
        is_own = np.append(repeats.owner, -1)[call[second]] == number
        for label in dict.fromkeys(rows.label[second[is_own]].tolist()):
            if not finder.is_common[label]:
                continue
            first_in = [np.searchsorted(finder.of(0, label), bounds[run.starts]) for run in runs]
            picks = [at[:-1][np.diff(at) > 0] for at in first_in]
            if sum(map(len, picks)) > most:
                lengths = [int(np.median(np.diff(bounds[run.starts]))) for run in runs]
                best, most = _Anchor(label, picks, lengths), sum(map(len, picks))
    return [*anchors, *([best] if best else [])]


class _Sums(NamedTuple):
    """Sums over the rows before each row: of hashes of calls, and of computing."""

    calls: NDArray[np.uint64]
    computing_s: NDArray[np.float64]

    @classmethod
    def of(cls, rows: PhaseRows) -> _Sums:
        calls, computing_s = np.zeros(len(rows.code) + 1, np.uint64), np.zeros(len(rows.code) + 1)
        words = calls[1:]
        np.multiply(rows.code.view(np.uint64), np.uint64(0x9E3779B97F4A7C15), out=words)
        words ^= words >> np.uint64(29)
        words[~rows.is_call] = 0
        words *= np.uint64(0xBF58476D1CE4E5B9)
        np.cumsum(words, out=words)
        np.cumsum(rows.computing_s, out=computing_s[1:])
        return cls(calls, computing_s)


def _agreement(sums: _Sums, starts: Sequence[Sequence[NDArray[np.int64]]]) -> float:
    """Share of repetitions of all ranks, but the last of each run, that are like most of their rank."""
    until, until_s = sums
    n_alike = n_all = 0
    for of_rank in starts:
        pairs = [(run[:-2], run[1:-1]) for run in of_rank if len(run) > 2]
        if not pairs:
            continue
        low, high = (np.concatenate(column) for column in zip(*pairs, strict=True))
        _, which, counts = np.unique(until[high] - until[low], return_inverse=True, return_counts=True)
        computing_s = until_s[high] - until_s[low]
        usual_s = float(np.median(computing_s))
        is_near = np.abs(computing_s - usual_s) <= _NEAR * usual_s + 1e-9
        n_alike += int(((which.reshape(-1) == np.argmax(counts)) & is_near).sum())
        n_all += len(low)
    return n_alike / n_all if n_all else 1.0


def _owner(rows: PhaseRows, kept: Sequence[_Candidate]) -> NDArray[np.int32]:
    """Phase of each row, the innermost one; -1: none."""
    owner = np.full(len(rows.label), -1, np.int32)
    for number in reversed(range(len(kept))):
        for of_rank in kept[number].starts:
            for run in of_rank:
                if len(run):
                    owner[run[0] : run[-1]] = number
    return owner


def _phase(
    trace: Trace, rows: PhaseRows, each: _Candidate, owner: NDArray[np.int32], number: int, computing_s: float
) -> Phase:
    is_own = owner[: rows.first[1]] == number
    until_s = np.concatenate([[0.0], np.cumsum(np.where(is_own, np.diff(rows.date_s), 0.0))])
    repetitions_s = np.concatenate([np.diff(until_s[run]) for run in each.starts[0] if len(run)])
    time_s = float(np.mean(repetitions_s[1:]))
    share = each.weight * time_s / trace.makespan_s
    longest = int(np.argmax([len(run) for run in each.starts[0]]))
    repetitions = tuple(
        tuple(
            _ranges(rows, owner, number, rank, *each.starts[rank][longest][at : at + 2].tolist())
            for rank in range(rows.n_ranks)
        )
        for at in _PERFORMED
        if at + 1 < len(each.starts[0][longest])
    )
    return Phase(
        lines=tuple(trace.labels[label] for label in each.labels),
        weight=each.weight,
        time_s=time_s,
        computing_s=computing_s / each.weight,
        share=share,
        agreement=each.agreement,
        is_relevant=_is_relevant(share, computing_s, rows),
        repetitions=repetitions,
    )


def _is_relevant(share: float, computing_s: float, rows: PhaseRows) -> bool:
    return bool(share >= RELEVANT_SHARE or computing_s >= RELEVANT_SHARE * rows.computing_s.sum() > 0)


def _ranges(
    rows: PhaseRows, owner: NDArray[np.int32], number: int, rank: int, low: int, high: int
) -> tuple[tuple[int, int], ...]:
    """Actions of a rank between two rows that belong to a phase; those before its first row do not repeat."""
    mine = low + np.flatnonzero(owner[low:high] == number)
    begins = np.flatnonzero(np.diff(mine, prepend=-2) > 1)
    ends = np.append(begins[1:], len(mine)) - 1
    after = np.append(rows.row[int(rows.first[rank]) + 1 : int(rows.first[rank + 1])], rows.n_actions[rank])
    first = rows.row[mine[begins]] if len(mine) else np.empty(0, np.int64)
    last = after[mine[ends] - rows.first[rank]] if len(mine) else np.empty(0, np.int64)
    ranges = list(zip(first.tolist(), last.tolist(), strict=True))
    if number < 0:
        head = int(rows.row[rows.first[rank]]) if rows.first[rank] < rows.first[rank + 1] else int(rows.n_actions[rank])
        ranges = [(0, head), *ranges] if head else ranges
    return tuple(ranges)
