"""Making communicators with a virtual topology.

Ranks keep their order: `reorder` is accepted and changes nothing. A topology costs as much as SMPI's, and as a
duplicate: rank 0 of the new communicator broadcasts 4 bytes. A distributed graph whose edges any rank may give takes an
Allreduce of two counts before that, after which every rank knows its own edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, TypeVar

from smpy.engine.running import mpi_call
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.comms.creation_messages import pay_for_new
from smpy.mpi.comms.hints import give_hints
from smpy.mpi.comms.topology_arguments import adjacency_of, check_ranks, edges_of, graph_of, grid_of
from smpy.mpi.state.comm_core import CommCore, handle_on, member_of
from smpy.mpi.state.constants import UNDEFINED
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.info import Info, pairs_of
from smpy.mpi.state.surface_bases import NOWHERE
from smpy.mpi.state.virtual_topologies import CartTopology, DistGraphTopology, GraphTopology, Topology
from smpy.mpi.state.world import Communicator, world

__all__ = ["TopologyCreation", "placed", "topology_of"]

_COUNTS_BYTES: Final = 16
"""Bytes of the numbers of incoming and outgoing edges, which a rank learns when any rank may give any edge."""

T = TypeVar("T", bound=Topology)


def topology_of(communicator: Communicator, kind: type[T], call: str) -> T:
    """A communicator's topology; raises ``ERR_TOPOLOGY`` when it has none of this kind."""
    topology = communicator.topology
    if not isinstance(topology, kind):
        fail("ERR_TOPOLOGY", f"{call}: the communicator has no such topology")
    return topology


def placed(comm: CommCore, kind: type[T], call: str) -> tuple[T, int]:
    """The topology that a handle's communicator has, of this kind, and the running rank there."""
    communicator, rank = member_of(comm, call)
    return topology_of(communicator, kind, call), rank


class TopologyCreation(CommCore):
    """Making communicators with a virtual topology."""

    __slots__ = ()

    @mpi_call
    def Create_cart(
        self, dims: Sequence[int], periods: Sequence[bool] | bool | None = None, reorder: bool = False
    ) -> Any:
        """A communicator on a grid, of as many of the first ranks as it has places; a null one for the others.

        Parameters
        ----------
        dims : sequence of int
            Ranks along each dimension.
        periods : sequence of bool or bool, optional
            Whether dimensions are periodic.
        reorder : bool
            Ignored: ranks keep their order.
        """
        return _create(self, grid_of(dims, periods), "Create_cart")

    @mpi_call
    def Create_graph(self, index: Sequence[int], edges: Sequence[int], reorder: bool = False) -> Any:
        """A communicator on a graph, of as many of the first ranks as it has nodes; a null one for the others.

        Parameters
        ----------
        index : sequence of int
            Number of edges of nodes 0 to i, for each i; a 0 before them is allowed.
        edges : sequence of int
            Neighbours of node 0, then those of node 1, and so on.
        reorder : bool
            Ignored: ranks keep their order.
        """
        return _create(self, graph_of(index, edges), "Create_graph")

    @mpi_call
    def Create_dist_graph_adjacent(
        self,
        sources: Sequence[int] | None,
        destinations: Sequence[int] | None,
        sourceweights: Sequence[int] | int | None = None,
        destweights: Sequence[int] | int | None = None,
        info: Any = None,
        reorder: bool = False,
    ) -> Any:
        """A communicator on a graph; every rank gives its own edges, incoming and outgoing.

        Parameters
        ----------
        sources, destinations : sequence of int or None
            Ranks at the other ends.
        sourceweights, destweights : sequence of int, optional
            Weights of the edges; ``UNWEIGHTED`` and None mean that there are none, ``WEIGHTS_EMPTY`` that there would
            be if there were edges.
        info : Info, optional
            Its hints.
        reorder : bool
            Ignored: ranks keep their order.
        """
        communicator, rank = member_of(self, "Create_dist_graph_adjacent")
        known = adjacency_of(sources, destinations, sourceweights, destweights)
        check_ranks([*known.sources, *known.destinations], communicator.size, "Create_dist_graph_adjacent")
        collective = enter(communicator, rank, Signature("Create_dist_graph_adjacent"), _new_dist_graph, communicator)
        new: Communicator = collective.payload
        new.topology.known[rank] = known
        collective.leave()
        return _joined(communicator, rank, new, "Create_dist_graph_adjacent", info)

    @mpi_call
    def Create_dist_graph(
        self,
        sources: Sequence[int],
        degrees: Sequence[int],
        destinations: Sequence[int],
        weights: Sequence[int] | int | None = None,
        info: Any = None,
        reorder: bool = False,
    ) -> Any:
        """A communicator on a graph; every rank gives any of the edges.

        Parameters
        ----------
        sources : sequence of int
            Ranks that edges leave from.
        degrees : sequence of int
            Number of edges for each source.
        destinations : sequence of int
            Ranks that they lead to, source by source.
        weights : sequence of int, optional
            Weights of the edges, as in `Create_dist_graph_adjacent`.
        info : Info, optional
            Its hints.
        reorder : bool
            Ignored: ranks keep their order.
        """
        communicator, rank = member_of(self, "Create_dist_graph")
        edges, is_weighted = edges_of(sources, degrees, destinations, weights)
        check_ranks((end for edge in edges for end in edge[:2]), communicator.size, "Create_dist_graph")
        signature = Signature("Create_dist_graph", datatype="weighted edges" if is_weighted else "edges")
        collective = enter(communicator, rank, signature, _ScatteredEdges, communicator, is_weighted)
        scattered: _ScatteredEdges = collective.payload
        scattered.told[rank] = edges
        perform(collective, communicator, "allreduce", 0, _COUNTS_BYTES, "Create_dist_graph")
        scattered.collect()
        collective.leave()
        return _joined(communicator, rank, scattered.new, "Create_dist_graph", info)

    @mpi_call
    def Cart_map(self, dims: Sequence[int], periods: Sequence[bool] | bool | None = None) -> int:
        """Rank that this rank would have on a grid, ``UNDEFINED`` if none.

        Parameters
        ----------
        dims, periods
            See `Create_cart`.
        """
        return _mapped(self, grid_of(dims, periods), "Cart_map")

    @mpi_call
    def Graph_map(self, index: Sequence[int], edges: Sequence[int]) -> int:
        """Node of a graph that this rank would be, ``UNDEFINED`` if none.

        Parameters
        ----------
        index, edges
            See `Create_graph`.
        """
        return _mapped(self, graph_of(index, edges), "Graph_map")


