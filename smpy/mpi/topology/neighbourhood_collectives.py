"""Collectives on buffers among the neighbours in a topology: blocking, non-blocking and persistent."""

from __future__ import annotations

from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.collectives.forms import persistent, started
from smpy.mpi.data.block_specifications import several_of, vector_of
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.topology.neighbourhoods import Exchange

__all__ = ["NeighbourhoodCollectives"]


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


def _equal_blocks(spec: Any, n: int, *, is_written: bool) -> list[BufferSegment]:
    """The blocks of a buffer; without neighbours it is a buffer all the same, which may be empty."""
    whole = part_of(spec, is_written=is_written, n_blocks=n)
    step = whole.count * whole.layout.extent
    return [BufferSegment(whole.memory, whole.start + block * step, whole.count, whole.datatype) for block in range(n)]


class NeighbourhoodCollectives(CommCore):
    """Collective calls on buffers, among neighbours."""

    __slots__ = ()

    @mpi_call
    def Neighbor_allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Send all neighbours one block, and receive one from each."""
        _allgather(self, sendbuf, recvbuf, "Neighbor_allgather").perform()

    Ineighbor_allgather = started(Neighbor_allgather, _allgather)
    Neighbor_allgather_init = persistent(Neighbor_allgather, _allgather)

    @mpi_call
    def Neighbor_allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Send all neighbours one block, and receive one of its own size from each."""
        _allgatherv(self, sendbuf, recvbuf, "Neighbor_allgatherv").perform()

    Ineighbor_allgatherv = started(Neighbor_allgatherv, _allgatherv)
    Neighbor_allgatherv_init = persistent(Neighbor_allgatherv, _allgatherv)

    @mpi_call
    def Neighbor_alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Send each neighbour its block, and receive one from each."""
        _alltoall(self, sendbuf, recvbuf, "Neighbor_alltoall").perform()

    Ineighbor_alltoall = started(Neighbor_alltoall, _alltoall)
    Neighbor_alltoall_init = persistent(Neighbor_alltoall, _alltoall)

    @mpi_call
    def Neighbor_alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Send each neighbour its block, and receive one from each; blocks have sizes of their own."""
        _alltoallv(self, sendbuf, recvbuf, "Neighbor_alltoallv").perform()

    Ineighbor_alltoallv = started(Neighbor_alltoallv, _alltoallv)
    Neighbor_alltoallv_init = persistent(Neighbor_alltoallv, _alltoallv)

    @mpi_call
    def Neighbor_alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """Send each neighbour its block, and receive one from each; blocks have sizes and datatypes of their own."""
        _alltoallw(self, sendbuf, recvbuf, "Neighbor_alltoallw").perform()

    Ineighbor_alltoallw = started(Neighbor_alltoallw, _alltoallw)
    Neighbor_alltoallw_init = persistent(Neighbor_alltoallw, _alltoallw)
