"""Tiles of a long timeline: intervals and messages by rows and time, each a script file that the page loads by need.

(1) A tile has the places from a multiple of `places_per_block` on, and the time from one edge to the next. The edges
    are quantiles of the intervals' dates, so that tiles have about as many intervals each wherever they are dense.
(2) An interval stands in every tile that it touches; a message in the tile of its send and in that of its end.
(3) Rows of the trace are read once and sorted into a temporary file per tile; one tile at a time is held.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.report.packed import packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

INTERVALS: Final = 32_768  # of a tile, about
_TILES_MAX: Final = 4_096
_SAMPLES_MAX: Final = 1_000_000  # of dates
_HELD_ROWS: Final = 1_000_000
_NAME: Final = re.compile(r"\d+-\d+\.js")

INTERVAL: Final = np.dtype(
    [("place", "i4"), ("start_s", "f8"), ("end_s", "f8"), ("kind", "u1"), ("label", "i4"), ("other", "i4")]
)
MESSAGE: Final = np.dtype(
    [
        *(("source", "i4"), ("target", "i4"), ("bytes", "f8"), ("sent_s", "f8"), ("ended_s", "f8")),
        *(("send_label", "i4"), ("receive_label", "i4")),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class TileGrid:
    """Partition of the places and the time of a timeline.

    Attributes
    ----------
    places_per_block : int
        Places of a block of rows.
    n_blocks : int
        Number of blocks.
    edges_s : ndarray of float
        [slabs + 1] dates.
    """

    places_per_block: int
    n_blocks: int
    edges_s: NDArray[np.float64]

    @property
    def n_slabs(self) -> int:
        """Number of slabs of time."""
        return len(self.edges_s) - 1

    def slab(self, date_s: NDArray[np.float64], *, is_end: bool = False) -> NDArray[np.int64]:
        """Slabs of dates; an end on an edge belongs to the slab before."""
        at = np.searchsorted(self.edges_s, date_s, side="left" if is_end else "right") - 1
        slabs: NDArray[np.int64] = np.clip(at, 0, self.n_slabs - 1)
        return slabs

    def tile(self, place: NDArray[Any], slab: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tiles of places and slabs."""
        tiles: NDArray[np.int64] = place // self.places_per_block * self.n_slabs + slab
        return tiles


