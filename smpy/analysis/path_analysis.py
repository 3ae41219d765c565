"""The critical path of a run: the chain of computing, overheads and messages that adds up to its makespan.

Its parts follow each other without a gap from the makespan back to the begin of the run, and add up to the makespan.
`path_walk` has the algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.analysis.computing_lines import ComputingLines
from smpy.analysis.messages import CONTENTION, Messages, hottest_links, link_labels, read_messages
from smpy.analysis.path_walk import PathParts, walk_back
from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.analysis.timeline import COMPUTE, KINDS, Place, read_timeline
from smpy.records.shared_hosts import shared_hosts
from smpy.records.text_table import text_table
from smpy.records.time_words import KIND_WORDS, kind_words
from smpy.units import format_bytes, format_time

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from smpy.records.trace import Trace

_ROWS_SHOWN: Final = 20
_SMALLEST_SHARE: Final = 0.005
_PARTS_DRAWN: Final = 20_000


@dataclass(frozen=True, slots=True)
class PathRow:
    """Share of a line of the program in the path.

    Attributes
    ----------
    place : Place
        The line; of a message, where its end was waited for.
    kind : str
        Kind of time, of `KINDS`.
    seconds : float
        Time on the path.
    messages, bytes : int
        Messages on the path, and their size; transfers only.
    """

    place: Place
    kind: str
    seconds: float
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class CriticalPath(Result):
    """The critical path of a run.

    Attributes
    ----------
    time_s : float
        Time covered by the trace: the run's makespan, or the length of a window.
    rows : sequence of PathRow
        The path by line and kind, the longest first.
    by_rank_s : (n_ranks,) array of float
        The path by rank; a message is that rank's which waited for its end.
    by_kernel_s : mapping of str to float
        The path's part in each kernel.
    messages, bytes : int
        Messages on the path.
    contention_s : float
        Time that these took longer than they would have with nothing else on their links, as far as that is known.
    hottest_link, hottest_link_label : str
        Name of the link that was saturated longest, and the nodes that it joins, for people; empty: not known.
    parts : PathParts
        The path in pieces.
    places : sequence of Place
        Lines of the program, and their calls.
    shared_hosts : str
        Kernels that took longer than alone on their hosts, in words.
    """

    time_s: float
    rows: Sequence[PathRow]
    by_rank_s: NDArray[np.float64]
    by_kernel_s: dict[str, float]
    messages: int
    bytes: int
    contention_s: float
    hottest_link: str
    hottest_link_label: str
    parts: PathParts
    places: Sequence[Place]
    shared_hosts: str = ""

    def table(self) -> str:
        """Tables by line and kind, by kernel, by rank; shares are of the makespan."""
        carried = f"{self.messages:,} message{'' if self.messages == 1 else 's'} of {format_bytes(self.bytes)} together"
        head = f"Critical path: {format_time(self.time_s)}, with {carried}"
        if self.contention_s > _SMALLEST_SHARE * self.time_s:
            head += f", of which {format_time(self.contention_s)} are due to {CONTENTION}"
            head += f"; {self.hottest_link_label} is saturated longest" if self.hottest_link else ""
        parts = [f"{head}\n{self._rows_table()}"]
        if self.by_kernel_s:
            rows = sorted(self.by_kernel_s.items(), key=lambda item: -item[1])
            cells = [(format_time(seconds), self._share(seconds), name) for name, seconds in rows[:_ROWS_SHOWN]]
            parts.append("Computing, by kernel\n" + text_table(("time", "share", "kernel"), cells, n_words=1))
        if self.shared_hosts:
            parts.append(self.shared_hosts)
        order = np.argsort(-self.by_rank_s, kind="stable")
        ranks = [int(rank) for rank in order if self.by_rank_s[rank] > 0]
        cells = [(format_time(self.by_rank_s[r]), self._share(self.by_rank_s[r]), str(r)) for r in ranks[:_ROWS_SHOWN]]
        parts.append("By rank\n" + text_table(("time", "share", "rank"), cells) + _left(len(ranks)))
        return "\n\n".join(parts)

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the result."""
        return {
            "time_s": self.time_s,
            "messages": self.messages,
            "bytes": self.bytes,
            "contention_s": self.contention_s,
            "hottest_link": self.hottest_link or None,
            "rows": [
                {
                    **row.place.to_record(),
                    "function": row.place.function or None,
                    "kind": row.kind,
                    "seconds": row.seconds,
                    "messages": row.messages,
                    "bytes": row.bytes,
                }
                for row in self.rows
            ],
            "by_rank_s": self.by_rank_s.tolist(),
            "by_kernel_s": self.by_kernel_s,
        }

    def plot(self) -> Figure:
        """The rank that the path is on, over time; of a long path, the longest pieces."""
        graph = import_optional("plotly.graph_objects")
        parts = self.parts
        length_s = parts.end_s - parts.start_s
        drawn = np.sort(np.argsort(-length_s, kind="stable")[:_PARTS_DRAWN])
        figure = graph.Figure()
        for kind, name in enumerate(KINDS):
            mine = drawn[parts.kind[drawn] == kind]
            if not len(mine):
                continue
            gap = np.full(len(mine), np.nan)
            x = np.stack([parts.start_s[mine], parts.end_s[mine], gap], axis=1).reshape(-1)
            y = np.stack([parts.rank[mine], parts.rank[mine], gap], axis=1).reshape(-1)
            texts = [plotly_text(self.places[parts.place[i]].text) for i in mine for _ in range(3)]
            figure.add_trace(
                graph.Scattergl(x=x, y=y, mode="lines", line={"width": 6}, name=KIND_WORDS[name], text=texts)
            )
        figure.update_layout(title="Critical path", xaxis_title="seconds", yaxis_title="rank")
        return figure

    def _share(self, seconds: float) -> str:
        return f"{seconds / self.time_s:.1%}" if self.time_s else ""

    def _rows_table(self) -> str:
        rows = [
            (
                format_time(row.seconds),
                self._share(row.seconds),
                f"{row.messages:,}" if row.messages else "",
                format_bytes(row.bytes) if row.messages else "",
                kind_words(row.kind, row.place.call),
                row.place.what,
                row.place.where,
            )
            for row in self.rows[:_ROWS_SHOWN]
        ]
        head = ("time", "share", "messages", "bytes", "kind", "call", "line")
        return text_table(head, rows, n_words=3) + _left(len(self.rows))


