"""Scans on buffers: every rank gets the reduction of those before it."""

from __future__ import annotations

from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.collectives import reductions
from smpy.mpi.data.operations import SUM, Op
from smpy.mpi.requests.persistent import Prequest
from smpy.mpi.requests.request import Request
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.state.info import INFO_NULL, Info

__all__ = ["Scans"]


class Scans(CommCore):
    """Scans: calls of communicators of one group."""

    __slots__ = ()

    @mpi_call
    def Scan(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Reduce the buffers of the ranks up to and with each, for it."""
        reductions.Scan(self, sendbuf, recvbuf, op, "Scan").perform()

    @mpi_call
    def Exscan(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Reduce the buffers of the ranks before each, for it; the first gets nothing."""
        reductions.Exscan(self, sendbuf, recvbuf, op, "Exscan").perform()

    @mpi_call
    def Iscan(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> Request:
        """Start a `Scan`."""
        return reductions.Scan(self, sendbuf, recvbuf, op, "Iscan").start()

    @mpi_call
    def Iexscan(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> Request:
        """Start a `Exscan`."""
        return reductions.Exscan(self, sendbuf, recvbuf, op, "Iexscan").start()

    @mpi_call
    def Scan_init(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, info: Info = INFO_NULL) -> Prequest:
        """A `Scan` to be started."""
        return reductions.Scan(self, sendbuf, recvbuf, op, "Scan_init").persistent()

    @mpi_call
    def Exscan_init(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, info: Info = INFO_NULL) -> Prequest:
        """A `Exscan` to be started."""
        return reductions.Exscan(self, sendbuf, recvbuf, op, "Exscan_init").persistent()
