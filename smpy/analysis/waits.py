"""The waits of a run, and what they are due to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.analysis.causes import causes_of_waits
from smpy.analysis.result import Result, escaped, needed
from smpy.analysis.timeline import KINDS, LATE, Place, Timeline, read_timeline
from smpy.records.text_table import text_table
from smpy.units import format_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

_ROWS_SHOWN: Final = 20
_ROUNDING: Final = 1e-9  # of all waits: tables leave out what is less
_BARS: Final = 30


@dataclass(frozen=True, slots=True)
class Wait:
    """The waits of a rank in a line.

    Attributes
    ----------
    rank : int
        Who waited.
    place : Place
        Where.
    kind : {"late_sender", "late_receiver", "late_members"}
        For what.
    seconds : float
        Together.
    count : int
        How many waits.
    """

    rank: int
    place: Place
    kind: str
    seconds: float
    count: int


@dataclass(frozen=True, slots=True)
class Cause:
    """What let others wait.

    Attributes
    ----------
    rank : int
        Who delayed others.
    place : Place
        Where.
    kind : str
        With what, of `KINDS`; a kind of wait: who was waited for is not known.
    seconds : float
        How long others waited because of it.
    """

    rank: int
    place: Place
    kind: str
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Waits(Result):
    """The waits of a run, and what they are due to.

    Attributes
    ----------
    rank_seconds : float
        The time of all ranks together.
    waits : sequence of Wait
        The longest first.
    causes : sequence of Cause
        The largest first; together as long as the waits.
    """

    rank_seconds: float
    waits: Sequence[Wait]
    causes: Sequence[Cause]

    @property
    def seconds(self) -> float:
        """All waits together."""
        return sum(it.seconds for it in self.waits)

    def table(self) -> str:
        """Waits by line, and their causes; each with the rank that has most of it."""
        whole_s = self.seconds
        if not whole_s:
            return "No rank waited for another one"
        share = f"{whole_s / self.rank_seconds:.1%} of the ranks' time"
        return (
            f"Waits: {format_time(whole_s)}, {share}\n{self._waits_table()}\n\nTheir causes\n{self._causes_by_line()}"
        )

    def to_record(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "rank_seconds": self.rank_seconds,
            "wait_s": self.seconds,
            "waits": [
                {"rank": it.rank, **it.place.to_record(), "kind": it.kind, "seconds": it.seconds, "count": it.count}
                for it in self.waits
            ],
            "causes": [
                {"rank": it.rank, **it.place.to_record(), "kind": it.kind, "seconds": it.seconds} for it in self.causes
            ],
        }

    def plot(self) -> Figure:
        """The largest causes, as bars."""
        graph = needed("plotly.graph_objects")
        largest = self.causes[:_BARS][::-1]
        names = [escaped(f"rank {it.rank}: {it.kind.replace('_', ' ')}, {it.place.text}") for it in largest]
        figure = graph.Figure(graph.Bar(x=[it.seconds for it in largest], y=names, orientation="h"))
        figure.update_layout(title="Causes of waits", xaxis_title="seconds that others waited", yaxis_automargin=True)
        return figure

    def _waits_table(self) -> str:
        by_place: dict[tuple[Place, str], list[Wait]] = {}
        for it in self.waits:
            by_place.setdefault((it.place, it.kind), []).append(it)
        groups = sorted(by_place.items(), key=lambda group: -sum(it.seconds for it in group[1]))
        rows = []
        for (place, kind), group in groups[:_ROWS_SHOWN]:
            seconds = sum(it.seconds for it in group)
            count, most = sum(it.count for it in group), max(group, key=lambda it: it.seconds).rank
            name = kind.replace("_", " ")
            shares = (format_time(seconds), f"{seconds / self.seconds:.1%}", f"{count:,}", f"{most}")
            rows.append((*shares, name, place.call or "(own)", place.where))
        head = ("time", "share", "waits", "most on rank", "kind", "call", "line")
        return text_table(head, rows, n_words=3) + _left(len(groups))

    def _causes_by_line(self) -> str:
        by_place: dict[tuple[Place, str], list[Cause]] = {}
        for it in self.causes:
            by_place.setdefault((it.place, it.kind), []).append(it)
        groups = sorted(by_place.items(), key=lambda group: -sum(it.seconds for it in group[1]))
        groups = [group for group in groups if sum(it.seconds for it in group[1]) > _ROUNDING * self.seconds]
        rows = []
        for (place, kind), group in groups[:_ROWS_SHOWN]:
            seconds, most = sum(it.seconds for it in group), max(group, key=lambda it: it.seconds)
            shares = (format_time(seconds), f"{seconds / self.seconds:.1%}", f"{len(group):,}", f"{most.rank}")
            of_most = f"{most.seconds / self.seconds:.1%}"
            rows.append((*shares, of_most, kind.replace("_", " "), place.call or "(own)", place.where))
        head = ("time", "share", "ranks", "most by rank", "its share", "kind", "call", "line")
        return text_table(head, rows, n_words=3) + _left(len(groups))


def _left(n_rows: int) -> str:
    return f"\n  ... {n_rows - _ROWS_SHOWN:,} more: --json has them all" if n_rows > _ROWS_SHOWN else ""


def waits(trace: Trace) -> Waits:
    """Sum up the waits of a run, and find their causes.

    Parameters
    ----------
    trace : Trace
        Of the run.

    Returns
    -------
    Waits
        Waits and causes add up to the same.

    Raises
    ------
    UsageError
        If the trace has no intervals, or without pyarrow.

    Notes
    -----
    `causes` says how blame is passed on.
    """
    timeline = read_timeline(trace, with_messages=False)
    found = causes_of_waits(timeline)
    largest = np.argsort(-found.seconds, kind="stable")
    columns = (column[largest].tolist() for column in (found.rank, found.place, found.kind, found.seconds))
    return Waits(
        rank_seconds=float(timeline.duration_s().sum()),
        waits=_direct(timeline),
        causes=[
            Cause(rank, timeline.places[place], KINDS[kind], seconds)
            for rank, place, kind, seconds in zip(*columns, strict=True)
            if seconds > 0
        ],
    )


def _direct(timeline: Timeline) -> list[Wait]:
    late = np.flatnonzero(np.isin(timeline.kind, LATE))
    rank, place = timeline.rank[late].astype(np.int64), timeline.place[late]
    keys, which = np.unique(
        (rank * len(timeline.places) + place) * len(KINDS) + timeline.kind[late], return_inverse=True
    )
    seconds = np.bincount(which, weights=timeline.duration_s()[late], minlength=len(keys))
    count = np.bincount(which, minlength=len(keys))
    found = []
    for i in np.argsort(-seconds, kind="stable").tolist():
        rest, kind = divmod(int(keys[i]), len(KINDS))
        whose, where = divmod(rest, len(timeline.places))
        found.append(Wait(whose, timeline.places[where], KINDS[kind], float(seconds[i]), int(count[i])))
    return found
