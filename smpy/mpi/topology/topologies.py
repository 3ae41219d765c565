"""`Topocomm`: communicators on a virtual topology."""

from __future__ import annotations

from typing import ClassVar, Self

from smpy.mpi.comms.comm import Comm, Intracomm
from smpy.mpi.comms.topology_creation import placed
from smpy.mpi.state.comm_core import member_of
from smpy.mpi.state.virtual_topologies import Topology
from smpy.mpi.topology.neighbourhood_collectives import NeighbourhoodCollectives
from smpy.mpi.topology.neighbourhood_objects import NeighbourhoodObjects

__all__ = ["Topocomm"]


class Topocomm(NeighbourhoodCollectives, NeighbourhoodObjects, Intracomm):
    """A communicator on a virtual topology.

    Parameters
    ----------
    comm : Comm, optional
        One to make another handle of; null without it.

    Raises
    ------
    TypeError
        If `comm` has no such topology.
    """

    __slots__ = ()
    _topology_class: ClassVar[type[Topology]] = Topology

    def __new__(cls, comm: Comm | None = None) -> Self:
        self = super().__new__(cls, comm)
        if self and not isinstance(member_of(self, cls.__name__)[0].topology, cls._topology_class):
            raise TypeError(f"{cls.__name__}: the communicator has no such topology")
        return self

    @property
    def degrees(self) -> tuple[int, int]:
        """Numbers of incoming and outgoing neighbours."""
        topology, rank = placed(self, Topology, "degrees")
        return topology.degrees(rank)

    @property
    def indegree(self) -> int:
        """Number of incoming neighbours."""
        return self.degrees[0]

    @property
    def outdegree(self) -> int:
        """Number of outgoing neighbours."""
        return self.degrees[1]

    @property
    def inoutedges(self) -> tuple[list[int], list[int]]:
        """Incoming and outgoing neighbours."""
        topology, rank = placed(self, Topology, "inoutedges")
        return [edge.peer for edge in topology.incoming(rank)], [edge.peer for edge in topology.outgoing(rank)]

    @property
    def inedges(self) -> list[int]:
        """Incoming neighbours."""
        return self.inoutedges[0]

    @property
    def outedges(self) -> list[int]:
        """Outgoing neighbours."""
        return self.inoutedges[1]
