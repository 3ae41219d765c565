"""Accesses to files that take simulated time, started by the running rank."""

from __future__ import annotations

from smpy.engine.file_places import WorldPlaces
from smpy.engine.kernel import lib
from smpy.engine.loop import check
from smpy.engine.point_to_point import PointToPoint


class FileAccesses(PointToPoint):
    """Ranges of files that ranks read and write on the disks of a machine."""

    _places: WorldPlaces | None = None

    def file_places(self) -> WorldPlaces | None:
        """Places of files in this world, which the kernel knows from now on; None if the machine has no disks."""
        if self._places is None and self.platform.file_places.are_known:
            self._places = WorldPlaces(self._sim, self.platform.file_places)
        return self._places

    def host(self) -> int:
        """Number of the running rank's host."""
        return self._host_of_rank[self.rank]

    def start_access(self, place: int, offset: int, nbytes: int, *, is_write: bool, queue: int = 0) -> int:
        """Start to read or write a range of a file; return the number of its request.

        Parameters
        ----------
        place : int
            Place of the file among those of the running rank's host, which the kernel has been told; -1: none, where
            an access takes no time.
        offset, nbytes : int
            First byte in the file, and number of bytes.
        is_write : bool
            Whether they are written.
        queue : int
            Accesses with the same number above 0 follow one another.
        """
        number = int(lib.sim_append_file_access(self._sim, self.timeline, place, is_write, offset, nbytes, queue))
        check(number)
        self._keep_pace()
        return number
