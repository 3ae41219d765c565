"""The timeline of a page: activities of ranks, as exact intervals if they are few, else as bins of several widths.

Rows of bins are ranks, each with its threads below, or as many in a row as it takes. A bin shows the kind that took
most time in it. The bins of a level are twice as wide as those of the level before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.records.profile import INTERVAL_KINDS as KINDS
from smpy.records.threads import location_names, locations, rank_of_locations
from smpy.records.trace import Trace
from smpy.report.packed import packed

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

NOTHING: Final = 255  # kind of a bin in which nothing was recorded

EXACT_MAX: Final = 200_000  # intervals
ROWS_MAX: Final = 1_024
_CELLS_MAX: Final = 1 << 23  # cells of the narrowest bins
_BINS_MAX: Final = 1 << 15
_BINS_MIN: Final = 1 << 9
_HELD_CELLS: Final = 1 << 20  # each kind has a number


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


def timeline(trace: Trace, rows: PictureRows) -> dict[str, Any]:
    """The timeline in the page's format: `exact` or `levels`.

    Parameters
    ----------
    trace : Trace
        Trace to show; memory does not grow with its length.
    rows : PictureRows
        Rows of the ranks and threads.
    """
    first_s, last_s = window_s(trace)
    about = {"kinds": KINDS, "first_s": first_s, "last_s": last_s, "per_row": rows.per_row, "n_rows": rows.n}
    if rows.has_threads:
        names = location_names(trace)
        about["names"] = [names[location] for location in rows.locations.tolist()]
    if n_intervals(trace) <= EXACT_MAX:
        return about | {"exact": _exact(trace, rows)}
    return about | {"levels": [packed(level) for level in _levels(trace, rows, first_s, last_s)]}


def n_intervals(trace: Trace) -> int:
    """Number of intervals of a trace, those of threads included."""
    return trace.n_rows("intervals") + trace.n_rows("thread_intervals")


def kind_numbers(column: Any) -> NDArray[np.int64]:
    """Kinds of a batch's intervals as indices into `KINDS`."""
    encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    of_code = np.array([KINDS.index(kind) for kind in encoded.dictionary.to_pylist()], dtype=np.int64)
    codes: NDArray[np.int64] = of_code[encoded.indices.to_numpy()]
    return codes


def _exact(trace: Trace, rows: PictureRows) -> dict[str, Any]:
    """Columns, sorted by location and date; of a location those from `first` on are."""
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


def _levels(trace: Trace, rows: PictureRows, first_s: float, last_s: float) -> list[NDArray[np.uint8]]:
    """[rows, bins] each, the narrowest bins first. The run is read once for each slab of time, to hold no more."""
    n_bins = _BINS_MAX
    while n_bins > _BINS_MIN and n_bins * rows.n > _CELLS_MAX:
        n_bins //= 2
    n_slabs = 1
    while n_bins * rows.n // n_slabs > _HELD_CELLS:
        n_slabs *= 2
    n_levels = 1 + (n_bins // max(_BINS_MIN, n_slabs)).bit_length() - 1
    slabs: list[list[NDArray[np.uint8]]] = [[] for _ in range(n_levels)]
    edges_s = np.linspace(first_s, last_s, n_slabs + 1)
    for from_s, to_s in pairwise(edges_s.tolist()):
        spent = _spent(trace, rows, n_bins // n_slabs, from_s, to_s)
        for level in slabs:
            level.append(np.where(spent.any(axis=2), spent.argmax(axis=2), NOTHING).astype(np.uint8))
            if level is not slabs[-1]:
                spent = spent.reshape(rows.n, -1, 2, len(KINDS)).sum(axis=2)
    return [np.concatenate(level, axis=1) for level in slabs]


def _intervals(trace: Trace, rows: PictureRows) -> Iterator[pa.RecordBatch]:
    for name in rows.tables():
        whose = ["rank"] if name == "intervals" else ["rank", "thread"]
        yield from trace.batches(name, [*whose, "start_s", "end_s", "kind"])


def _spent(trace: Trace, rows: PictureRows, n_bins: int, from_s: float, to_s: float) -> NDArray[np.float32]:
    """[rows, bins, kinds]: time in each bin, in bins' widths.

    Parts of an interval in its first and last bin are added there; the full bins between are kept as a step up and a
    step down, whose sum is taken at the end.
    """
    shape = (rows.n, n_bins, len(KINDS))
    partly, wholly = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    scale = n_bins / (to_s - from_s)
    for batch in _intervals(trace, rows):
        begin, end = ((batch[name].to_numpy() - from_s) * scale for name in ("start_s", "end_s"))
        here = np.flatnonzero((end > 0) & (begin < n_bins))
        if not len(here):
            continue
        begin, end = np.maximum(begin[here], 0.0), np.minimum(end[here], n_bins)
        row, kind = rows.row(locations(trace, batch)[here]), kind_numbers(batch["kind"])[here]
        first, last = begin.astype(np.int64), np.minimum(end.astype(np.int64), n_bins - 1)
        np.add.at(partly, (row, first, kind), np.minimum(end, first + 1) - begin)
        several = np.flatnonzero(last > first)
        row, kind, first, last = row[several], kind[several], first[several], last[several]
        np.add.at(partly, (row, last, kind), end[several] - last)
        np.add.at(wholly, (row, first + 1, kind), 1)
        np.add.at(wholly, (row, last, kind), -1)
    partly += np.cumsum(wholly, axis=1, out=wholly)
    return partly


def time_by_row(trace: Trace, rows: PictureRows) -> NDArray[np.float64]:
    """[rows, kinds]: seconds of each row's locations, summed."""
    spent_s = np.zeros(rows.n * len(KINDS))
    for batch in _intervals(trace, rows):
        cell = rows.row(locations(trace, batch)) * len(KINDS) + kind_numbers(batch["kind"])
        lengths_s = batch["end_s"].to_numpy() - batch["start_s"].to_numpy()
        spent_s += np.bincount(cell, lengths_s, minlength=len(spent_s))
    return spent_s.reshape(rows.n, len(KINDS))
