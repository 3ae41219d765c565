"""Differences of two runs by call, line and kind: on their critical paths, and in the time of all ranks.

Each critical path adds up to its run's makespan, so the differences on them add up to that of the makespans. The sums
over all ranks add up to the ranks' time, of which many may wait for one: they differ by many times as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.computing_lines import ComputingLines
from smpy.analysis.path_analysis import critical_path
from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.analysis.timeline import COMPUTE, KINDS, Place, read_timeline
from smpy.records.text_table import text_table
from smpy.records.time_words import kind_words
from smpy.units import format_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

_ROWS_SHOWN: Final = 20
_ROUNDING: Final = 1e-9  # share of the time: tables leave out smaller differences


_Spent = dict[tuple[Place, str], float]
"""Seconds by line and kind."""


class Difference(NamedTuple):
    """Time of a line of the program in both runs.

    Attributes
    ----------
    place : Place
        The line.
    kind : str
        Kind of time, of `KINDS`.
    before_s, after_s : float
        Seconds on the critical path, or of all ranks.
    """

    place: Place
    kind: str
    before_s: float
    after_s: float

    @property
    def seconds(self) -> float:
        """Seconds by which the second run's time is longer."""
        return self.after_s - self.before_s


@dataclass(frozen=True, slots=True)
class RunTotals:
    """One of the runs.

    Attributes
    ----------
    name : str
        Its folder.
    n_ranks : int
        Number of its ranks.
    makespan_s : float
        Makespan of it.
    rank_seconds : float
        The time of all its ranks, the time after their ends included, and of their threads.
    has_threads : bool
        Whether its ranks had threads.
    """

    name: str
    n_ranks: int
    makespan_s: float
    rank_seconds: float
    has_threads: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Result):
    """Differences of two runs, by call, line and kind.

    Attributes
    ----------
    before, after : RunTotals
        The runs.
    on_path : sequence of Difference
        Differences on the critical paths, the largest first; together the difference of the makespans.
    differences : sequence of Difference
        Differences of all ranks, the largest first; together the difference of both runs' rank-seconds.
    """

    before: RunTotals
    after: RunTotals
    on_path: Sequence[Difference]
    differences: Sequence[Difference]

    def table(self) -> str:
        """Both runs; then differences by call, line and kind: on the critical path, and summed over all ranks."""
        runs = (self.before, self.after)
        rows = [
            (format_time(run.makespan_s), f"{run.n_ranks:,}", format_time(run.rank_seconds), run.name) for run in runs
        ]
        whose = "all ranks and threads" if any(run.has_threads for run in runs) else "all ranks"
        head = text_table(("makespan", "ranks", f"of {whose}", "run"), rows, n_words=1)
        if not self._shown(self.differences, "rank_seconds"):
            return f"{head}\n\nBoth spend the same time in every line"
        longer = _signed(sum(each.seconds for each in self.on_path))
        total = _signed(self.after.rank_seconds - self.before.rank_seconds)
        path = self._lines(self._shown(self.on_path, "makespan_s"))
        sums = self._lines(self._shown(self.differences, "rank_seconds"))
        return f"{head}\n\nOn the critical path: {longer}\n{path}\n\nSummed over {whose}: {total}\n{sums}"

    def _shown(self, differences: Sequence[Difference], total: str) -> list[Difference]:
        """Differences above rounding."""
        rounding_s = _ROUNDING * max(getattr(self.before, total), getattr(self.after, total))
        return [each for each in differences if abs(each.seconds) > rounding_s]

    def _lines(self, different: Sequence[Difference]) -> str:
        if not different:
            return "  nothing differs"
        lines = [
            (
                _signed(difference.seconds),
                format_time(difference.before_s),
                format_time(difference.after_s),
                kind_words(difference.kind, difference.place.call),
                difference.place.what,
                difference.place.where,
            )
            for difference in different[:_ROWS_SHOWN]
        ]
        table = text_table(("difference", "before", "after", "kind", "call", "line"), lines, n_words=3)
        left = len(different) - _ROWS_SHOWN
        return table + (f"\n  ... {left:,} more: --json has them all" if left > 0 else "")

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the result."""

        def run(totals: RunTotals) -> dict[str, Any]:
            return {
                "run": totals.name,
                "ranks": totals.n_ranks,
                "makespan_s": totals.makespan_s,
                "rank_seconds": totals.rank_seconds,
            }

        def rows(differences: Sequence[Difference]) -> list[dict[str, Any]]:
            return [
                {
                    **each.place.to_record(),
                    "function": each.place.function or None,
                    "kind": each.kind,
                    "before_s": each.before_s,
                    "after_s": each.after_s,
                }
                for each in differences
            ]

        return {
            "before": run(self.before),
            "after": run(self.after),
            "on_path": rows(self.on_path),
            "differences": rows(self.differences),
        }

    def plot(self) -> Figure:
        """The largest differences, as bars: on the critical path, with the sums over all ranks beside them."""
        graph = import_optional("plotly.graph_objects")
        from plotly.subplots import make_subplots

        titles = ("seconds on the critical path", "seconds summed over all ranks")
        figure = make_subplots(rows=2, subplot_titles=titles)
        for row, differences in enumerate((self.on_path, self.differences), 1):
            shown = [each for each in differences if each.seconds][:_ROWS_SHOWN][::-1]
            names = [plotly_text(f"{kind_words(each.kind, each.place.call)}, {each.place.text}") for each in shown]
            figure.add_trace(graph.Bar(x=[each.seconds for each in shown], y=names, orientation="h"), row=row, col=1)
        figure.update_layout(title="Differences", showlegend=False, height=900)
        figure.update_yaxes(automargin=True)
        return figure


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else ''}{format_time(seconds)}"


def compare(before: Trace, after: Trace) -> Comparison:
    """Compare two runs of a program.

    Parameters
    ----------
    before, after : Trace
        The runs; lines are the same if file, number and call, or function, are.

    Raises
    ------
    UsageError
        If one has no intervals, or without pyarrow.
    """
    first, one = _by_place(before)
    second, other = _by_place(after)
    return Comparison(first, second, _differences(_on_path(before), _on_path(after)), _differences(one, other))


def _differences(one: _Spent, other: _Spent) -> list[Difference]:
    """Differences by line and kind, the largest first."""
    differences = [
        Difference(place, kind, one.get((place, kind), 0.0), other.get((place, kind), 0.0))
        for place, kind in {**one, **other}
    ]
    return sorted(differences, key=lambda each: -abs(each.seconds))


def _on_path(trace: Trace) -> _Spent:
    return {(row.place, row.kind): row.seconds for row in critical_path(trace).rows}


def _by_place(trace: Trace) -> tuple[RunTotals, _Spent]:
    timeline = read_timeline(trace, with_messages=False)
    key = timeline.place.astype(np.int64) * len(KINDS) + timeline.kind
    seconds = np.bincount(key, weights=timeline.duration_s(), minlength=len(timeline.places) * len(KINDS))
    lines = ComputingLines(trace)
    spent: _Spent = {}
    for i in np.flatnonzero(seconds).tolist():
        place, kind = timeline.places[i // len(KINDS)], i % len(KINDS)
        parts = lines.split(place, float(seconds[i])) if kind == COMPUTE else [(place, float(seconds[i]))]
        for line, part_s in parts:
            spent[line, KINDS[kind]] = spent.get((line, KINDS[kind]), 0.0) + part_s
    totals = RunTotals(
        str(trace.folder), trace.n_ranks, trace.makespan_s, sum(spent.values()), has_threads=timeline.has_threads
    )
    return totals, spent
