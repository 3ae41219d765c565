"""Collectives on buffers: parse, meet, take the time, take the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from smpy.engine.kernel import surface
from smpy.engine.running import mpi_call
from smpy.mpi.collectives import data_movement, reductions, varying_data_movement
from smpy.mpi.collectives.blocks import Blocks
from smpy.mpi.collectives.call import check_root
from smpy.mpi.collectives.open_collective import NOT_COMPARED, Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.data.datatypes import of_format
from smpy.mpi.data.folds import Fold, check_defined
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.data.operations import SUM, Op
from smpy.mpi.state.bases import taken_over
from smpy.mpi.state.comm_core import CommCore, member_of
from smpy.mpi.state.world import Communicator

__all__ = ["Collectives"]

_BARRIER: Final = Signature("Barrier")


@taken_over("Allreduce")
class Collectives(CommCore):
    """Collective calls on buffers."""

    __slots__ = ()

    @mpi_call
    def Barrier(self) -> None:
        """Wait until all ranks have come."""
        self._barrier("Barrier")

    def _barrier(self, call: str) -> None:
        communicator, rank = member_of(self, call)
        collective = enter(communicator, rank, _BARRIER, object)
        perform(collective, communicator, "barrier", 0, 0, call)
        collective.leave()

    @mpi_call
    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Give all ranks what the root has in its buffer."""
        communicator, rank = member_of(self, "Bcast")
        if communicator.is_inter:
            data_movement.Bcast(self, buf, root, "Bcast").perform()
        else:
            _bcast_in_group(communicator, rank, buf, root)

    @mpi_call
    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Put the blocks of all ranks, in rank order, into the root's buffer."""
        data_movement.Gather(self, sendbuf, recvbuf, root, "Gather").perform()

    @mpi_call
    def Gatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Put the blocks of all ranks, each of its own size, where the root wants them."""
        varying_data_movement.Gatherv(self, sendbuf, recvbuf, root, "Gatherv").perform()

    @mpi_call
    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Give each rank its block of the root's buffer."""
        data_movement.Scatter(self, sendbuf, recvbuf, root, "Scatter").perform()

    @mpi_call
    def Scatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Give each rank its block of the root's buffer, each of its own size."""
        varying_data_movement.Scatterv(self, sendbuf, recvbuf, root, "Scatterv").perform()

    @mpi_call
    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Put the blocks of all ranks, in rank order, into every rank's buffer."""
        data_movement.Allgather(self, sendbuf, recvbuf, "Allgather").perform()

    @mpi_call
    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Put the blocks of all ranks, each of its own size, where every rank wants them."""
        varying_data_movement.Allgatherv(self, sendbuf, recvbuf, "Allgatherv").perform()

    @mpi_call
    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Give every rank a block, and get one from every rank."""
        data_movement.Alltoall(self, sendbuf, recvbuf, "Alltoall").perform()

    @mpi_call
    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Give every rank a block, and get one from every rank, each of its own size."""
        varying_data_movement.Alltoallv(self, sendbuf, recvbuf, "Alltoallv").perform()

    @mpi_call
    def Alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """Give every rank a block, and get one from every rank, each of its own size and datatype."""
        varying_data_movement.Alltoallw(self, sendbuf, recvbuf, "Alltoallw").perform()

    @mpi_call
    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> None:
        """Reduce the ranks' buffers, entry by entry and from left to right, into the root's."""
        reductions.Reduce(self, sendbuf, recvbuf, op, root, "Reduce").perform()

    @mpi_call
    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Reduce the ranks' buffers, entry by entry and from left to right, into every rank's."""
        if surface is not None:
            communicator, rank = member_of(self, "Allreduce")
            plain = surface.contents(sendbuf, recvbuf)
            if plain is not None and not communicator.is_inter:
                _allreduce_plain(communicator, rank, plain[1], plain[0], recvbuf, op)
                return
        reductions.Allreduce(self, sendbuf, recvbuf, op, "Allreduce").perform()

    @mpi_call
    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Reduce the ranks' buffers, and give every rank an equal share of the result."""
        reductions.ReduceScatterBlock(self, sendbuf, recvbuf, op, "Reduce_scatter_block").perform()

    @mpi_call
    def Reduce_scatter(self, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Op = SUM) -> None:
        """Reduce the ranks' buffers, and give every rank a share of the result, as long as its count says."""
        reductions.ReduceScatter(self, sendbuf, recvbuf, recvcounts, op, "Reduce_scatter").perform()


def _bcast_in_group(communicator: Communicator, rank: int, buf: Any, root: int) -> None:
    """What `data_movement.Bcast` does in one group, without the object: programs broadcast often."""
    root = check_root(communicator, root, "Bcast")
    part = part_of(buf, is_written=rank != root)
    collective = enter(communicator, rank, Signature("Bcast", root, part.nbytes), Blocks, 1)
    if rank == root:
        collective.payload.leave(0, part.carried())
    perform(collective, communicator, "bcast", root, part.nbytes, "Bcast")
    if rank != root:
        collective.payload.deliver(part)
    collective.leave()


if surface is not None:
    surface.use_sum(SUM._operation)


def _allreduce_plain(
    communicator: Communicator, rank: int, content: bytes, buffer_format: str, recvbuf: Any, op: Op
) -> None:
    """`Allreduce` of plain buffers, which the compiled surface has seen to be alike; other ranks join there."""
    operation, layout, nbytes = op._operation, of_format(buffer_format)._layout, len(content)
    check_defined(operation, layout)
    signature = Signature("Allreduce", NOT_COMPARED, nbytes, operation.name, layout.typestr)
    collective = enter(communicator, rank, signature, list)
    payload = collective.payload
    if not payload:
        payload.append(Fold(operation, layout, communicator.size))
    fold = payload[0]
    fold.put(rank, content)
    if collective.plain is None and nbytes:
        collective.plain = buffer_format, nbytes, operation, fold
        surface.know_books(communicator.number, communicator.joint.entered, communicator.joint.open)
    perform(
        collective,
        communicator,
        "allreduce",
        0,
        nbytes,
        "Allreduce",
        operation.is_commutative,
        item_bytes=layout.size,
        n_entries=nbytes // layout.size,
        is_predefined=operation.function is None,
    )
    try:
        result = fold.result(operation) if nbytes else None
    finally:
        collective.leave()
    if result is not None and not surface.replace(recvbuf, result):
        part_of(recvbuf, is_written=True).put(result)
