"""Rows and intervals of a page's timeline.

Rows are ranks, each with its threads below, or as many in a row as it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.records.profile import INTERVAL_KINDS as KINDS
from smpy.records.threads import locations, rank_of_locations
from smpy.records.trace import Trace
from smpy.report.packed import packed

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

ROWS_MAX: Final = 1_024


class PictureRows:
    """Traced ranks, and the rows of a picture that show them, or also their threads.

    Attributes
    ----------
    ranks : ndarray of int
        Ranks that were traced, in order.
    locations : ndarray of int
        Locations (`smpy.records.threads`) that are shown, in order: ranks, each before its threads.
    per_row : int
        Number of locations that share a row.
    n : int
        Rows.
    has_threads : bool
        Whether threads are among the locations.
    """

    def __init__(self, trace: Trace, rows_max: int = ROWS_MAX, *, with_threads: bool = False) -> None:
        traced_ranks = trace.info["trace"]["ranks"]
        self.ranks: NDArray[np.int64] = (
            np.arange(trace.n_ranks) if traced_ranks is None else np.array(traced_ranks, dtype=np.int64)
        )
        rank_of = rank_of_locations(trace) if with_threads else np.arange(trace.n_ranks)
        order = np.argsort(rank_of, kind="stable")
        self.locations: NDArray[np.int64] = order[np.isin(rank_of[order], self.ranks)]
        self.per_row = -(-len(self.locations) // rows_max)
        self.n = -(-len(self.locations) // self.per_row)
        self.has_threads = len(self.locations) > len(self.ranks)
        self._place = np.zeros(len(rank_of), dtype=np.int64)
        self._place[self.locations] = np.arange(len(self.locations))

    def place(self, location: NDArray[Any]) -> NDArray[np.int64]:
        """Indices of locations among those that are shown."""
        places: NDArray[np.int64] = self._place[location]
        return places

    def row(self, location: NDArray[Any]) -> NDArray[np.int64]:
        """The rows of locations."""
        return self.place(location) // self.per_row

    def tables(self) -> list[str]:
        """Tables with the intervals of the locations."""
        return ["intervals", *(["thread_intervals"] if self.has_threads else [])]


def window_s(trace: Trace) -> tuple[float, float]:
    """First and last date of the trace."""
    first_s, last_s = trace.info["trace"]["window_s"] or (0.0, trace.makespan_s)
    return float(first_s), min(float(last_s), trace.makespan_s)


def n_intervals(trace: Trace) -> int:
    """Number of intervals of a trace, those of threads included."""
    return trace.n_rows("intervals") + trace.n_rows("thread_intervals")


def kind_numbers(column: Any) -> NDArray[np.int64]:
    """Kinds of a batch's intervals as indices into `KINDS`."""
    encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    of_code = np.array([KINDS.index(kind) for kind in encoded.dictionary.to_pylist()], dtype=np.int64)
    codes: NDArray[np.int64] = of_code[encoded.indices.to_numpy()]
    return codes


def exact_intervals(trace: Trace, rows: PictureRows) -> dict[str, Any]:
    """All intervals, as packed columns, sorted by location and date; of a location those from `first` on are.

    Parameters
    ----------
    trace : Trace
        Trace with few intervals.
    rows : PictureRows
        Rows of the ranks and threads.
    """
    tables = [trace.table(name).combine_chunks() for name in rows.tables()]

    def column(name: str, empty: int | None = None) -> NDArray[Any]:
        columns = [table[name] if empty is None else table[name].fill_null(empty) for table in tables]
        return np.concatenate([values.to_numpy() for values in columns])

    place = rows.place(np.concatenate([locations(trace, table) for table in tables]))
    start_s, end_s, site, other = column("start_s"), column("end_s"), column("site", 0), column("other", -1)
    order = np.lexsort((end_s, start_s, place))
    kinds = [name for table in tables for name in table["kind"].to_pylist()]
    kind = np.array([KINDS.index(name) for name in kinds], dtype=np.uint8)
    return {
        "first": packed(np.searchsorted(place[order], np.arange(len(rows.locations) + 1)).astype(np.int32)),
        "start_s": packed(start_s[order]),
        "end_s": packed(end_s[order]),
        "kind": packed(kind[order]),
        "label": packed(trace.label_of_site[site[order]]),
        "other": packed(other[order].astype(np.int32)),
    }


def interval_batches(trace: Trace, rows: PictureRows) -> Iterator[pa.RecordBatch]:
    """Intervals of ranks and of the threads that are shown, in batches."""
    for name in rows.tables():
        whose = ["rank"] if name == "intervals" else ["rank", "thread"]
        yield from trace.batches(name, [*whose, "start_s", "end_s", "kind", "site", "other"])


def time_by_row(trace: Trace, rows: PictureRows) -> NDArray[np.float64]:
    """[rows, kinds]: seconds of each row's locations, summed."""
    spent_s = np.zeros(rows.n * len(KINDS))
    for batch in interval_batches(trace, rows):
        cell = rows.row(locations(trace, batch)) * len(KINDS) + kind_numbers(batch["kind"])
        lengths_s = batch["end_s"].to_numpy() - batch["start_s"].to_numpy()
        spent_s += np.bincount(cell, lengths_s, minlength=len(spent_s))
    return spent_s.reshape(rows.n, len(KINDS))
