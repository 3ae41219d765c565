"""Accesses to files at each rank's own pointer."""

from __future__ import annotations

from typing import Any

from smpy.engine.running import current, mpi_call
from smpy.mpi.io.file_core import FileCore
from smpy.mpi.requests.request import Request
from smpy.mpi.requests.status import Status, fill
from smpy.mpi.state.constants import SEEK_SET
from smpy.mpi.state.exceptions import fail

__all__ = ["IndividualPointer"]


class IndividualPointer(FileCore):
    """Read and write at the rank's own pointer."""

    __slots__ = ()

    # ---- pointer ----

    @mpi_call
    def Seek(self, offset: int, whence: int = SEEK_SET) -> None:
        """Move the rank's pointer.

        Parameters
        ----------
        offset : int
            Distance in etypes.
        whence : int
            Origin of the distance: ``SEEK_SET``, ``SEEK_CUR`` or ``SEEK_END``.
        """
        opening = self._member("Seek")
        opening.check_random("Seek")
        current().block("File.Seek")
        opening.pointer = opening.sought("Seek", opening.pointer, offset, whence)
        opening.times.seek(offset, whence)

    @mpi_call
    def Get_position(self) -> int:
        """Position of the rank's pointer, in etypes of its view."""
        opening = self._member("Get_position")
        opening.check_random("Get_position")
        return opening.pointer

    @mpi_call
    def Get_byte_offset(self, offset: int) -> int:
        """Byte of the file at which an etype begins.

        Parameters
        ----------
        offset : int
            Position of the etype in the rank's view.
        """
        opening = self._member("Get_byte_offset")
        opening.check_random("Get_byte_offset")
        if offset < 0:
            fail("ERR_ARG", f"File.Get_byte_offset({offset}): an offset is not negative")
        return opening.view.position(offset * opening.view.etype_bytes)

    # ---- reading ----

    @mpi_call
    def Read(self, buf: Any, status: Status | None = None) -> None:
        """Read entries at the rank's pointer, and move the pointer behind them.

        Parameters
        ----------
        buf : buffer-like or sequence
            The entries in memory.
        status : Status, optional
            Gets their number.
        """
        fill(status, self._member("Read").access("Read", buf, None, is_write=False))

    @mpi_call
    def Read_all(self, buf: Any, status: Status | None = None) -> None:
        """Read entries, together with the other ranks; see `Read`."""
        fill(status, self._member("Read_all").access_together("Read_all", buf, None, is_write=False))

    @mpi_call
    def Iread(self, buf: Any) -> Request:
        """Start to read entries; see `Read`."""
        opening = self._member("Iread")
        return self._started(opening.start("Iread", buf, None, is_write=False))

    @mpi_call
    def Iread_all(self, buf: Any) -> Request:
        """Start to read entries, in a call that the other ranks make, too; see `Read`."""
        opening = self._member("Iread_all")
        return self._started(opening.start("Iread_all", buf, None, is_write=False))

    @mpi_call
    def Read_all_begin(self, buf: Any) -> None:
        """Begin to read entries, together with the other ranks; see `Read`."""
        opening = self._member("Read_all_begin")
        opening.begin("Read_all", lambda call: opening.access_together(call, buf, None, is_write=False))

    @mpi_call
    def Read_all_end(self, buf: Any, status: Status | None = None) -> None:
        """End the access that `Read_all_begin` has begun; see `Read`."""
        fill(status, self._member("Read_all_end").finish("Read_all"))

    # ---- writing ----

    @mpi_call
    def Write(self, buf: Any, status: Status | None = None) -> None:
        """Write entries at the rank's pointer, and move the pointer behind them.

        Parameters
        ----------
        buf : buffer-like or sequence
            The entries in memory.
        status : Status, optional
            Gets their number.
        """
        fill(status, self._member("Write").access("Write", buf, None, is_write=True))

    @mpi_call
    def Write_all(self, buf: Any, status: Status | None = None) -> None:
        """Write entries, together with the other ranks; see `Write`."""
        fill(status, self._member("Write_all").access_together("Write_all", buf, None, is_write=True))

    @mpi_call
    def Iwrite(self, buf: Any) -> Request:
        """Start to write entries; see `Write`."""
        opening = self._member("Iwrite")
        return self._started(opening.start("Iwrite", buf, None, is_write=True))

    @mpi_call
    def Iwrite_all(self, buf: Any) -> Request:
        """Start to write entries, in a call that the other ranks make, too; see `Write`."""
        opening = self._member("Iwrite_all")
        return self._started(opening.start("Iwrite_all", buf, None, is_write=True))

    @mpi_call
    def Write_all_begin(self, buf: Any) -> None:
        """Begin to write entries, together with the other ranks; see `Write`."""
        opening = self._member("Write_all_begin")
        opening.begin("Write_all", lambda call: opening.access_together(call, buf, None, is_write=True))

    @mpi_call
    def Write_all_end(self, buf: Any, status: Status | None = None) -> None:
        """End the access that `Write_all_begin` has begun; see `Write`."""
        fill(status, self._member("Write_all_end").finish("Write_all"))
