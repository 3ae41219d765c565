"""`Graphcomm` and `Distgraphcomm`: communicators on a graph."""

from __future__ import annotations

from typing import ClassVar

from smpy.engine.running import mpi_call
from smpy.mpi.comms.topology_creation import placed
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.virtual_topologies import DistGraphTopology, GraphTopology
from smpy.mpi.topology.topologies import Topocomm

__all__ = ["Distgraphcomm", "Graphcomm"]


class Graphcomm(Topocomm):
    """A communicator on a graph that every rank knows.

    Parameters
    ----------
    comm : Comm, optional
        One to make another handle of; null without it.

    Raises
    ------
    TypeError
        If `comm` is not on such a graph.
    """

    __slots__ = ()
    _topology_class: ClassVar = GraphTopology

    @mpi_call
    def Get_dims(self) -> tuple[int, int]:
        """Numbers of nodes and of edges."""
        graph, _ = placed(self, GraphTopology, "Get_dims")
        return len(graph.index), len(graph.edges)

    @mpi_call
    def Get_topo(self) -> tuple[list[int], list[int]]:
        """The graph's adjacency arrays, index and edges."""
        graph, _ = placed(self, GraphTopology, "Get_topo")
        return graph.index.tolist(), graph.edges.tolist()

    @mpi_call
    def Get_neighbors_count(self, rank: int) -> int:
        """Number of a rank's neighbours.

        Parameters
        ----------
        rank : int
            A rank of the graph.
        """
        return len(_neighbours(self, rank, "Get_neighbors_count"))

    @mpi_call
    def Get_neighbors(self, rank: int) -> list[int]:
        """A rank's neighbours.

        Parameters
        ----------
        rank : int
            A rank of the graph.
        """
        return _neighbours(self, rank, "Get_neighbors")

    @property
    def dims(self) -> tuple[int, int]:
        """Numbers of nodes and of edges."""
        return self.Get_dims()

    @property
    def nnodes(self) -> int:
        """Number of nodes."""
        return self.Get_dims()[0]

    @property
    def nedges(self) -> int:
        """Number of edges."""
        return self.Get_dims()[1]

    @property
    def topo(self) -> tuple[list[int], list[int]]:
        """The graph's adjacency arrays, index and edges."""
        return self.Get_topo()

    @property
    def index(self) -> list[int]:
        """Number of edges of nodes 0 to i, for each i."""
        return self.Get_topo()[0]

    @property
    def edges(self) -> list[int]:
        """Neighbours of each node in turn."""
        return self.Get_topo()[1]

    @property
    def nneighbors(self) -> int:
        """Number of this rank's neighbours."""
        return self.Get_neighbors_count(self.rank)

    @property
    def neighbors(self) -> list[int]:
        """This rank's neighbours."""
        return self.Get_neighbors(self.rank)


class Distgraphcomm(Topocomm):
    """A communicator on a graph of which each rank knows its own edges.

    Parameters
    ----------
    comm : Comm, optional
        One to make another handle of; null without it.

    Raises
    ------
    TypeError
        If `comm` is not on such a graph.
    """

    __slots__ = ()
    _topology_class: ClassVar = DistGraphTopology

    @mpi_call
    def Get_dist_neighbors_count(self) -> tuple[int, int, bool]:
        """Numbers of sources and of destinations, and whether edges have weights."""
        graph, rank = placed(self, DistGraphTopology, "Get_dist_neighbors_count")
        return *graph.degrees(rank), graph.of(rank).weights is not None

    @mpi_call
    def Get_dist_neighbors(self) -> tuple[list[int], list[int], tuple[list[int], list[int]] | None]:
        """Sources, destinations, and the weights of the edges from and to them when there are any."""
        graph, rank = placed(self, DistGraphTopology, "Get_dist_neighbors")
        known = graph.of(rank)
        weights = None if known.weights is None else (known.weights[0].tolist(), known.weights[1].tolist())
        return known.sources.tolist(), known.destinations.tolist(), weights


GraphTopology.comm_class = Graphcomm
DistGraphTopology.comm_class = Distgraphcomm


def _neighbours(comm: Graphcomm, rank: int, call: str) -> list[int]:
    graph, _ = placed(comm, GraphTopology, call)
    if not 0 <= rank < graph.n_ranks:
        fail("ERR_RANK", f"{call}({rank}): the graph has ranks 0 to {graph.n_ranks - 1}")
    return graph.neighbours(rank)
