"""Simulated time of accesses to files: none, that of a machine's storage, or that of SimGrid's disks.

A file's times are chosen when a rank opens it. `Opening` moves the bytes; then it has the times start the access.
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
    """One rank's part in an open file, as far as its times need it: an `Opening`."""

    rank: int
    file: OpenFile
    view: View
    pointer: int

    def stored_bytes(self, segment: BufferSegment) -> int:
        """Number of bytes that entries have in the file."""


class FreeAccesses:
    """Accesses that take no time, and are counted for a remark.

    Attributes
    ----------
    ranges : type of Ranges
        What the ranks of a collective access tell each other.
    are_timed : bool
        Whether accesses take time.
    waits_to_resize : bool
        Whether the ranks that change a file's size, or how it is seen, wait for each other.
    """

    ranges: type[Ranges] = Ranges
    are_timed = False
    waits_to_resize = True

    def want(self, opening: RankOfFile, ranges: Ranges, segment: BufferSegment | None, offset: int | None) -> None:
        """Leave the range that a rank wants in a collective access; without a segment it wants nothing."""

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
        """Start an access whose bytes have been moved: its request, 0: it is over.

        Parameters
        ----------
        opening : RankOfFile
            The rank's part in the file.
        segment : BufferSegment
            The entries in memory.
        first, n_moved : int
            First byte in the view, and number of the bytes in the file.
        is_write : bool
            Whether they were written.
        offset : int or None
            Offset that the call names; None: the rank's pointer.
        """
        moved = per_world(BytesOfFiles)
        moved.n_written += n_moved * is_write
        moved.n_read += n_moved * (not is_write)
        return 0

    def start_shared(
        self, opening: RankOfFile, segment: BufferSegment, first: int, n_moved: int, *, is_write: bool
    ) -> int:
        """Start an access at the shared pointer, behind those before it; see `start`."""
        return self.start(opening, segment, first, n_moved, is_write=is_write, offset=first)

    def end_shared(self, opening: RankOfFile) -> None:
        """The rank's access at the shared pointer, or its move of it, is over."""

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
        """Start a rank's access in a collective one, of which all ranges are known; see `start`.

        Returns
        -------
        request : int
            Its request, or 0.
        part : TwoPhasePart or None
            Its part in a two-phase access; None: it has accessed its own range.
        """
        if segment is None:
            return 0, None
        return self.start(opening, segment, first, n_moved, is_write=is_write, offset=None), None

    def pointer_to_tell(self, opening: RankOfFile) -> int:
        """The shared pointer, as rank 0 tells it the others in an ordered access."""
        return opening.file.shared_pointer

    def ordered_offset(self, rank: int, order: Order) -> int:
        """Offset to `want` of a rank that accesses the file behind the ranks before it."""
        return order.told_pointer + sum(order.n_etypes[:rank])

    def end_in_order(self, opening: RankOfFile) -> None:
        """The last rank has accessed the file behind all others."""

    # ---- calls that move no bytes ----

    def seek(self, offset: int, whence: int) -> None:
        """The rank's pointer moves."""

    def seek_shared(self, opening: RankOfFile, offset: int, whence: int) -> int:
        """The shared pointer moves, or is asked for (0, ``SEEK_CUR``): a request, or 0."""
        return 0

    def before_view(self, opening: RankOfFile, displacement: int) -> int:
        """The rank is about to see another part of the file: a request, or 0."""
        return 0

    def set_view(self, etype_extent: int) -> None:
        """The rank sees another part of the file."""

    def delete(self) -> None:
        """The file is deleted."""

    def resize(self, size: int) -> int:
        """The file gets a size: a request, or 0."""
        return 0


class StorageAccesses(FreeAccesses):
    """Accesses to the storage of a machine, at the bytes of the file that the rank sees."""

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
