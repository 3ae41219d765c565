"""Waits of a run and their causes; also contention in the network, and polls, for which no rank is late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from smpy.analysis.causes import causes_of_waits
from smpy.analysis.computing_lines import ComputingLines
from smpy.analysis.messages import CONTENTION, contention_of_transfers, hottest_links, link_labels, read_messages
from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.analysis.timeline import (
    COMPUTE,
    IDLE,
    KINDS,
    LATE,
    POLLING,
    PROBING,
    SKIPPED,
    Place,
    Timeline,
    read_timeline,
    skipped_words,
)
from smpy.records.shared_hosts import shared_hosts
from smpy.records.text_table import text_table
from smpy.records.time_words import kind_words
from smpy.units import format_time

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

_ROWS_SHOWN: Final = 20
_ROUNDING: Final = 1e-9  # share of all waits: tables omit smaller ones
_SMALLEST_SHARE: Final = 0.005  # share of the ranks' time: less contention or polling gets no table
_BARS: Final = 30


@dataclass(frozen=True, slots=True)
class Wait:
    """The waits of a rank in a line.

    Attributes
    ----------
    rank : int
        Rank that waited.
    place : Place
        Place of the wait.
    kind : str
        Kind of wait: "late_sender", "late_receiver", "late_members"; with nobody late "transfer", "polling", "probing".
    seconds : float
        Total time of the waits.
    count : int
        Number of waits.
    """

    rank: int
    place: Place
    kind: str
    seconds: float
    count: int

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict."""
        whose = {"rank": self.rank, **self.place.to_record()}
        return {**whose, "kind": self.kind, "seconds": self.seconds, "count": self.count}


