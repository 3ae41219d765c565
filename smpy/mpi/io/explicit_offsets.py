"""Accesses to files at offsets passed to the call."""

from __future__ import annotations

from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.io.file_core import FileCore
from smpy.mpi.requests.request import Request
from smpy.mpi.requests.status import Status, fill

__all__ = ["ExplicitOffsets"]


class ExplicitOffsets(FileCore):
    """Read and write at offsets."""

    __slots__ = ()

    # ---- reading ----

    @mpi_call
    def Read_at(self, offset: int, buf: Any, status: Status | None = None) -> None:
        """Read entries, starting at an offset.

        Parameters
        ----------
        offset : int
            Position of the first, in etypes of the rank's view.
        buf : buffer-like or sequence
            The entries in memory.
        status : Status, optional
            Gets their number.
        """
        fill(status, self._member("Read_at").access("Read_at", buf, offset, is_write=False))

    @mpi_call
    def Read_at_all(self, offset: int, buf: Any, status: Status | None = None) -> None:
        """Read entries, together with the other ranks; see `Read_at`."""
        fill(status, self._member("Read_at_all").access_together("Read_at_all", buf, offset, is_write=False))

    @mpi_call
    def Iread_at(self, offset: int, buf: Any) -> Request:
        """Start to read entries; see `Read_at`."""
        opening = self._member("Iread_at")
        return self._started(opening.start("Iread_at", buf, offset, is_write=False))

    @mpi_call
    def Iread_at_all(self, offset: int, buf: Any) -> Request:
        """Start to read entries, in a call that the other ranks make, too; see `Read_at`."""
        opening = self._member("Iread_at_all")
        return self._started(opening.start("Iread_at_all", buf, offset, is_write=False))

    @mpi_call
    def Read_at_all_begin(self, offset: int, buf: Any) -> None:
        """Begin to read entries, together with the other ranks; see `Read_at`."""
        opening = self._member("Read_at_all_begin")
        opening.begin("Read_at_all", lambda call: opening.access_together(call, buf, offset, is_write=False))

    @mpi_call
    def Read_at_all_end(self, buf: Any, status: Status | None = None) -> None:
        """End the access that `Read_at_all_begin` has begun; see `Read_at`."""
        fill(status, self._member("Read_at_all_end").finish("Read_at_all"))

    # ---- writing ----

    @mpi_call
    def Write_at(self, offset: int, buf: Any, status: Status | None = None) -> None:
        """Write entries, starting at an offset.

        Parameters
        ----------
        offset : int
            Position of the first, in etypes of the rank's view.
        buf : buffer-like or sequence
            The entries in memory.
        status : Status, optional
            Gets their number.
        """
        fill(status, self._member("Write_at").access("Write_at", buf, offset, is_write=True))

    @mpi_call
    def Write_at_all(self, offset: int, buf: Any, status: Status | None = None) -> None:
        """Write entries, together with the other ranks; see `Write_at`."""
        fill(status, self._member("Write_at_all").access_together("Write_at_all", buf, offset, is_write=True))

    @mpi_call
    def Iwrite_at(self, offset: int, buf: Any) -> Request:
        """Start to write entries; see `Write_at`."""
        opening = self._member("Iwrite_at")
        return self._started(opening.start("Iwrite_at", buf, offset, is_write=True))

    @mpi_call
    def Iwrite_at_all(self, offset: int, buf: Any) -> Request:
        """Start to write entries, in a call that the other ranks make, too; see `Write_at`."""
        return self._started(self._member("Iwrite_at_all").start("Iwrite_at_all", buf, offset, is_write=True))

    @mpi_call
    def Write_at_all_begin(self, offset: int, buf: Any) -> None:
        """Begin to write entries, together with the other ranks; see `Write_at`."""
        opening = self._member("Write_at_all_begin")
        opening.begin("Write_at_all", lambda call: opening.access_together(call, buf, offset, is_write=True))

    @mpi_call
    def Write_at_all_end(self, buf: Any, status: Status | None = None) -> None:
        """End the access that `Write_at_all_begin` has begun; see `Write_at`."""
        fill(status, self._member("Write_at_all_end").finish("Write_at_all"))