def grid_of(
    n_intervals: int, n_places: int, per_row: int, dates_s: Iterable[NDArray[np.float64]], window_s: tuple[float, float]
) -> TileGrid:
    """Grid with about `INTERVALS` intervals in a tile, as many blocks as slabs if there are rows for them.

    Parameters
    ----------
    n_intervals, n_places : int
        Number of intervals, and of ranks and threads.
    per_row : int
        Places that share a row of the overview: a block has whole rows.
    dates_s : iterable of ndarray
        Starts of all intervals, in batches.
    window_s : tuple of float
        First and last date.
    """
    n_tiles = min(_TILES_MAX, max(1, n_intervals // INTERVALS))
    n_rows = -(-n_places // per_row)
    rows_per_block = -(-n_rows // min(n_rows, max(1, isqrt(n_tiles))))
    n_blocks = -(-n_rows // rows_per_block)
    n_slabs = max(1, n_tiles // n_blocks)
    step = max(1, n_intervals // _SAMPLES_MAX)
    samples = np.concatenate([batch[::step] for batch in dates_s])
    inner = np.quantile(samples, np.arange(1, n_slabs) / n_slabs) if n_slabs > 1 else np.empty(0)
    first_s, last_s = window_s
    edges_s = np.unique(np.concatenate([[first_s], inner[(inner > first_s) & (inner < last_s)], [last_s]]))
    return TileGrid(rows_per_block * per_row, n_blocks, edges_s if len(edges_s) > 1 else np.array([first_s, last_s]))


class TileRows:
    """Rows of tiles, in a temporary file each.

    Parameters
    ----------
    folder : Path
        Folder for the files.
    name : str
        Name of the files, before the tile's number.
    dtype : dtype
        Type of a row.
    """

    def __init__(self, folder: Path, name: str, dtype: np.dtype[Any]) -> None:
        self._folder, self._name, self._dtype = folder, name, dtype
        self._held: list[tuple[NDArray[np.int64], NDArray[Any]]] = []
        self._n_held = 0

    def add(self, tile: NDArray[np.int64], rows: NDArray[Any]) -> None:
        """Add rows, each to a tile."""
        self._held.append((tile, rows))
        self._n_held += len(rows)
        if self._n_held >= _HELD_ROWS:
            self._write()

    def take(self, tile: int) -> NDArray[Any]:
        """All rows of a tile, which is then empty."""
        self._write()
        path = self._path(tile)
        if not path.exists():
            return np.empty(0, dtype=self._dtype)
        rows: NDArray[Any] = np.fromfile(path, dtype=self._dtype)
        path.unlink()
        return rows

    def _write(self) -> None:
        if not self._held:
            return
        tile = np.concatenate([tiles for tiles, _ in self._held])
        rows = np.concatenate([rows for _, rows in self._held])
        self._held, self._n_held = [], 0
        order = np.argsort(tile, kind="stable")
        tile, rows = tile[order], rows[order]
        begins = np.flatnonzero(np.diff(tile, prepend=-1))
        for begin, end in zip(begins, [*begins[1:], len(tile)], strict=True):
            with self._path(int(tile[begin])).open("ab") as file:
                rows[begin:end].tofile(file)

    def _path(self, tile: int) -> Path:
        return self._folder / f"{self._name}{tile}"


def add_intervals(to: TileRows, grid: TileGrid, rows: NDArray[Any]) -> None:
    """Add intervals to every tile that they touch."""
    first, last = grid.slab(rows["start_s"]), grid.slab(rows["end_s"], is_end=True)
    count = np.maximum(last - first, 0) + 1
    row = np.repeat(np.arange(len(rows)), count)
    slab = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    to.add(grid.tile(rows["place"][row], slab), rows[row])


def add_messages(to: TileRows, grid: TileGrid, rows: NDArray[Any]) -> None:
    """Add messages to the tile of their send and to that of their end."""
    sent = grid.tile(rows["source"], grid.slab(rows["sent_s"]))
    ended = grid.tile(rows["target"], grid.slab(rows["ended_s"], is_end=True))
    to.add(sent, rows)
    is_other = ended != sent
    to.add(ended[is_other], rows[is_other])


def tile_script(
    stamp: str, grid: TileGrid, tile: int, n_places: int, intervals: NDArray[Any], messages: NDArray[Any]
) -> tuple[str, str]:
    """Name and text of a tile's file.

    Parameters
    ----------
    stamp : str
        Mark that the page has, too: tiles of another page are refused.
    grid : TileGrid
        Partition.
    tile : int
        Number of the tile.
    n_places : int
        Places of the timeline.
    intervals, messages : ndarray
        Rows of the tile; intervals are sorted by place and date.
    """
    block, slab = divmod(tile, grid.n_slabs)
    first_place = block * grid.places_per_block
    n_here = min(grid.places_per_block, n_places - first_place)
    first = np.searchsorted(intervals["place"], first_place + np.arange(n_here + 1))
    columns = {
        "intervals": {
            "first": packed(first.astype(np.int32)),
            **{name: packed(intervals[name]) for name in ("start_s", "end_s", "kind", "label", "other")},
        },
        "messages": {name: packed(messages[name]) for name in MESSAGE.names or ()},
    }
    name = f"{block}-{slab}"
    return name, f"addTile({json.dumps(stamp)},{json.dumps(name)},{json.dumps(columns, separators=(',', ':'))});\n"


def replace_tiles(folder: Path, new: Path) -> None:
    """Replace the tiles of an earlier page by those in another folder; without any, an empty folder is removed."""
    if folder.is_dir() and not folder.is_symlink():
        for path in folder.iterdir():
            if _NAME.fullmatch(path.name):
                path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
    for path in new.iterdir():
        folder.mkdir(exist_ok=True)
        path.replace(folder / path.name)


def sorted_by_place(rows: NDArray[Any]) -> NDArray[Any]:
    """Intervals by place and date."""
    sorted_rows: NDArray[Any] = rows[np.lexsort((rows["end_s"], rows["start_s"], rows["place"]))]
    return sorted_rows
