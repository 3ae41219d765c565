"""The base of neighbourhood collectives: blocks that travel along the edges of a topology.

A rank leaves a copy of each of its blocks when it enters, under the edge that the block takes, and takes the blocks of
its incoming edges when their messages have arrived. So it depends on its neighbours alone, and a block is freed when it
is received. All receives and sends of a rank are started at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

from smpy.engine.messages import PartialBytes, copied
from smpy.mpi.collectives.call import CollectiveCall
from smpy.mpi.collectives.open_collective import OpenCollective, Signature
from smpy.mpi.comms.topology_creation import topology_of
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.virtual_topologies import EdgeEnd, Topology

__all__ = ["Crossing", "Exchange", "Neighbourhood"]

Tables: TypeAlias = "tuple[array[int], array[int], array[int], array[int]]"


class Crossing:
    """Blocks on their way, by sender, receiver and label of the edge; None for folded memory."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: dict[tuple[int, int, int], bytes | PartialBytes | None] = {}

    def leave(self, rank: int, outgoing: Sequence[EdgeEnd], blocks: Iterable[bytes | PartialBytes | None]) -> None:
        """Store the outgoing blocks of a rank; blocks to ``PROC_NULL`` are dropped."""
        for edge, block in zip(outgoing, blocks, strict=True):
            if edge.peer >= 0:
                self._blocks[rank, edge.peer, edge.label] = block

    def take(self, rank: int, edge: EdgeEnd) -> bytes | PartialBytes | None:
        """The block that has come to a rank along an incoming edge, which nobody else wants; None from nobody."""
        return None if edge.peer < 0 else self._blocks.pop((edge.peer, rank, edge.label))


class RankEdges:
    """Edges of one rank, and the tables of schedules that follow from them.

    Messages between two ranks do not overtake. They leave in the order of the outgoing edges, which is that of their
    labels, and are received in that order.

    Parameters
    ----------
    topology : Topology
        The topology.
    rank : int
        The rank.
    """

    __slots__ = ("_arrivals", "_destinations", "_sources", "incoming", "outgoing")

    def __init__(self, topology: Topology, rank: int) -> None:
        self.incoming, self.outgoing = topology.incoming(rank), topology.outgoing(rank)
        labels = [edge.label for edge in self.incoming]
        self._arrivals = sorted(range(len(labels)), key=labels.__getitem__)
        self._destinations = array("q", [len(self.outgoing), *[edge.peer for edge in self.outgoing]])
        self._sources = array("q", [len(labels), *[self.incoming[place].peer for place in self._arrivals]])

    def tables(self, out_bytes: Sequence[int], in_bytes: Sequence[int]) -> Tables:
        """Tables of the schedule: offsets of the blocks sent and received, and the ranks at the other ends."""
        arriving = [in_bytes[place] for place in self._arrivals]
        offsets = array("q", accumulate(out_bytes, initial=0)), array("q", accumulate(arriving, initial=0))
        return *offsets, self._destinations, self._sources


class Neighbourhood(CollectiveCall):
    """One rank's part in a neighbourhood collective.

    Parameters
    ----------
    comm : CommCore
        The program's handle, on a communicator with a topology.
    call : str
        Name of the method that the program called.

    Attributes
    ----------
    incoming, outgoing : sequence of EdgeEnd
        The rank's edges.
    tables_for : callable
        Tables of the schedule, from the sizes of the blocks sent and received.
    """

    __slots__ = ("incoming", "outgoing", "tables_for")
    op = "neighbour"

    def __init__(self, comm: CommCore, call: str) -> None:
        super().__init__(comm, call)
        topology = topology_of(self.communicator, Topology, call)
        self.signature = Signature(call)
        edges: RankEdges | None = self.communicator.edges.get(self.rank)
        if edges is None:
            edges = self.communicator.edges[self.rank] = RankEdges(topology, self.rank)
        self.incoming, self.outgoing, self.tables_for = edges.incoming, edges.outgoing, edges.tables

    def new_payload(self) -> Crossing:
        """Blocks that have been sent and not received."""
        return Crossing()


class Exchange(Neighbourhood):
    """One rank's part in a neighbourhood collective on buffers.

    Parameters
    ----------
    comm, call
        See `Neighbourhood`.
    """

    __slots__ = ("_into", "_out", "tables")

    _into: Sequence[BufferSegment]
    _out: Sequence[BufferSegment]
    tables: Tables

    def between(self, out: Sequence[BufferSegment], into: Sequence[BufferSegment]) -> Exchange:
        """This call, with the blocks to send and the buffers for those to receive."""
        self._out, self._into = list(out), list(into)
        self.tables = self.tables_for([part.nbytes for part in self._out], [part.nbytes for part in self._into])
        return self

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Send copies of the blocks on their way."""
        collective.payload.leave(self.rank, self.outgoing, _copies(self._out))

    def take(self, collective: OpenCollective) -> None:
        """Put the blocks that have come where they belong."""
        for edge, part in zip(self.incoming, self._into, strict=True):
            if edge.peer < 0:
                continue
            block = collective.payload.take(self.rank, edge)
            if block is not None and len(block) > part.nbytes:
                fail(
                    "ERR_TRUNCATE",
                    f"{self.signature.call}: rank {edge.peer} sends rank {self.rank} a block of {len(block)} bytes, "
                    f"the buffer has room for {part.nbytes}",
                )
            part.put_in_time(block)


def _copies(parts: Sequence[BufferSegment]) -> list[bytes | PartialBytes | None]:
    """Copies of the parts' contents; consecutive parts that are the same object share one copy."""
    copies: list[bytes | PartialBytes | None] = []
    for place, part in enumerate(parts):
        if place and part is parts[place - 1]:
            copies.append(copies[-1])
        else:
            copies.append(copied(part.carried_in_time()))
    return copies
