"""Simulated time of file accesses: none, that of a machine's storage, or that of SimGrid's disks.

The model is chosen when a rank opens a file. `Opening` moves the bytes, and then calls the model to start the timed
access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from smpy.engine.bytes_of_files import BytesOfFiles
from smpy.engine.running import current, per_world
from smpy.mpi.io.two_phase import Ranges, TwoPhasePart

if TYPE_CHECKING:
    from smpy.mpi.data.buffer_segments import BufferSegment
    from smpy.mpi.io.open_files import OpenFile
    from smpy.mpi.io.order import Order
    from smpy.mpi.io.views import View

__all__ = ["FreeAccesses", "RankOfFile", "StorageAccesses"]


class RankOfFile(Protocol):
    """Part of an `Opening` (one rank's membership in an open file) that the models of time need."""

    rank: int
    file: OpenFile
    view: View
    pointer: int

    def stored_bytes(self, segment: BufferSegment) -> int:
        """Number of bytes that the entries of a segment have in the file."""


class FreeAccesses:
    """Accesses that take no time, and are counted for a remark.

    Attributes
    ----------
    ranges : type of Ranges
        Class of the ranges that the ranks of a collective access exchange.
    are_timed : bool
        Whether accesses take time.
    waits_to_resize : bool
        Whether ranks wait for each other when they change the file's size, atomicity or shared pointer.
    """

    ranges: type[Ranges] = Ranges
    are_timed = False
    waits_to_resize = True

    def want(self, opening: RankOfFile, ranges: Ranges, segment: BufferSegment | None, offset: int | None) -> None:
        """Record the range that a rank wants in a collective access; a rank without a segment wants nothing."""

    def start(
        self,
        opening: RankOfFile,
        segment: BufferSegment,
        first: int,
        n_moved: int,
        *,
        is_write: bool,
        offset: int | None,
    ) -> int:
        """Start an access whose bytes have been moved; return its request, or 0 when it is over.

        Parameters
        ----------
        opening : RankOfFile
            The rank's part in the file.
        segment : BufferSegment
            The entries in memory.
        first, n_moved : int
            First byte in the view, and number of bytes moved in the file.
        is_write : bool
            Whether the bytes were written.
        offset : int or None
            Offset passed to the call; None: the rank's pointer.
        """
        moved = per_world(BytesOfFiles)
        moved.n_written += n_moved * is_write
        moved.n_read += n_moved * (not is_write)
        return 0

    def start_shared(
        self, opening: RankOfFile, segment: BufferSegment, first: int, n_moved: int, *, is_write: bool
    ) -> int:
        """Start an access at the shared pointer, after those started before it; see `start`."""
        return self.start(opening, segment, first, n_moved, is_write=is_write, offset=first)

    def end_shared(self, opening: RankOfFile) -> None:
        """Note that the rank's access at the shared pointer, or its move of the pointer, is over."""

    def start_together(
        self,
        opening: RankOfFile,
        ranges: Ranges,
        segment: BufferSegment | None,
        first: int,
        n_moved: int,
        *,
        is_write: bool,
    ) -> tuple[int, TwoPhasePart | None]:
        """Start a rank's access in a collective access, with the ranges of all ranks known; see `start`.

        Returns
        -------
        request : int
            Request of the access, or 0.
        part : TwoPhasePart or None
            The rank's part in a two-phase access; None: the rank has accessed its own range.
        """
        if segment is None:
            return 0, None
        return self.start(opening, segment, first, n_moved, is_write=is_write, offset=None), None

    def pointer_to_tell(self, opening: RankOfFile) -> int:
        """Shared pointer that rank 0 announces to the others in an ordered access."""
        return opening.file.shared_pointer

    def ordered_offset(self, rank: int, order: Order) -> int:
        """Offset to pass to `want` for a rank whose access follows those of lower ranks."""
        return order.told_pointer + sum(order.n_etypes[:rank])

    def end_in_order(self, opening: RankOfFile) -> None:
        """Note that the last rank has accessed the file, after all others."""

    # ---- calls that move no bytes ----

    def seek(self, offset: int, whence: int) -> None:
        """Note a move of the rank's pointer."""

    def seek_shared(self, opening: RankOfFile, offset: int, whence: int) -> int:
        """Move the shared pointer, or read it (0, ``SEEK_CUR``); return a request, or 0."""
        return 0

    def before_view(self, opening: RankOfFile, displacement: int) -> int:
        """Prepare a change of the rank's view; return a request, or 0."""
        return 0

    def set_view(self, etype_extent: int) -> None:
        """Note that the rank's view of the file has changed."""

    def delete(self) -> None:
        """Note that the file was deleted."""

    def resize(self, size: int) -> int:
        """Change the size of the file; return a request, or 0."""
        return 0


class StorageAccesses(FreeAccesses):
    """Accesses to the storage of a machine, at the bytes of the file that the rank's view selects."""

    are_timed = True

    def want(self, opening: RankOfFile, ranges: Ranges, segment: BufferSegment | None, offset: int | None) -> None:
        nbytes = 0 if segment is None else opening.stored_bytes(segment)
        if nbytes:
            view = opening.view
            first = (opening.pointer if offset is None else offset) * view.etype_bytes
            begin, last = view.position(first), view.position(first + nbytes - 1) + 1
            ranges.want(opening.rank, begin, last, nbytes)
        else:
            ranges.want(opening.rank, 0, 0, 0)

    def start(
        self,
        opening: RankOfFile,
        segment: BufferSegment,
        first: int,
        n_moved: int,
        *,
        is_write: bool,
        offset: int | None,
    ) -> int:
        if not n_moved:
            return 0
        return current().start_access(0, opening.view.position(first), n_moved, is_write=is_write)

    def start_shared(
        self, opening: RankOfFile, segment: BufferSegment, first: int, n_moved: int, *, is_write: bool
    ) -> int:
        queue = opening.file.queue()
        position = opening.view.position(first) if n_moved else 0
        return current().start_access(0, position, n_moved, is_write=is_write, queue=queue)

    def start_together(
        self,
        opening: RankOfFile,
        ranges: Ranges,
        segment: BufferSegment | None,
        first: int,
        n_moved: int,
        *,
        is_write: bool,
    ) -> tuple[int, TwoPhasePart | None]:
        if ranges.are_empty:
            return 0, None
        if ranges.are_apart:
            return super().start_together(opening, ranges, segment, first, n_moved, is_write=is_write)
        part = ranges.part_of(opening.rank)
        nbytes = part.nbytes if is_write else min(part.nbytes, max(0, opening.file.size() - part.first))
        return current().start_access(0, part.first, nbytes, is_write=is_write) if nbytes else 0, part
