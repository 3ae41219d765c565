"""Where two runs differ: the time of all their ranks, by call, line and kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.result import Result, needed
from smpy.analysis.timeline import KINDS, Place, read_timeline
from smpy.records.text_table import text_table
from smpy.units import format_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

_ROWS_SHOWN: Final = 20
_ROUNDING: Final = 1e-9  # of the ranks' time: tables leave out what differs by less


class Difference(NamedTuple):
    """What a line of the program has of both runs.

    Attributes
    ----------
    place : Place
        The line.
    kind : str
        What time went to, of `KINDS`.
    before_s, after_s : float
        Seconds of all ranks.
    """

    place: Place
    kind: str
    before_s: float
    after_s: float

    @property
    def seconds(self) -> float:
        """How much more the second run has."""
        return self.after_s - self.before_s


@dataclass(frozen=True, slots=True)
class RunTotals:
    """One of the runs.

    Attributes
    ----------
    name : str
        Its folder.
    n_ranks : int
        Of it.
    makespan_s : float
        Its.
    rank_seconds : float
        The time of all its ranks, the time after their ends included.
    """

    name: str
    n_ranks: int
    makespan_s: float
    rank_seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Result):
    """Where two runs differ.

    Attributes
    ----------
    before, after : RunTotals
        The runs.
    differences : sequence of Difference
        The largest first; together the difference of both runs' rank-seconds.
    """

    before: RunTotals
    after: RunTotals
    differences: Sequence[Difference]

    def table(self) -> str:
        """Both runs; then what differs by call, line and kind."""
        runs = (self.before, self.after)
        rows = [(format_time(it.makespan_s), f"{it.n_ranks:,}", format_time(it.rank_seconds), it.name) for it in runs]
        head = text_table(("makespan", "ranks", "of all ranks", "run"), rows, n_words=1)
        rounding_s = _ROUNDING * max(self.before.rank_seconds, self.after.rank_seconds)
        different = [it for it in self.differences if abs(it.seconds) > rounding_s]
        total = _signed(self.after.rank_seconds - self.before.rank_seconds)
        if not different:
            return f"{head}\n\nBoth spend the same time in every line"
        lines = [
            (
                _signed(it.seconds),
                format_time(it.before_s),
                format_time(it.after_s),
                it.kind.replace("_", " "),
                it.place.call or "(own)",
                it.place.where,
            )
            for it in different[:_ROWS_SHOWN]
        ]
        table = text_table(("difference", "before", "after", "kind", "call", "line"), lines, n_words=3)
        left = len(different) - _ROWS_SHOWN
        more = f"\n  ... {left:,} more: --json has them all" if left > 0 else ""
        return f"{head}\n\nAll ranks: {total}\n{table}{more}"

    def to_record(self) -> dict[str, Any]:
        """As JSON has it."""

        def run(it: RunTotals) -> dict[str, Any]:
            return {"run": it.name, "ranks": it.n_ranks, "makespan_s": it.makespan_s, "rank_seconds": it.rank_seconds}

        return {
            "before": run(self.before),
            "after": run(self.after),
            "differences": [
                {**it.place.to_record(), "kind": it.kind, "before_s": it.before_s, "after_s": it.after_s}
                for it in self.differences
            ],
        }

    def plot(self) -> Figure:
        """The largest differences, as bars."""
        graph = needed("plotly.graph_objects")
        shown = [it for it in self.differences if it.seconds][:_ROWS_SHOWN][::-1]
        names = [f"{it.kind.replace('_', ' ')}, {it.place.text}" for it in shown]
        figure = graph.Figure(graph.Bar(x=[it.seconds for it in shown], y=names, orientation="h"))
        figure.update_layout(title="Difference", xaxis_title="seconds of all ranks", yaxis_automargin=True)
        return figure


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else ''}{format_time(seconds)}"


def compare(before: Trace, after: Trace) -> Comparison:
    """Compare two runs of a program.

    Parameters
    ----------
    before, after : Trace
        Of the runs; lines are the same if file, number and call are.

    Raises
    ------
    UsageError
        If one has no intervals, or without pyarrow.
    """
    first, one = _by_place(before)
    second, other = _by_place(after)
    differences = [
        Difference(place, KINDS[kind], one.get((place, kind), 0.0), other.get((place, kind), 0.0))
        for place, kind in {**one, **other}
    ]
    return Comparison(first, second, sorted(differences, key=lambda it: -abs(it.seconds)))


def _by_place(trace: Trace) -> tuple[RunTotals, dict[tuple[Place, int], float]]:
    timeline = read_timeline(trace, with_messages=False)
    key = timeline.place.astype(np.int64) * len(KINDS) + timeline.kind
    seconds = np.bincount(key, weights=timeline.duration_s(), minlength=len(timeline.places) * len(KINDS))
    spent = {
        (timeline.places[i // len(KINDS)], i % len(KINDS)): float(seconds[i]) for i in np.flatnonzero(seconds).tolist()
    }
    totals = RunTotals(str(trace.folder), trace.n_ranks, trace.makespan_s, sum(spent.values()))
    return totals, spent