def _left(n_rows: int) -> str:
    return f"\n  ... {n_rows - _ROWS_SHOWN:,} more: --json has them all" if n_rows > _ROWS_SHOWN else ""


def critical_path(trace: Trace) -> CriticalPath:
    """Walk the critical path of a run.

    Parameters
    ----------
    trace : Trace
        Trace of the run. With `--trace-window` the path is that of the window; of an unfinished run, it goes back from
        the last event.

    Returns
    -------
    CriticalPath
        Its parts add up to the makespan.

    Raises
    ------
    UsageError
        If the trace has no intervals, or without pyarrow.
    """
    timeline = read_timeline(trace)
    messages = read_messages(trace)
    parts = walk_back(timeline, messages)
    length_s = parts.end_s - parts.start_s
    n_ranks, is_message = timeline.n_ranks, parts.message >= 0
    size_bytes = np.where(is_message, messages.bytes[parts.message] if len(messages.bytes) else 0, 0)
    keys, which = np.unique(parts.place.astype(np.int64) * len(KINDS) + parts.kind, return_inverse=True)
    seconds, count, total_bytes = (
        np.bincount(which, weights=weights, minlength=len(keys)) for weights in (length_s, is_message, size_bytes)
    )
    rows: list[PathRow] = []
    computed_s: dict[Place, float] = {}
    lines = ComputingLines(trace)
    for i, key in enumerate(keys.tolist()):
        place, kind = timeline.places[key // len(KINDS)], key % len(KINDS)
        if kind == COMPUTE:
            for line, part_s in lines.split(place, float(seconds[i])):
                computed_s[line] = computed_s.get(line, 0.0) + part_s
        elif seconds[i] > 0 or count[i]:
            rows.append(PathRow(place, KINDS[kind], float(seconds[i]), int(count[i]), int(total_bytes[i])))
    rows += [PathRow(place, KINDS[COMPUTE], part_s, 0, 0) for place, part_s in computed_s.items() if part_s > 0]
    hottest = next(iter(hottest_links(trace)), "")
    return CriticalPath(
        time_s=timeline.time_s,
        rows=sorted(rows, key=lambda row: -row.seconds),
        by_rank_s=np.bincount(parts.rank, weights=length_s, minlength=n_ranks).astype(np.float64),
        by_kernel_s=_by_kernel(rows),
        messages=int(is_message.sum()),
        bytes=int(size_bytes.sum()),
        contention_s=_contention_s(parts, messages),
        hottest_link=hottest,
        hottest_link_label=link_labels(trace).get(hottest, hottest),
        parts=parts,
        places=timeline.places,
        shared_hosts=shared_hosts(trace.info.get("remarks") or ()),
    )


def _contention_s(parts: PathParts, messages: Messages) -> float:
    mine = parts.message >= 0
    longer_s = parts.end_s[mine] - parts.start_s[mine] - messages.alone_s[parts.message[mine]]
    return float(np.maximum(np.nan_to_num(longer_s), 0.0).sum())


def _by_kernel(rows: Sequence[PathRow]) -> dict[str, float]:
    total_s: dict[str, float] = {}
    for row in rows:
        if row.place.is_kernel and row.kind == KINDS[COMPUTE]:
            total_s[row.place.call] = total_s.get(row.place.call, 0.0) + row.seconds
    return total_s
