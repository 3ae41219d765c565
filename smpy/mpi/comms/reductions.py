"""Collectives that reduce the contents of buffers, each blocking, started and persistent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smpy.engine.running import current, mpi_call
from smpy.engine.surface import surface
from smpy.mpi.collectives import reductions
from smpy.mpi.collectives.forms import persistent, started
from smpy.mpi.collectives.open_collective import NOT_COMPARED, Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.data.datatypes import of_format
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.data.operations import SUM, Op
from smpy.mpi.data.reductions import ReductionInProgress, check_defined
from smpy.mpi.state.comm_core import CommCore, member_of
from smpy.mpi.state.surface_bases import compiled_when_available
from smpy.mpi.state.world import Communicator

__all__ = ["Reductions", "Scans"]


@compiled_when_available("Allreduce")
class Reductions(CommCore):
    """Collective calls that reduce the contents of buffers."""

    __slots__ = ()

    @mpi_call
    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> None:
        """Reduce the ranks' buffers, entry by entry and from left to right, into the root's."""
        reductions.Reduce(self, sendbuf, recvbuf, op, root, "Reduce").perform()

    Ireduce = started(Reduce, reductions.Reduce)
    Reduce_init = persistent(Reduce, reductions.Reduce)

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

    Iallreduce = started(Allreduce, reductions.Allreduce)
    Allreduce_init = persistent(Allreduce, reductions.Allreduce)

    @mpi_call
    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Reduce the ranks' buffers, and give every rank an equal share of the result."""
        reductions.ReduceScatterBlock(self, sendbuf, recvbuf, op, "Reduce_scatter_block").perform()

    Ireduce_scatter_block = started(Reduce_scatter_block, reductions.ReduceScatterBlock)
    Reduce_scatter_block_init = persistent(Reduce_scatter_block, reductions.ReduceScatterBlock)

    @mpi_call
    def Reduce_scatter(self, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Op = SUM) -> None:
        """Reduce the ranks' buffers, and give every rank a share of the result, as long as its count says."""
        reductions.ReduceScatter(self, sendbuf, recvbuf, recvcounts, op, "Reduce_scatter").perform()

    Ireduce_scatter = started(Reduce_scatter, reductions.ReduceScatter)
    Reduce_scatter_init = persistent(Reduce_scatter, reductions.ReduceScatter)


class Scans(CommCore):
    """Prefix reductions: calls of communicators of one group."""

    __slots__ = ()

    @mpi_call
    def Scan(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Give each rank the reduction of its buffer with those of all lower ranks."""
        reductions.Scan(self, sendbuf, recvbuf, op, "Scan").perform()

    Iscan = started(Scan, reductions.Scan)
    Scan_init = persistent(Scan, reductions.Scan)

    @mpi_call
    def Exscan(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Give each rank the reduction of the buffers of all lower ranks; rank 0 gets nothing."""
        reductions.Exscan(self, sendbuf, recvbuf, op, "Exscan").perform()

    Iexscan = started(Exscan, reductions.Exscan)
    Exscan_init = persistent(Exscan, reductions.Exscan)


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
        payload.append(ReductionInProgress(operation, layout, communicator.size))
    fold = payload[0]
    fold.put(rank, content)
    engine = current()
    if collective.plain_allreduce is None and nbytes and not (communicator.choices or engine.charges_data):
        collective.plain_allreduce = buffer_format, nbytes, operation, fold
        surface.know_collectives(communicator.number, communicator.joint.entered, communicator.joint.open)
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
    if engine.charges_data:
        engine.spend_on_copy(nbytes)
    if result is not None and (engine.charges_data or not surface.replace(recvbuf, result)):
        part_of(recvbuf, is_written=True).put_in_time(result)