@dataclass(frozen=True, slots=True)
class Cause:
    """Cause of waits of other ranks.

    Attributes
    ----------
    rank : int
        Rank that delayed others.
    place : Place
        Place of the delay.
    kind : str
        Activity that delayed them, of `KINDS`; a kind of wait: the late rank is not known.
    seconds : float
        Time that others waited because of it.
    """

    rank: int
    place: Place
    kind: str
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Waits(Result):
    """The waits of a run and their causes.

    Attributes
    ----------
    rank_seconds : float
        The time of all ranks together, each until its end, and of their threads.
    waits : sequence of Wait
        The longest first.
    causes : sequence of Cause
        The largest first; together as long as the waits.
    contention : sequence of Wait
        Time that contention added to waits for messages under way, the longest first.
    polls : sequence of Wait
        Polls that waited for nothing, the longest first.
    hottest_link, hottest_link_label : str
        Name of the link that was saturated longest, and the nodes that it joins, for people; empty: not known.
    noise_s : float
        Waits that noise of the measuring machine alone can cause: the table names no rank that caused no more.
    shared_hosts : str
        Kernels that took longer than alone on their hosts, in words.
    has_threads : bool
        Whether ranks had threads.
    skipped : str
        Share of the time that was skipped, in words; empty: none.
    """

    rank_seconds: float
    waits: Sequence[Wait]
    causes: Sequence[Cause]
    contention: Sequence[Wait]
    polls: Sequence[Wait]
    hottest_link: str
    hottest_link_label: str
    noise_s: float = 0.0
    shared_hosts: str = ""
    has_threads: bool = False
    skipped: str = ""

    @property
    def seconds(self) -> float:
        """All waits together."""
        return _sum_s(self.waits)

    def table(self) -> str:
        """Waits by line, and their causes, each with the rank that has most of it; the costliest table first."""
        text = "No rank waited for another one"
        if self.seconds:
            text = f"{self._by_line('Waits', self.waits, '')}\n\nCauses of waits\n{self._causes_by_line()}"
        parts = [(self.seconds, text)]
        link = f"; {self.hottest_link_label} is saturated longest" if self.hottest_link else ""
        for title, rows, more in (
            ("Transfers", self.contention, f", are due to {CONTENTION}{link}"),
            ("Polls", self.polls, ", waited for nothing"),
        ):
            if _sum_s(rows) > _SMALLEST_SHARE * self.rank_seconds:
                parts.append((_sum_s(rows), self._by_line(title, rows, more)))
        tables = [text for _, text in sorted(parts, key=lambda part: -part[0])]
        return "\n\n".join(filter(None, [*tables, self.shared_hosts, self.skipped]))

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the result."""
        return {
            "rank_seconds": self.rank_seconds,
            "wait_s": self.seconds,
            "waits": [item.to_record() for item in self.waits],
            "causes": [
                {
                    "rank": item.rank,
                    **item.place.to_record(),
                    "function": item.place.function or None,
                    "kind": item.kind,
                    "seconds": item.seconds,
                }
                for item in self.causes
            ],
            "contention": [item.to_record() for item in self.contention],
            "polls": [item.to_record() for item in self.polls],
            "hottest_link": self.hottest_link or None,
            "noise_s": self.noise_s,
            "skipped": self.skipped or None,
        }

    def plot(self) -> Figure:
        """The largest causes, as bars."""
        graph = import_optional("plotly.graph_objects")
        largest = self.causes[:_BARS][::-1]
        names = [
            plotly_text(f"rank {cause.rank}: {kind_words(cause.kind, cause.place.call)}, {cause.place.text}")
            for cause in largest
        ]
        figure = graph.Figure(graph.Bar(x=[cause.seconds for cause in largest], y=names, orientation="h"))
        figure.update_layout(title="Causes of waits", xaxis_title="seconds that others waited", yaxis_automargin=True)
        return figure

    def _by_line(self, title: str, waits: Sequence[Wait], more: str) -> str:
        whole_s = _sum_s(waits)
        by_place: dict[tuple[Place, str], list[Wait]] = {}
        for wait in waits:
            by_place.setdefault((wait.place, wait.kind), []).append(wait)
        groups = sorted(by_place.items(), key=lambda group: -sum(wait.seconds for wait in group[1]))
        rows = []
        for (place, kind), group in groups[:_ROWS_SHOWN]:
            seconds = sum(wait.seconds for wait in group)
            count, most = sum(wait.count for wait in group), _most(group).rank
            name = kind_words(kind, place.call)
            shares = (format_time(seconds), f"{seconds / whole_s:.1%}", f"{count:,}", f"{most}")
            rows.append((*shares, name, place.what, place.where))
        whose = "the time of ranks and threads" if self.has_threads else "the ranks' time"
        head = f"{title}: {format_time(whole_s)}, {whole_s / self.rank_seconds:.1%} of {whose}{more}"
        columns = ("time", "share", title.lower(), "most on rank", "kind", "call", "line")
        return f"{head}\n{text_table(columns, rows, n_words=3)}{_left(len(groups))}"

    def _causes_by_line(self) -> str:
        by_place: dict[tuple[Place, str], list[Cause]] = {}
        for cause in self.causes:
            by_place.setdefault((cause.place, cause.kind), []).append(cause)
        groups = sorted(by_place.items(), key=lambda group: -sum(cause.seconds for cause in group[1]))
        groups = [group for group in groups if sum(cause.seconds for cause in group[1]) > _ROUNDING * self.seconds]
        noisy, rows = self._ranks_within_noise(), []
        for (place, kind), group in groups[:_ROWS_SHOWN]:
            seconds, most = sum(cause.seconds for cause in group), _most(group)
            shares = (format_time(seconds), f"{seconds / self.seconds:.1%}", f"{len(group):,}")
            blame = ("noise", "") if most.rank in noisy else (f"{most.rank}", f"{most.seconds / self.seconds:.1%}")
            rows.append((*shares, *blame, kind_words(kind, place.call), place.what, place.where))
        head = ("time", "share", "ranks", "most by rank", "its share", "kind", "call", "line")
        noise_note = (
            f"\n  (noise: no rank more than noise of this machine explains, {format_time(self.noise_s)} of waits)"
        )
        return text_table(head, rows, n_words=3) + _left(len(groups)) + (noise_note if noisy else "")

    def _ranks_within_noise(self) -> set[int]:
        caused_s: dict[int, float] = {}
        for cause in self.causes:
            caused_s[cause.rank] = caused_s.get(cause.rank, 0.0) + cause.seconds
        return {rank for rank, seconds in caused_s.items() if seconds <= self.noise_s}


Item = TypeVar("Item", Wait, Cause)


def _most(group: Sequence[Item]) -> Item:
    """The longest item; the lowest rank breaks ties within rounding."""
    longest_s = max(item.seconds for item in group)
    return min((item for item in group if item.seconds >= (1 - _ROUNDING) * longest_s), key=lambda item: item.rank)


def _sum_s(waits: Sequence[Wait]) -> float:
    return sum(wait.seconds for wait in waits)


def _left(n_rows: int) -> str:
    return f"\n  ... {n_rows - _ROWS_SHOWN:,} more: --json has them all" if n_rows > _ROWS_SHOWN else ""


def waits(trace: Trace) -> Waits:
    """Sum up the waits of a run, and find their causes.

    Parameters
    ----------
    trace : Trace
        Trace of the run.

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
    timeline = read_timeline(trace)
    duration_s = timeline.duration_s()
    hottest = next(iter(hottest_links(trace)), "")
    late, polls = (np.flatnonzero(np.isin(timeline.kind, kinds)) for kinds in (LATE, (POLLING, PROBING)))
    return Waits(
        rank_seconds=float(duration_s[~np.isin(timeline.kind, (IDLE, SKIPPED))].sum()),
        waits=_by_rank(timeline, late, duration_s[late]),
        causes=_causes(timeline, ComputingLines(trace)),
        contention=_by_rank(timeline, *contention_of_transfers(timeline, read_messages(trace))),
        polls=_by_rank(timeline, polls, duration_s[polls]),
        hottest_link=hottest,
        hottest_link_label=link_labels(trace).get(hottest, hottest),
        noise_s=(trace.info.get("profile") or {}).get("noise_waiting_s") or 0.0,
        shared_hosts=shared_hosts(trace.info.get("remarks") or ()),
        has_threads=timeline.has_threads,
        skipped=skipped_words(timeline.skipped_s(), timeline.time_s, "shares of waits are of"),
    )