def _create(comm: CommCore, topology: CartTopology | GraphTopology, call: str) -> Any:
    communicator, rank = member_of(comm, call)
    _check_size(topology, communicator, call)
    collective = enter(communicator, rank, Signature(call), _new_communicator, communicator, topology)
    new: Communicator | None = collective.payload
    if new is not None and new.topology != topology:
        fail("ERR_NOT_SAME", f"{call}: rank {rank} describes another topology than the ranks before it")
    collective.leave()
    if new is None or rank >= new.size:
        return handle_on(topology.comm_class, NOWHERE)
    return _joined(communicator, rank, new, call)


def _mapped(comm: CommCore, topology: CartTopology | GraphTopology, call: str) -> int:
    communicator, rank = member_of(comm, call)
    _check_size(topology, communicator, call)
    return rank if rank < topology.n_ranks else UNDEFINED


def _check_size(topology: CartTopology | GraphTopology, communicator: Communicator, call: str) -> None:
    if topology.n_ranks > communicator.size:
        fail("ERR_DIMS", f"{call}: {topology.n_ranks} places for {communicator.size} ranks")


def _new_communicator(communicator: Communicator, topology: Topology) -> Communicator | None:
    if not topology.n_ranks:
        return None
    new = world().new_communicator(communicator.world_ranks()[: topology.n_ranks])
    new.topology = topology
    return new


def _new_dist_graph(communicator: Communicator) -> Communicator:
    new = world().new_like(communicator)
    new.topology = DistGraphTopology(communicator.size)
    return new


class _ScatteredEdges:
    """Edges that the ranks pass, and the communicator on the graph that they make."""

    __slots__ = ("_is_weighted", "new", "told")

    def __init__(self, communicator: Communicator, is_weighted: bool) -> None:
        self.new = _new_dist_graph(communicator)
        self.told: list[Sequence[tuple[int, int, int]]] = [()] * communicator.size
        self._is_weighted = is_weighted

    def collect(self) -> None:
        """Give each rank its edges, in the order of the ranks that told them; the first to ask does it for all."""
        if self.told:
            self.new.topology.collect(chain.from_iterable(self.told), self._is_weighted)
            self.told = []


def _joined(communicator: Communicator, rank: int, new: Communicator, call: str, info: Info | None = None) -> Any:
    """The handle of a rank that has the same place on both communicators."""
    pay_for_new(new, rank, call)
    give_hints(new, rank, pairs_of(info), call)
    return handle_on(new.topology.comm_class, new.number)
