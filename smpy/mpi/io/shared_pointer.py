"""Accesses to files at the pointer that all ranks share."""

from __future__ import annotations

from typing import Any

from smpy.engine.running import current, mpi_call
from smpy.mpi.io.file_core import FileCore
from smpy.mpi.requests.request import Request
from smpy.mpi.requests.status import Status, fill
from smpy.mpi.state.constants import SEEK_CUR, SEEK_SET

__all__ = ["SharedPointer"]


class SharedPointer(FileCore):
    """Read and write at the pointer of all ranks."""

    __slots__ = ()

    # ---- pointer ----

    @mpi_call
    def Seek_shared(self, offset: int, whence: int = SEEK_SET) -> None:
        """Move the shared pointer; all ranks do so together.

        Parameters
        ----------
        offset : int
            Distance in etypes.
        whence : int
            Origin of the distance: ``SEEK_SET``, ``SEEK_CUR`` or ``SEEK_END``.
        """
        opening = self._member("Seek_shared")
        opening.seek_shared(offset, whence)

    @mpi_call
    def Get_position_shared(self) -> int:
        """Position of the shared pointer, in etypes of the rank's view."""
        opening = self._member("Get_position_shared")
        opening.check_random("Get_position_shared")
        current().block("File.Get_position_shared")
        current().wait(opening.times.seek_shared(opening, 0, SEEK_CUR), "File.Get_position_shared")
        return opening.file.shared_pointer

    # ---- reading ----

    @mpi_call
    def Read_shared(self, buf: Any, status: Status | None = None) -> None:
        """Read entries at the shared pointer, and move the pointer behind them.

        Parameters
        ----------
        buf : buffer-like or sequence
            The entries in memory.
        status : Status, optional
            Gets their number.
        """
        fill(status, self._member("Read_shared").access_shared("Read_shared", buf, is_write=False))

    @mpi_call
    def Iread_shared(self, buf: Any) -> Request:
        """Start to read entries; see `Read_shared`."""
        opening = self._member("Iread_shared")
        return self._started(opening.start_shared("Iread_shared", buf, is_write=False))

    @mpi_call
    def Read_ordered(self, buf: Any, status: Status | None = None) -> None:
        """Read entries in rank order; see `Read_shared`."""
        fill(status, self._member("Read_ordered").access_in_order("Read_ordered", buf, is_write=False))

    @mpi_call
    def Read_ordered_begin(self, buf: Any) -> None:
        """Begin to read entries in rank order; see `Read_shared`."""
        opening = self._member("Read_ordered_begin")
        opening.begin("Read_ordered", lambda call: opening.access_in_order(call, buf, is_write=False))

    @mpi_call
    def Read_ordered_end(self, buf: Any, status: Status | None = None) -> None:
        """End the access that `Read_ordered_begin` has begun; see `Read_shared`."""
        fill(status, self._member("Read_ordered_end").finish("Read_ordered"))

    # ---- writing ----

    @mpi_call
    def Write_shared(self, buf: Any, status: Status | None = None) -> None:
        """Write entries at the shared pointer, and move the pointer behind them.

        Parameters
        ----------
        buf : buffer-like or sequence
            The entries in memory.
        status : Status, optional
            Gets their number.
        """
        fill(status, self._member("Write_shared").access_shared("Write_shared", buf, is_write=True))

    @mpi_call
    def Iwrite_shared(self, buf: Any) -> Request:
        """Start to write entries; see `Write_shared`."""
        opening = self._member("Iwrite_shared")
        return self._started(opening.start_shared("Iwrite_shared", buf, is_write=True))

    @mpi_call
    def Write_ordered(self, buf: Any, status: Status | None = None) -> None:
        """Write entries in rank order; see `Write_shared`."""
        fill(status, self._member("Write_ordered").access_in_order("Write_ordered", buf, is_write=True))

    @mpi_call
    def Write_ordered_begin(self, buf: Any) -> None:
        """Begin to write entries in rank order; see `Write_shared`."""
        opening = self._member("Write_ordered_begin")
        opening.begin("Write_ordered", lambda call: opening.access_in_order(call, buf, is_write=True))

    @mpi_call
    def Write_ordered_end(self, buf: Any, status: Status | None = None) -> None:
        """End the access that `Write_ordered_begin` has begun; see `Write_shared`."""
        fill(status, self._member("Write_ordered_end").finish("Write_ordered"))
