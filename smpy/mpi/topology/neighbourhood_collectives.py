"""Collectives on buffers among the neighbours in a topology: blocking, non-blocking and persistent."""

from __future__ import annotations

from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.data.block_specifications import several_of, vector_of
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.data.parts import Part
from smpy.mpi.requests.persistent import Prequest
from smpy.mpi.requests.request import Request
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.topology.neighbourhoods import Exchange

__all__ = ["NeighbourhoodCollectives"]


class NeighbourhoodCollectives(CommCore):
    """Collective calls on buffers, among neighbours."""

    __slots__ = ()

    @mpi_call
    def Neighbor_allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Send all neighbours one block, and receive one from each."""
        _allgather(self, sendbuf, recvbuf, "Neighbor_allgather").perform()

    @mpi_call
    def Neighbor_allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Send all neighbours one block, and receive one of its own size from each."""
        _allgatherv(self, sendbuf, recvbuf, "Neighbor_allgatherv").perform()

    @mpi_call
    def Neighbor_alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Send each neighbour its block, and receive one from each."""
        _alltoall(self, sendbuf, recvbuf, "Neighbor_alltoall").perform()

    @mpi_call
    def Neighbor_alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Send each neighbour its block, and receive one from each; blocks have sizes of their own."""
        _alltoallv(self, sendbuf, recvbuf, "Neighbor_alltoallv").perform()

    @mpi_call
    def Neighbor_alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """Send each neighbour its block, and receive one from each; blocks have sizes and datatypes of their own."""
        _alltoallw(self, sendbuf, recvbuf, "Neighbor_alltoallw").perform()

    @mpi_call
    def Ineighbor_allgather(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start `Neighbor_allgather`."""
        return _allgather(self, sendbuf, recvbuf, "Ineighbor_allgather").start()

    @mpi_call
    def Ineighbor_allgatherv(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start `Neighbor_allgatherv`."""
        return _allgatherv(self, sendbuf, recvbuf, "Ineighbor_allgatherv").start()

    @mpi_call
    def Ineighbor_alltoall(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start `Neighbor_alltoall`."""
        return _alltoall(self, sendbuf, recvbuf, "Ineighbor_alltoall").start()

    @mpi_call
    def Ineighbor_alltoallv(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start `Neighbor_alltoallv`."""
        return _alltoallv(self, sendbuf, recvbuf, "Ineighbor_alltoallv").start()

    @mpi_call
    def Ineighbor_alltoallw(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Start `Neighbor_alltoallw`."""
        return _alltoallw(self, sendbuf, recvbuf, "Ineighbor_alltoallw").start()

    @mpi_call
    def Neighbor_allgather_init(self, sendbuf: Any, recvbuf: Any, info: Any = None) -> Prequest:
        """Describe `Neighbor_allgather`; `info` is ignored."""
        return _allgather(self, sendbuf, recvbuf, "Neighbor_allgather_init").persistent()

    @mpi_call
    def Neighbor_allgatherv_init(self, sendbuf: Any, recvbuf: Any, info: Any = None) -> Prequest:
        """Describe `Neighbor_allgatherv`; `info` is ignored."""
        return _allgatherv(self, sendbuf, recvbuf, "Neighbor_allgatherv_init").persistent()

    @mpi_call
    def Neighbor_alltoall_init(self, sendbuf: Any, recvbuf: Any, info: Any = None) -> Prequest:
        """Describe `Neighbor_alltoall`; `info` is ignored."""
        return _alltoall(self, sendbuf, recvbuf, "Neighbor_alltoall_init").persistent()

    @mpi_call
    def Neighbor_alltoallv_init(self, sendbuf: Any, recvbuf: Any, info: Any = None) -> Prequest:
        """Describe `Neighbor_alltoallv`; `info` is ignored."""
        return _alltoallv(self, sendbuf, recvbuf, "Neighbor_alltoallv_init").persistent()

    @mpi_call
    def Neighbor_alltoallw_init(self, sendbuf: Any, recvbuf: Any, info: Any = None) -> Prequest:
        """Describe `Neighbor_alltoallw`; `info` is ignored."""
        return _alltoallw(self, sendbuf, recvbuf, "Neighbor_alltoallw_init").persistent()


def _allgather(comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> Exchange:
    mine = Exchange(comm, call)
    out = [part_of(sendbuf, is_written=False)] * len(mine.outgoing)
    return mine.between(out, _equal_blocks(recvbuf, len(mine.incoming), is_written=True))


def _allgatherv(comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> Exchange:
    mine = Exchange(comm, call)
    out = [part_of(sendbuf, is_written=False)] * len(mine.outgoing)
    return mine.between(out, vector_of(recvbuf, is_written=True, n_blocks=len(mine.incoming)))


def _alltoall(comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> Exchange:
    mine = Exchange(comm, call)
    out = _equal_blocks(sendbuf, len(mine.outgoing), is_written=False)
    return mine.between(out, _equal_blocks(recvbuf, len(mine.incoming), is_written=True))


def _alltoallv(comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> Exchange:
    mine = Exchange(comm, call)
    out = vector_of(sendbuf, is_written=False, n_blocks=len(mine.outgoing))
    return mine.between(out, vector_of(recvbuf, is_written=True, n_blocks=len(mine.incoming)))


def _alltoallw(comm: CommCore, sendbuf: Any, recvbuf: Any, call: str) -> Exchange:
    mine = Exchange(comm, call)
    out = several_of(sendbuf, is_written=False, n_blocks=len(mine.outgoing))
    return mine.between(out, several_of(recvbuf, is_written=True, n_blocks=len(mine.incoming)))


def _equal_blocks(spec: Any, n: int, *, is_written: bool) -> list[Part]:
    """The blocks of a buffer; without neighbours it is a buffer all the same."""
    whole = part_of(spec, is_written=is_written, n_blocks=max(n, 1))
    step = whole.count * whole.layout.extent
    return [Part(whole.memory, whole.start + block * step, whole.count, whole.datatype) for block in range(n)]
