"""The timeline of a page: exact intervals if they are few, else bins of several widths, and tiles with the exact ones.

A bin shows the kind that took most time in it, and the call of most of that time. The bins of a level are twice as
wide as those of the level before.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.records.profile import INTERVAL_KINDS as KINDS
from smpy.records.threads import location_names, locations
from smpy.records.trace import Trace
from smpy.report.messages import message_rows
from smpy.report.packed import packed
from smpy.report.tiles import (
    INTERVAL,
    MESSAGE,
    TileGrid,
    TileRows,
    add_intervals,
    add_messages,
    grid_of,
    sorted_by_place,
    tile_script,
)
from smpy.report.timeline import (
    PictureRows,
    exact_intervals,
    interval_batches,
    kind_numbers,
    n_intervals,
    window_s,
)
from smpy.report.timeline_bins import BlockBins

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

EXACT_MAX: Final = 200_000  # intervals
_CELLS_MAX: Final = 1 << 21  # cells of the narrowest bins
_BINS_MAX: Final = 1 << 15
_BINS_MIN: Final = 1 << 10


def is_tiled(trace: Trace) -> bool:
    """Whether a trace has so many intervals that its page has tiles."""
    return n_intervals(trace) > EXACT_MAX


def timeline(trace: Trace, rows: PictureRows, stamp: str, tiles: Path) -> dict[str, Any]:
    """The timeline in the page's format: `exact`, or `levels`, `labels` and `tiles`.

    Parameters
    ----------
    trace : Trace
        Trace to show; memory does not grow with its length.
    rows : PictureRows
        Rows of the ranks and threads.
    stamp : str
        Mark of the page and of its tiles.
    tiles : Path
        Folder for the tiles of a long trace, which exists.
    """
    first_s, last_s = window_s(trace)
    about = {"kinds": KINDS, "first_s": first_s, "last_s": last_s, "per_row": rows.per_row, "n_rows": rows.n}
    if rows.has_threads:
        names = location_names(trace)
        about["names"] = [names[location] for location in rows.locations.tolist()]
    if is_tiled(trace):
        return about | _Tiling(trace, rows, stamp, tiles).write()
    return about | {"exact": exact_intervals(trace, rows)}


class _Tiling:
    """Tiles and bins of a long trace."""

    def __init__(self, trace: Trace, rows: PictureRows, stamp: str, folder: Path) -> None:
        self._trace, self._rows, self._stamp, self._folder = trace, rows, stamp, folder
        self._window = window_s(trace)
        starts_s = (batch["start_s"].to_numpy() for name in rows.tables() for batch in trace.batches(name, ["start_s"]))
        self._grid: TileGrid = grid_of(n_intervals(trace), len(rows.locations), rows.per_row, starts_s, self._window)
        self._n_bins = _BINS_MAX
        while self._n_bins > _BINS_MIN and self._n_bins * rows.n > _CELLS_MAX:
            self._n_bins //= 2
        self._n_levels = (self._n_bins // _BINS_MIN).bit_length()

    def write(self) -> dict[str, Any]:
        """Write the tiles; return the bins of all levels, and the partition."""
        grid = self._grid
        with TemporaryDirectory(dir=self._folder) as spilled:
            intervals, messages = TileRows(Path(spilled), "i", INTERVAL), TileRows(Path(spilled), "m", MESSAGE)
            for batch in interval_batches(self._trace, self._rows):
                add_intervals(intervals, grid, self._columns(batch))
            for part in message_rows(self._trace, self._rows):
                add_messages(messages, grid, part)
            blocks = [self._block(block, intervals, messages) for block in range(grid.n_blocks)]
        return {
            "levels": [packed(np.concatenate(level)) for level in zip(*(block.kinds for block in blocks), strict=True)],
            "labels": [
                packed(np.concatenate(level)) for level in zip(*(block.labels for block in blocks), strict=True)
            ],
            "tiles": {
                "stamp": self._stamp,
                "places_per_block": grid.places_per_block,
                "n_blocks": grid.n_blocks,
                "edges_s": grid.edges_s.tolist(),
            },
        }

    def _block(self, block: int, intervals: TileRows, messages: TileRows) -> BlockBins:
        """Bins of a block, whose tiles are written."""
        grid, rows = self._grid, self._rows
        rows_per_block = grid.places_per_block // rows.per_row
        first_row = block * rows_per_block
        n_rows = min(rows_per_block, rows.n - first_row)
        bins = BlockBins(n_rows, self._n_bins, self._n_levels, self._window, len(self._trace.labels))
        for slab in range(grid.n_slabs):
            tile = block * grid.n_slabs + slab
            its = sorted_by_place(intervals.take(tile))
            row = its["place"].astype(np.int64) // rows.per_row - first_row
            bins.add(row, its, grid.edges_s[slab], grid.edges_s[slab + 1], is_last=slab == grid.n_slabs - 1)
            name, text = tile_script(self._stamp, grid, tile, len(rows.locations), its, messages.take(tile))
            (self._folder / f"{name}.js").write_text(text)
        return bins

    def _columns(self, batch: pa.RecordBatch) -> NDArray[Any]:
        """Intervals of a batch as rows of tiles."""
        columns = np.empty(batch.num_rows, dtype=INTERVAL)
        columns["place"] = self._rows.place(locations(self._trace, batch))
        for name in ("start_s", "end_s"):
            columns[name] = batch[name].to_numpy()
        columns["kind"] = kind_numbers(batch["kind"])
        columns["label"] = self._trace.label_of_site[batch["site"].fill_null(0).to_numpy(zero_copy_only=False)]
        columns["other"] = batch["other"].fill_null(-1).to_numpy(zero_copy_only=False)
        return columns
