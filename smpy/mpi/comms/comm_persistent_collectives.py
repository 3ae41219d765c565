"""Collectives on buffers that are described once and started many times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.collectives import data_movement, reductions, varying_data_movement
from smpy.mpi.data.operations import SUM, Op
from smpy.mpi.requests.persistent import Prequest
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.state.info import INFO_NULL, Info

__all__ = ["PersistentCollectives"]


class PersistentCollectives(CommCore):
    """Collective calls on buffers, kept to be started."""

    __slots__ = ()

    @mpi_call
    def Barrier_init(self, info: Info = INFO_NULL) -> Prequest:
        """A `Barrier` to be started."""
        return data_movement.Barrier(self, "Barrier_init").persistent()

    @mpi_call
    def Bcast_init(self, buf: Any, root: int = 0, info: Info = INFO_NULL) -> Prequest:
        """A `Bcast` to be started."""
        return data_movement.Bcast(self, buf, root, "Bcast_init").persistent()

    @mpi_call
    def Gather_init(self, sendbuf: Any, recvbuf: Any, root: int = 0, info: Info = INFO_NULL) -> Prequest:
        """A `Gather` to be started."""
        return data_movement.Gather(self, sendbuf, recvbuf, root, "Gather_init").persistent()

    @mpi_call
    def Gatherv_init(self, sendbuf: Any, recvbuf: Any, root: int = 0, info: Info = INFO_NULL) -> Prequest:
        """A `Gatherv` to be started."""
        return varying_data_movement.Gatherv(self, sendbuf, recvbuf, root, "Gatherv_init").persistent()

    @mpi_call
    def Scatter_init(self, sendbuf: Any, recvbuf: Any, root: int = 0, info: Info = INFO_NULL) -> Prequest:
        """A `Scatter` to be started."""
        return data_movement.Scatter(self, sendbuf, recvbuf, root, "Scatter_init").persistent()

    @mpi_call
    def Scatterv_init(self, sendbuf: Any, recvbuf: Any, root: int = 0, info: Info = INFO_NULL) -> Prequest:
        """A `Scatterv` to be started."""
        return varying_data_movement.Scatterv(self, sendbuf, recvbuf, root, "Scatterv_init").persistent()

    @mpi_call
    def Allgather_init(self, sendbuf: Any, recvbuf: Any, info: Info = INFO_NULL) -> Prequest:
        """A `Allgather` to be started."""
        return data_movement.Allgather(self, sendbuf, recvbuf, "Allgather_init").persistent()

    @mpi_call
    def Allgatherv_init(self, sendbuf: Any, recvbuf: Any, info: Info = INFO_NULL) -> Prequest:
        """A `Allgatherv` to be started."""
        return varying_data_movement.Allgatherv(self, sendbuf, recvbuf, "Allgatherv_init").persistent()

    @mpi_call
    def Alltoall_init(self, sendbuf: Any, recvbuf: Any, info: Info = INFO_NULL) -> Prequest:
        """A `Alltoall` to be started."""
        return data_movement.Alltoall(self, sendbuf, recvbuf, "Alltoall_init").persistent()

    @mpi_call
    def Alltoallv_init(self, sendbuf: Any, recvbuf: Any, info: Info = INFO_NULL) -> Prequest:
        """A `Alltoallv` to be started."""
        return varying_data_movement.Alltoallv(self, sendbuf, recvbuf, "Alltoallv_init").persistent()

    @mpi_call
    def Alltoallw_init(self, sendbuf: Any, recvbuf: Any, info: Info = INFO_NULL) -> Prequest:
        """A `Alltoallw` to be started."""
        return varying_data_movement.Alltoallw(self, sendbuf, recvbuf, "Alltoallw_init").persistent()

    @mpi_call
    def Reduce_init(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0, info: Info = INFO_NULL) -> Prequest:
        """A `Reduce` to be started."""
        return reductions.Reduce(self, sendbuf, recvbuf, op, root, "Reduce_init").persistent()

    @mpi_call
    def Allreduce_init(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, info: Info = INFO_NULL) -> Prequest:
        """A `Allreduce` to be started."""
        return reductions.Allreduce(self, sendbuf, recvbuf, op, "Allreduce_init").persistent()

    @mpi_call
    def Reduce_scatter_block_init(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, info: Info = INFO_NULL) -> Prequest:
        """A `Reduce_scatter_block` to be started."""
        return reductions.ReduceScatterBlock(self, sendbuf, recvbuf, op, "Reduce_scatter_block_init").persistent()

    @mpi_call
    def Reduce_scatter_init(
        self, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Op = SUM, info: Info = INFO_NULL
    ) -> Prequest:
        """A `Reduce_scatter` to be started."""
        return reductions.ReduceScatter(self, sendbuf, recvbuf, recvcounts, op, "Reduce_scatter_init").persistent()
