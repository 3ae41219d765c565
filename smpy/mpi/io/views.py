"""Views: the part of a file that a rank sees, tile after tile, as a stream of bytes (MPI 4.1, 14.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from smpy.mpi.data.datatypes import BYTE
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.packing import places_of
from smpy.mpi.io.representations import NATIVE, Representation
from smpy.mpi.state.exceptions import fail

if TYPE_CHECKING:
    from smpy.mpi.io.stored_bytes import Stretches

__all__ = ["View", "whole_file"]

_BATCH: Final = 1 << 16
"""Number of stretches per batch."""


class View:
    """A view of a file.

    Parameters
    ----------
    displacement : int
        Byte of the file at which the view begins.
    etype, filetype : Layout
        Unit of offsets, and layout of a tile; gaps in the filetype are not seen.
    representation : Representation
        Representation of the data.

    Attributes
    ----------
    etype_bytes : int
        Size of an etype in the file, in bytes.
    is_empty : bool
        Whether the view has no bytes.
    is_contiguous : bool
        Whether the bytes seen follow one another in the file.
    overlaps : bool
        Whether a tile has a byte of the file twice.

    Raises
    ------
    Exception
        If the filetype is not made of etypes: ``ERR_ARG``; if its displacements are negative or go back: ``ERR_IO``.
    """

    __slots__ = (
        "_at",
        "_extent",
        "_lengths",
        "_packed",
        "_size",
        "displacement",
        "etype",
        "etype_bytes",
        "filetype",
        "is_contiguous",
        "is_empty",
        "overlaps",
        "representation",
    )

    def __init__(self, displacement: int, etype: Layout, filetype: Layout, representation: Representation) -> None:
        self.displacement = displacement
        self.etype = etype
        self.filetype = filetype
        self.representation = representation
        tile = representation.typemap(filetype)
        self.etype_bytes = representation.nbytes(etype.typemap)
        if not self.etype_bytes or tile.size % self.etype_bytes:
            sizes = f"a filetype of {tile.size} bytes is not made of etypes of {self.etype_bytes} bytes"
            fail("ERR_ARG", f"File.Set_view: {sizes}")
        self.is_empty = not tile.size
        self.is_contiguous = tile.is_tiling or self.is_empty
        self._size, self._extent = tile.size, tile.extent
        self._at: Any = [0 if self.is_empty else tile.true_lb]
        if not self.is_contiguous:
            self._at, self._lengths = places_of(tile)
            self._packed = self._lengths.cumsum() - self._lengths
        if self._at[0] < 0 or (not self.is_contiguous and (self._at[1:] < self._at[:-1]).any()):
            fail("ERR_IO", "File.Set_view: the displacements of a filetype are not negative, and never go back")
        self.overlaps = not self.is_contiguous and bool((self._at[1:] < (self._at + self._lengths)[:-1]).any())

    def position(self, byte: int) -> int:
        """Position in the file of a byte of the view."""
        if self.is_contiguous:
            return self.displacement + int(self._at[0]) + byte
        tile, rest = divmod(byte, self._size)
        index = int(self._packed.searchsorted(rest, "right")) - 1
        return self.displacement + tile * self._extent + int(self._at[index] + rest - self._packed[index])

    def etypes_before(self, position: int) -> int:
        """Number of etypes that begin in the view before a byte of the file."""
        if self.is_empty:
            return 0
        ahead = max(0, position - self.displacement - int(self._at[0]))
        n_bytes = ahead
        if not self.is_contiguous:
            tile = ahead // self._extent if self._extent > 0 else 0
            within = position - self.displacement - tile * self._extent - self._at
            n_bytes = tile * self._size + int(within.clip(0, self._lengths).sum())
        return -(-n_bytes // self.etype_bytes)

    def stretches(self, first: int, nbytes: int) -> Iterator[Stretches]:
        """Stretches of the file that hold bytes of a view with gaps, in order and in batches.

        Parameters
        ----------
        first : int
            First byte in the view.
        nbytes : int
            Number of bytes.
        """
        tile, begin = divmod(first, self._size)
        last_tile, end = divmod(first + nbytes, self._size)
        if tile == last_tile:
            yield self._part_of_tile(tile, begin, end)
            return
        if begin:
            yield self._part_of_tile(tile, begin, self._size)
            tile += 1
        yield from self._tiles(tile, last_tile)
        if end:
            yield self._part_of_tile(last_tile, 0, end)

    def _part_of_tile(self, tile: int, begin: int, end: int) -> Stretches:
        """Stretches of the bytes from `begin` to `end` of a tile."""
        first = int(self._packed.searchsorted(begin, "right")) - 1
        last = int(self._packed.searchsorted(end, "left"))
        at, packed, lengths = (array[first:last].copy() for array in (self._at, self._packed, self._lengths))
        if len(at):
            lengths[-1] = end - packed[-1]
            at[0] += begin - packed[0]
            lengths[0] -= begin - packed[0]
        return at + (self.displacement + tile * self._extent), lengths

    def _tiles(self, tile: int, last_tile: int) -> Iterator[Stretches]:
        """Stretches of whole tiles."""
        import numpy as np

        n_tiles = max(1, _BATCH // len(self._at))
        while tile < last_tile:
            tiles = np.arange(tile, min(tile + n_tiles, last_tile))
            positions = (tiles[:, None] * self._extent + self._at).ravel() + self.displacement
            yield positions, np.tile(self._lengths, len(tiles))
            tile += n_tiles


def whole_file() -> View:
    """Initial view of an opened file: all its bytes."""
    return View(0, BYTE._layout, BYTE._layout, NATIVE)
