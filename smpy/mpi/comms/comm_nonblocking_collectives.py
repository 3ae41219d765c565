"""Collectives on buffers that are started: the request completes when the rank is through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.comms.comm_core import CommCore
from smpy.mpi.data.operations import SUM, Op
from smpy.mpi.meetings import movements, reductions, varying_movements
from smpy.mpi.pending.requests import Request

__all__ = ["NonblockingCollectives"]


class NonblockingCollectives(CommCore):
    """Collective calls on buffers that return at once."""

    __slots__ = ()

    @mpi_call
    def Ibarrier(self) -> Request:
        """Start a `Barrier`."""
        return movements.Barrier(self, "Ibarrier").start()

    @mpi_call
    def Ibcast(self, buf: Any, root: int = 0) -> Request:
        """Start a `Bcast`."""
        return movements.Bcast(self, buf, root, "Ibcast").start()

    @mpi_call
    def Igather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Start a `Gather`."""
        return movements.Gather(self, sendbuf, recvbuf, root, "Igather").start()

    @mpi_call
    def Igatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Start a `Gatherv`."""
        return varying_movements.Gatherv(self, sendbuf, recvbuf, root, "Igatherv").start()

    @mpi_call
    def Iscatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Start a `Scatter`."""
        return movements.Scatter(self, sendbuf, recvbuf, root, "Iscatter").start()

    @mpi_call
    def Iscatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Start a `Scatterv`."""
        return varying_movements.Scatterv(self, sendbuf, recvbuf, root, "Iscatterv").start()

    @mpi_call
    def Iallgather(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start a `Allgather`."""
        return movements.Allgather(self, sendbuf, recvbuf, "Iallgather").start()

    @mpi_call
    def Iallgatherv(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start a `Allgatherv`."""
        return varying_movements.Allgatherv(self, sendbuf, recvbuf, "Iallgatherv").start()

    @mpi_call
    def Ialltoall(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start a `Alltoall`."""
        return movements.Alltoall(self, sendbuf, recvbuf, "Ialltoall").start()

    @mpi_call
    def Ialltoallv(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start a `Alltoallv`."""
        return varying_movements.Alltoallv(self, sendbuf, recvbuf, "Ialltoallv").start()

    @mpi_call
    def Ialltoallw(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start a `Alltoallw`."""
        return varying_movements.Alltoallw(self, sendbuf, recvbuf, "Ialltoallw").start()

    @mpi_call
    def Ireduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> Request:
        """Start a `Reduce`."""
        return reductions.Reduce(self, sendbuf, recvbuf, op, root, "Ireduce").start()

    @mpi_call
    def Iallreduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> Request:
        """Start a `Allreduce`."""
        return reductions.Allreduce(self, sendbuf, recvbuf, op, "Iallreduce").start()

    @mpi_call
    def Ireduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> Request:
        """Start a `Reduce_scatter_block`."""
        return reductions.ReduceScatterBlock(self, sendbuf, recvbuf, op, "Ireduce_scatter_block").start()

    @mpi_call
    def Ireduce_scatter(
        self, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Op = SUM
    ) -> Request:
        """Start a `Reduce_scatter`."""
        return reductions.ReduceScatter(self, sendbuf, recvbuf, recvcounts, op, "Ireduce_scatter").start()