def _causes(timeline: Timeline, lines: ComputingLines) -> list[Cause]:
    causes = causes_of_waits(timeline)
    columns = (column.tolist() for column in (causes.rank, causes.place, causes.kind, causes.seconds))
    total_s: dict[tuple[int, Place, int], float] = {}
    for rank, number, kind, seconds in zip(*columns, strict=True):
        place = timeline.places[number]
        for line, part_s in lines.split(place, seconds) if kind == COMPUTE else [(place, seconds)]:
            total_s[rank, line, kind] = total_s.get((rank, line, kind), 0.0) + part_s
    largest = sorted(total_s.items(), key=lambda entry: -entry[1])
    return [Cause(rank, place, KINDS[kind], seconds) for (rank, place, kind), seconds in largest if seconds > 0]


def _by_rank(timeline: Timeline, some: NDArray[np.int64], spent_s: NDArray[np.float64]) -> list[Wait]:
    """Waits by rank, place and kind, the longest first: sums of `spent_s` over some intervals."""
    rank, place = timeline.rank[some].astype(np.int64), timeline.place[some]
    keys, which = np.unique(
        (rank * len(timeline.places) + place) * len(KINDS) + timeline.kind[some], return_inverse=True
    )
    seconds = np.bincount(which, weights=spent_s, minlength=len(keys))
    count = np.bincount(which, minlength=len(keys))
    waits_by_rank = []
    for i in np.argsort(-seconds, kind="stable").tolist():
        rest, kind = divmod(int(keys[i]), len(KINDS))
        whose, where = divmod(rest, len(timeline.places))
        waits_by_rank.append(Wait(whose, timeline.places[where], KINDS[kind], float(seconds[i]), int(count[i])))
    return waits_by_rank
