"""Virtual topologies: neighbours of ranks on grids, graphs and distributed graphs.

A topology is one object for all ranks of its communicator. The edges of a rank are ordered, ``PROC_NULL`` where a grid
ends, and one edge may occur several times. Each end of an edge has a label: a block that leaves ``a`` through an edge
to ``b`` with label k reaches ``b`` through its edge from ``a`` with label k. On a grid the label is the direction of
travel, so that a block sent down comes from above even where both are the same rank; on graphs equal edges are counted.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, NamedTuple

from smpy.mpi.state.constants import CART, DIST_GRAPH, GRAPH, PROC_NULL

__all__ = ["Adjacency", "CartTopology", "DistGraphTopology", "EdgeEnd", "GraphTopology", "Topology"]


class EdgeEnd(NamedTuple):
    """One end of an edge: the rank at the other end, and the label that both ends share."""

    peer: int
    label: int


class Topology:
    """The neighbours of each rank of a communicator."""

    __slots__ = ()
    kind: ClassVar[int]
    comm_class: ClassVar[Any]
    """Class of the handles on communicators with such a topology; set by the module that defines the class."""

    @property
    def n_ranks(self) -> int:
        """Ranks that have a place."""
        raise NotImplementedError

    def incoming(self, rank: int) -> list[EdgeEnd]:
        """A rank's edges from others, in their order."""
        raise NotImplementedError

    def outgoing(self, rank: int) -> list[EdgeEnd]:
        """A rank's edges to others, in their order."""
        raise NotImplementedError

    def degrees(self, rank: int) -> tuple[int, int]:
        """Numbers of incoming and outgoing edges."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class CartTopology(Topology):
    """A grid of ranks in row-major order.

    Parameters
    ----------
    dims : tuple of int
        Ranks along each dimension.
    periods : tuple of bool
        Whether the last rank along a dimension is a neighbour of the first.
    """

    kind: ClassVar[int] = CART
    dims: tuple[int, ...]
    periods: tuple[bool, ...]

    @property
    def n_ranks(self) -> int:
        """Ranks on the grid."""
        return prod(self.dims)

    def coords(self, rank: int) -> list[int]:
        """Coordinates of `rank`."""
        coords = []
        for extent in reversed(self.dims):
            rank, coord = divmod(rank, extent)
            coords.append(coord)
        return coords[::-1]

    def rank_at(self, coords: Sequence[int]) -> int:
        """The rank at a place, ``PROC_NULL`` outside the grid."""
        rank = 0
        for coord, extent, is_periodic in zip(coords, self.dims, self.periods, strict=True):
            if not is_periodic and not 0 <= coord < extent:
                return PROC_NULL
            rank = rank * extent + coord % extent
        return rank

    def moved(self, rank: int, direction: int, disp: int) -> int:
        """The rank `disp` steps from `rank` along a dimension, ``PROC_NULL`` outside the grid."""
        extent, stride = self.dims[direction], prod(self.dims[direction + 1 :])
        coord = rank // stride % extent
        there = coord + disp
        if not self.periods[direction] and not 0 <= there < extent:
            return PROC_NULL
        return rank + (there % extent - coord) * stride

    def neighbours(self, rank: int) -> list[int]:
        """Along each dimension the rank below and the rank above."""
        return [self.moved(rank, direction, step) for direction in range(len(self.dims)) for step in (-1, 1)]

    def incoming(self, rank: int) -> list[EdgeEnd]:
        """Edges from the neighbours, in their order; the label of an edge from below is the label of travel upwards."""
        return [EdgeEnd(peer, place ^ 1) for place, peer in enumerate(self.neighbours(rank))]

    def outgoing(self, rank: int) -> list[EdgeEnd]:
        """Edges to the neighbours, in their order."""
        return [EdgeEnd(peer, place) for place, peer in enumerate(self.neighbours(rank))]

    def degrees(self, rank: int) -> tuple[int, int]:
        """Numbers of incoming and outgoing edges."""
        return 2 * len(self.dims), 2 * len(self.dims)

    def color(self, rank: int, remain_dims: Sequence[bool]) -> int:
        """A color that is the same for ranks that differ only along dimensions that remain."""
        color = 0
        for extent, coord, remains in zip(self.dims, self.coords(rank), remain_dims, strict=True):
            color = color if remains else color * extent + coord
        return color

    def sub_grid(self, remain_dims: Sequence[bool]) -> CartTopology:
        """The grid of some of the dimensions."""
        kept = [direction for direction, remains in enumerate(remain_dims) if remains]
        return CartTopology(tuple(self.dims[d] for d in kept), tuple(self.periods[d] for d in kept))


class GraphTopology(Topology):
    """A graph that every rank knows.

    Parameters
    ----------
    index : iterable of int
        Number of edges of ranks 0 to i, for each i.
    edges : iterable of int
        Neighbours of rank 0, then those of rank 1, and so on.
    """

    kind: ClassVar[int] = GRAPH
    __slots__ = ("edges", "index")

    def __init__(self, index: Iterable[int], edges: Iterable[int]) -> None:
        self.index = array("i", index)
        self.edges = array("i", edges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphTopology) and (self.index, self.edges) == (other.index, other.edges)

    __hash__ = None  # type: ignore[assignment]  # its arrays have none

    @property
    def n_ranks(self) -> int:
        """Ranks on the graph."""
        return len(self.index)

    def neighbours(self, rank: int) -> list[int]:
        """Ranks at the other ends of a rank's edges."""
        return self.edges[self.index[rank - 1] if rank else 0 : self.index[rank]].tolist()

    def incoming(self, rank: int) -> list[EdgeEnd]:
        """Edges to the neighbours: each edge of a graph leads both ways."""
        return _counted(self.neighbours(rank))

    def outgoing(self, rank: int) -> list[EdgeEnd]:
        """Edges to the neighbours: each edge of a graph leads both ways."""
        return _counted(self.neighbours(rank))

    def degrees(self, rank: int) -> tuple[int, int]:
        """Numbers of incoming and outgoing edges."""
        degree = self.index[rank] - (self.index[rank - 1] if rank else 0)
        return degree, degree


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Edges of one rank of a distributed graph.

    Parameters
    ----------
    sources, destinations : array of int
        Ranks at the other ends of its edges.
    weights : tuple of two arrays of int, optional
        Weights of the incoming and of the outgoing edges; None when the graph has none.
    """

    sources: array[int]
    destinations: array[int]
    weights: tuple[array[int], array[int]] | None = None


class DistGraphTopology(Topology):
    """A graph whose ranks know their own edges only.

    Parameters
    ----------
    n_ranks : int
        Ranks on the graph.
    """

    kind: ClassVar[int] = DIST_GRAPH
    __slots__ = ("known",)

    def __init__(self, n_ranks: int) -> None:
        self.known: list[Adjacency | None] = [None] * n_ranks

    @property
    def n_ranks(self) -> int:
        """Ranks on the graph."""
        return len(self.known)

    def collect(self, edges: Iterable[tuple[int, int, int]], is_weighted: bool) -> None:
        """Give each rank its edges from (source, destination, weight) of all edges, in the order of these."""
        for rank in range(self.n_ranks):
            weights = (array("i"), array("i")) if is_weighted else None
            self.known[rank] = Adjacency(array("i"), array("i"), weights)
        for source, destination, weight in edges:
            begin, end = self.of(source), self.of(destination)
            begin.destinations.append(destination)
            end.sources.append(source)
            if begin.weights and end.weights:
                begin.weights[1].append(weight)
                end.weights[0].append(weight)

    def of(self, rank: int) -> Adjacency:
        """Edges that a rank has given; none if it has given none."""
        return self.known[rank] or _ALONE

    def incoming(self, rank: int) -> list[EdgeEnd]:
        """Edges from the sources, in their order."""
        return _counted(self.of(rank).sources)

    def outgoing(self, rank: int) -> list[EdgeEnd]:
        """Edges to the destinations, in their order."""
        return _counted(self.of(rank).destinations)

    def degrees(self, rank: int) -> tuple[int, int]:
        """Numbers of incoming and outgoing edges."""
        known = self.of(rank)
        return len(known.sources), len(known.destinations)


_ALONE = Adjacency(array("i"), array("i"))


def _counted(peers: Iterable[int]) -> list[EdgeEnd]:
    """Edges to `peers`; the label of one is the number of equal ones before it."""
    met: dict[int, int] = {}
    edges = []
    for peer in peers:
        label = met.get(peer, 0)
        met[peer] = label + 1
        edges.append(EdgeEnd(peer, label))
    return edges
