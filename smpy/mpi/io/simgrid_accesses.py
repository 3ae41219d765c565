"""Accesses to SimGrid's disks, timed as in SMPI 3.32: each rank has a file handle with a position and a size.

SMPI reads and writes no data. The time of an access follows from the handle. Its size grows with the rank's own
writes and seeks, and a read is cut at that size. Views move the pointer of rank 0 only, and offsets passed to a call
are bytes. A read of 0 bytes behind the end of a file that is not empty is an operation of the disk, too, and ends at
once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

from smpy.engine.running import current, per_world
from smpy.mpi.io.access_times import FreeAccesses, RankOfFile
from smpy.mpi.io.two_phase import Ranges, SmpiRanges, TwoPhasePart
from smpy.mpi.state.constants import DISPLACEMENT_CURRENT, MODE_APPEND, SEEK_CUR, SEEK_END, SEEK_SET

if TYPE_CHECKING:
    from smpy.engine.file_places import WorldPlaces
    from smpy.mpi.data.buffer_segments import BufferSegment
    from smpy.mpi.io.order import Order

__all__ = ["SimGridAccesses", "simgrid_accesses"]


_NOWHERE: Final = -1


class _Contents(dict[tuple[int, str], dict[str, int]]):
    """Sizes of the files on each disk: by host and name of the disk, then by path."""


class SimGridAccesses(FreeAccesses):
    """One rank's handle of a file on a disk.

    Parameters
    ----------
    place : int
        Index of the disk's mount point on the rank's host.
    content : dict of str to int
        Sizes of the files on the disk.
    path : str
        Path of the file on the disk.
    size : int
        Size of the file when the first rank opened it.
    """

    ranges = SmpiRanges
    are_timed = True
    waits_to_resize = False

    def __init__(self, place: int, content: dict[str, int], path: str, size: int) -> None:
        self._place = place
        self._content = content
        self._path = path
        self._size = size
        self._position = 0
        self._etype_extent = 1
        self._queue = 0
        self._before: int | None = None
        self._reached = 0
        self._shared_pointer: int | None = None  # set until the access or move at the pointer is over

    # ---- the handle ----

    def _go_to(self, position: int) -> None:
        self._position = position
        if position > self._size:
            self._content[self._path] = self._size = position

    def seek(self, offset: int, whence: int) -> None:
        origin = {SEEK_SET: 0, SEEK_CUR: self._position, SEEK_END: self._size}[whence]
        self._go_to(max(0, origin + offset * self._etype_extent))

    def _access(self, count: int, size: int, extent: int, *, is_write: bool) -> int:
        """Move the handle over entries, and start the operation of the disk; return its request, or 0 for none."""
        begin, nbytes, request = self._position, count * size, 0
        if is_write and nbytes:
            request = self._start(begin, nbytes, is_write=True)
            self._go_to(begin + nbytes)
        elif not is_write and self._size:
            nbytes = min(nbytes, self._size - begin)
            request = self._start(begin, nbytes, is_write=False)
            self._position = begin + nbytes
        if size != extent:
            self._go_to(begin + count * extent)
        return request

    def _start(self, first: int, nbytes: int, *, is_write: bool) -> int:
        return current().start_access(self._place, first, nbytes, is_write=is_write, queue=self._queue)

    def _queue_alone(self, opening: RankOfFile) -> int:
        """Wait for ranks that hold the shared pointer."""
        return current().start_access(_NOWHERE, 0, 0, is_write=False, queue=opening.file.queue())

    # ---- accesses of a rank alone ----

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
        layout, before = segment.layout, self._position // self._etype_extent
        if not segment.count and not (is_write and offset is not None):
            return 0
        if offset is not None:
            self._go_to(offset)
        request = self._access(segment.count, layout.size, layout.extent, is_write=is_write)
        if offset is not None:
            self._go_to(before)
        return request

    def start_shared(
        self, opening: RankOfFile, segment: BufferSegment, first: int, n_moved: int, *, is_write: bool
    ) -> int:
        layout, shared = segment.layout, opening.file
        if not segment.count:
            return 0
        self._go_to(shared.simgrid_pointer)
        self._queue = shared.queue()
        request = self._access(segment.count, layout.size, layout.extent, is_write=is_write)
        self._queue = 0
        self._move_shared(opening)
        return request or self._queue_alone(opening)

    def _move_shared(self, opening: RankOfFile) -> None:
        opening.file.simgrid_pointer = self._shared_pointer = self._position

    def end_shared(self, opening: RankOfFile) -> None:
        if self._shared_pointer is not None:
            opening.file.simgrid_pointer_behind_ended = self._shared_pointer
            self._shared_pointer = None

    def seek_shared(self, opening: RankOfFile, offset: int, whence: int) -> int:
        current().block("File.Seek_shared")
        self.seek(offset, whence)
        if (offset, whence) != (0, SEEK_CUR):
            self._move_shared(opening)
        return self._queue_alone(opening)

    def before_view(self, opening: RankOfFile, displacement: int) -> int:
        """Move the shared pointer on rank 0, after unfinished accesses that hold it."""
        if opening.rank != 0:
            return 0
        current().block("File.Set_view")
        if displacement != DISPLACEMENT_CURRENT:
            self._go_to(displacement)
        self._move_shared(opening)
        return self._queue_alone(opening)

    def set_view(self, etype_extent: int) -> None:
        self._etype_extent = max(1, etype_extent)

    def delete(self) -> None:
        self._content.pop(self._path, None)

    def resize(self, size: int) -> int:
        return self._access(size, 1, 1, is_write=True)

    # ---- collective accesses ----

    def want(self, opening: RankOfFile, ranges: Ranges, segment: BufferSegment | None, offset: int | None) -> None:
        smpi, rank = cast("SmpiRanges", ranges), opening.rank
        self._before = None if offset is None else self._position // self._etype_extent
        if offset is not None:
            self._go_to(offset)
        begin = self._position
        smpi.want(rank, begin, begin, 0)
        if segment is not None:
            layout = segment.layout
            smpi.size[rank], smpi.extent[rank] = layout.size, max(1, layout.extent)
            smpi.are_dense = smpi.are_dense and layout.typemap.is_tiling
            smpi.want(rank, begin, begin + segment.count * layout.extent, segment.nbytes)

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
        smpi, rank = cast("SmpiRanges", ranges), opening.rank
        request, part = 0, None
        if smpi.are_empty:
            pass
        elif smpi.are_apart:
            if segment is not None:
                layout = segment.layout
                request = self._access(segment.count, layout.size, layout.extent, is_write=is_write)
                self._go_to(smpi.last[rank])
        else:
            part = smpi.part_of(rank)
            if part.nbytes > 0:
                size, extent = smpi.size[rank], smpi.extent[rank]
                self._go_to(part.first)
                request = self._access(part.nbytes // extent, size, extent, is_write=is_write)
                self._go_to(smpi.last[rank])
        self._reached = self._position
        if self._before is not None:
            self._go_to(self._before)
        return request, part

    def pointer_to_tell(self, opening: RankOfFile) -> int:
        return opening.file.simgrid_pointer_behind_ended

    def ordered_offset(self, rank: int, order: Order) -> int:
        return order.told_pointer + sum(order.n_bytes[1 : rank + 1])

    def end_in_order(self, opening: RankOfFile) -> None:
        opening.file.simgrid_pointer = opening.file.simgrid_pointer_behind_ended = self._reached


def simgrid_accesses(places: WorldPlaces, opening: RankOfFile, filename: str, amode: int) -> SimGridAccesses | None:
    """Handle of the running rank on a file opened by this name; None if the file is on no disk that its host sees."""
    mount = places.mount_of(current().host(), filename)
    if mount is None:
        return None
    place, mounted = mount
    contents = per_world(_Contents)
    key = mounted.host, mounted.disk.name
    if key not in contents:
        contents[key] = dict(mounted.disk.content)
    name = filename if os.path.isabs(filename) else f"{mounted.mount}/{filename.removeprefix('./')}"
    path = name if mounted.mount == "/" else name.removeprefix(mounted.mount)
    size = contents[key].setdefault(path, opening.file.first_size)
    size = opening.file.simgrid_sizes.setdefault(key, size)  # before any rank goes on
    handle = SimGridAccesses(place, contents[key], path, size)
    if amode & MODE_APPEND:
        handle.seek(0, SEEK_END)
    return handle
