"""Collectives on buffers that are started: the request completes when the rank is through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.collectives import data_movement, reductions, varying_data_movement
from smpy.mpi.data.operations import SUM, Op
from smpy.mpi.requests.request import Request
from smpy.mpi.state.comm_core import CommCore

__all__ = ["NonblockingCollectives"]


class NonblockingCollectives(CommCore):
    """Collective calls on buffers that return at once."""

    __slots__ = ()

    @mpi_call
    def Ibarrier(self) -> Request:
        """Start a `Barrier`."""
        return data_movement.Barrier(self, "Ibarrier").start()

    @mpi_call
    def Ibcast(self, buf: Any, root: int = 0) -> Request:
        """Start a `Bcast`."""
        return data_movement.Bcast(self, buf, root, "Ibcast").start()

    @mpi_call
    def Igather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Start a `Gather`."""
        return data_movement.Gather(self, sendbuf, recvbuf, root, "Igather").start()

    @mpi_call
    def Igatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Start a `Gatherv`."""
        return varying_data_movement.Gatherv(self, sendbuf, recvbuf, root, "Igatherv").start()

    @mpi_call
    def Iscatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Start a `Scatter`."""
        return data_movement.Scatter(self, sendbuf, recvbuf, root, "Iscatter").start()

    @mpi_call
    def Iscatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Start a `Scatterv`."""
        return varying_data_movement.Scatterv(self, sendbuf, recvbuf, root, "Iscatterv").start()

    @mpi_call
    def Iallgather(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start a `Allgather`."""
        return data_movement.Allgather(self, sendbuf, recvbuf, "Iallgather").start()

    @mpi_call
    def Iallgatherv(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start a `Allgatherv`."""
        return varying_data_movement.Allgatherv(self, sendbuf, recvbuf, "Iallgatherv").start()

    @mpi_call
    def Ialltoall(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start a `Alltoall`."""
        return data_movement.Alltoall(self, sendbuf, recvbuf, "Ialltoall").start()

    @mpi_call
    def Ialltoallv(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start a `Alltoallv`."""
        return varying_data_movement.Alltoallv(self, sendbuf, recvbuf, "Ialltoallv").start()

    @mpi_call
    def Ialltoallw(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start a `Alltoallw`."""
        return varying_data_movement.Alltoallw(self, sendbuf, recvbuf, "Ialltoallw").start()

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
