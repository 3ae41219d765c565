"""Collectives on objects among the neighbours in a topology, timed as mpi4py performs them: sizes, then bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.collectives.open_collective import OpenCollective, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.data.pickled import SIZE_BYTES, pickled, pickled_each, unpickled
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.topology.neighbourhoods import Neighbourhood

__all__ = ["NeighbourhoodObjects"]


class NeighbourhoodObjects(CommCore):
    """Collective calls on objects, among neighbours."""

    __slots__ = ()

    @mpi_call
    def neighbor_allgather(self, sendobj: Any) -> list[Any]:
        """Send all neighbours an object: a list of theirs, None where there is nobody."""
        mine = Neighbourhood(self, "neighbor_allgather")
        return _exchanged(mine, [pickled(sendobj)] * len(mine.outgoing))

    @mpi_call
    def neighbor_alltoall(self, sendobj: Sequence[Any] | None) -> list[Any]:
        """Send each neighbour its object: a list of theirs, None where there is nobody."""
        mine = Neighbourhood(self, "neighbor_alltoall")
        return _exchanged(mine, pickled_each(sendobj, len(mine.outgoing)))


def _exchanged(mine: Neighbourhood, blocks: Sequence[bytes]) -> list[Any]:
    collective = enter(mine.communicator, mine.rank, mine.signature, mine.new_payload)
    collective.payload.leave(mine.rank, mine.outgoing, blocks)
    _perform(mine, collective, [SIZE_BYTES] * len(mine.outgoing), [SIZE_BYTES] * len(mine.incoming))
    arriving = [collective.payload.take(mine.rank, edge) or b"" for edge in mine.incoming]
    _perform(mine, collective, list(map(len, blocks)), list(map(len, arriving)))
    collective.leave()
    return [
        None if edge.peer < 0 else unpickled(block, edge.peer, mine.signature.call)
        for edge, block in zip(mine.incoming, arriving, strict=True)
    ]


def _perform(mine: Neighbourhood, collective: OpenCollective, out_bytes: list[int], in_bytes: list[int]) -> None:
    tables = mine.tables_for(out_bytes, in_bytes)
    perform(collective, mine.communicator, mine.op, 0, 0, mine.signature.call, tables=tables)
