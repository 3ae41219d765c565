"""Collectives that move the contents of buffers, each blocking, started and persistent."""

from __future__ import annotations

from typing import Any, Final

from smpy.engine.running import mpi_call
from smpy.mpi.collectives import data_movement, varying_data_movement
from smpy.mpi.collectives.blocks import Blocks
from smpy.mpi.collectives.call import check_root
from smpy.mpi.collectives.forms import persistent, started
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.state.comm_core import CommCore, member_of
from smpy.mpi.state.world import Communicator

__all__ = ["DataMovement"]

_BARRIER: Final = Signature("Barrier")


class DataMovement(CommCore):
    """Collective calls that move the contents of buffers."""

    __slots__ = ()

    @mpi_call
    def Barrier(self) -> None:
        """Wait until all ranks have come."""
        self._barrier("Barrier")

    Ibarrier = started(Barrier, data_movement.Barrier)
    Barrier_init = persistent(Barrier, data_movement.Barrier)

    def _barrier(self, call: str) -> None:
        communicator, rank = member_of(self, call)
        collective = enter(communicator, rank, _BARRIER, object)
        perform(collective, communicator, "barrier", 0, 0, call)
        collective.leave()

    @mpi_call
    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Give all ranks the contents of the root's buffer."""
        communicator, rank = member_of(self, "Bcast")
        if communicator.is_inter:
            data_movement.Bcast(self, buf, root, "Bcast").perform()
        else:
            _bcast_in_group(communicator, rank, buf, root)

    Ibcast = started(Bcast, data_movement.Bcast)
    Bcast_init = persistent(Bcast, data_movement.Bcast)

    @mpi_call
    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Put the blocks of all ranks, in rank order, into the root's buffer."""
        data_movement.Gather(self, sendbuf, recvbuf, root, "Gather").perform()

    Igather = started(Gather, data_movement.Gather)
    Gather_init = persistent(Gather, data_movement.Gather)

    @mpi_call
    def Gatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Put the blocks of all ranks, each of its own size, where the root wants them."""
        varying_data_movement.Gatherv(self, sendbuf, recvbuf, root, "Gatherv").perform()

    Igatherv = started(Gatherv, varying_data_movement.Gatherv)
    Gatherv_init = persistent(Gatherv, varying_data_movement.Gatherv)

    @mpi_call
    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Give each rank its block of the root's buffer."""
        data_movement.Scatter(self, sendbuf, recvbuf, root, "Scatter").perform()

    Iscatter = started(Scatter, data_movement.Scatter)
    Scatter_init = persistent(Scatter, data_movement.Scatter)

    @mpi_call
    def Scatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Give each rank its block of the root's buffer, each of its own size."""
        varying_data_movement.Scatterv(self, sendbuf, recvbuf, root, "Scatterv").perform()

    Iscatterv = started(Scatterv, varying_data_movement.Scatterv)
    Scatterv_init = persistent(Scatterv, varying_data_movement.Scatterv)

    @mpi_call
    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Put the blocks of all ranks, in rank order, into every rank's buffer."""
        data_movement.Allgather(self, sendbuf, recvbuf, "Allgather").perform()

    Iallgather = started(Allgather, data_movement.Allgather)
    Allgather_init = persistent(Allgather, data_movement.Allgather)

    @mpi_call
    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Put the blocks of all ranks, each of its own size, where every rank wants them."""
        varying_data_movement.Allgatherv(self, sendbuf, recvbuf, "Allgatherv").perform()

    Iallgatherv = started(Allgatherv, varying_data_movement.Allgatherv)
    Allgatherv_init = persistent(Allgatherv, varying_data_movement.Allgatherv)

    @mpi_call
    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Give every rank a block, and get one from every rank."""
        data_movement.Alltoall(self, sendbuf, recvbuf, "Alltoall").perform()

    Ialltoall = started(Alltoall, data_movement.Alltoall)
    Alltoall_init = persistent(Alltoall, data_movement.Alltoall)

    @mpi_call
    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Give every rank a block, and get one from every rank, each of its own size."""
        varying_data_movement.Alltoallv(self, sendbuf, recvbuf, "Alltoallv").perform()

    Ialltoallv = started(Alltoallv, varying_data_movement.Alltoallv)
    Alltoallv_init = persistent(Alltoallv, varying_data_movement.Alltoallv)

    @mpi_call
    def Alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """Give every rank a block, and get one from every rank, each of its own size and datatype."""
        varying_data_movement.Alltoallw(self, sendbuf, recvbuf, "Alltoallw").perform()

    Ialltoallw = started(Alltoallw, varying_data_movement.Alltoallw)
    Alltoallw_init = persistent(Alltoallw, varying_data_movement.Alltoallw)


def _bcast_in_group(communicator: Communicator, rank: int, buf: Any, root: int) -> None:
    """Broadcast in an intracommunicator like `data_movement.Bcast`, without its object: programs broadcast often."""
    root = check_root(communicator, root, "Bcast")
    part = part_of(buf, is_written=rank != root)
    collective = enter(communicator, rank, Signature("Bcast", root, part.nbytes), Blocks, 1)
    if rank == root:
        collective.payload.leave(0, part.carried_in_time())
    perform(collective, communicator, "bcast", root, part.nbytes, "Bcast")
    if rank != root:
        collective.payload.deliver(part)
    collective.leave()
