"""Topologies as programs describe them: dimensions, adjacency arrays, edges and their weights."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from operator import index as as_int
from typing import Any

from smpy.mpi.state.constants import UNWEIGHTED, WEIGHTS_EMPTY
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.virtual_topologies import Adjacency, CartTopology, GraphTopology

__all__ = ["adjacency_of", "check_ranks", "edges_of", "graph_of", "grid_of", "ints"]


def ints(values: Iterable[Any], n: int | None = None) -> list[int]:
    """The values as integers; raises ValueError unless there are `n`."""
    numbers = [as_int(value) for value in values]
    if n is not None and len(numbers) != n:
        raise ValueError(f"expecting {n} items, got {len(numbers)}")
    return numbers


def check_ranks(ranks: Iterable[int], n_ranks: int, where: str) -> None:
    """Raise ``ERR_RANK`` unless all are ranks."""
    wrong = next((rank for rank in ranks if not 0 <= rank < n_ranks), None)
    if wrong is not None:
        fail("ERR_RANK", f"{where}: rank {wrong} is not one of the {n_ranks} ranks")


def grid_of(dims: Sequence[int], periods: Sequence[bool] | bool | None) -> CartTopology:
    """The grid with these dimensions."""
    extents = ints(dims)
    if periods is None or isinstance(periods, bool):
        periods = [bool(periods)] * len(extents)
    wraps = ints(periods, len(extents))
    if any(extent <= 0 for extent in extents):
        fail("ERR_DIMS", f"a grid of dimensions {extents}: each has one rank or more")
    return CartTopology(tuple(extents), tuple(bool(wrap) for wrap in wraps))


def graph_of(index: Sequence[int], edges: Sequence[int]) -> GraphTopology:
    """The graph with these adjacency arrays; a 0 before the counts of the first is left out, as mpi4py does."""
    ends, peers = ints(index), ints(edges)
    if ends and ends[0] == 0 and ends[-1] == len(peers):
        del ends[0]
    if sorted(ends) != ends or min(ends, default=0) < 0 or max(ends, default=0) > len(peers):
        fail("ERR_ARG", f"a graph's index {ends} does not count its {len(peers)} edges up")
    del peers[ends[-1] if ends else 0 :]
    check_ranks(peers, len(ends), "a graph's edges")
    return GraphTopology(ends, peers)


def adjacency_of(
    sources: Iterable[Any] | None, destinations: Iterable[Any] | None, sourceweights: Any, destweights: Any
) -> Adjacency:
    """A rank's own edges."""
    incoming = ints(() if sources is None else sources)
    outgoing = ints(() if destinations is None else destinations)
    weights_in, weights_out = _weights(sourceweights, len(incoming)), _weights(destweights, len(outgoing))
    is_weighted = weights_in is not None or weights_out is not None
    if (weights_in is None and is_weighted and incoming) or (weights_out is None and is_weighted and outgoing):
        fail("ERR_ARG", "Create_dist_graph_adjacent: either all edges have weights or none")
    weights = (weights_in or array("i"), weights_out or array("i")) if is_weighted else None
    return Adjacency(array("i", incoming), array("i", outgoing), weights)


def edges_of(
    sources: Iterable[Any], degrees: Iterable[Any], destinations: Iterable[Any], weights: Any
) -> tuple[list[tuple[int, int, int]], bool]:
    """Any edges, as source, destination and weight, and whether they have weights."""
    starts = ints(sources)
    counts = ints(degrees, len(starts))
    ends = ints(destinations, sum(counts))
    known_weights = _weights(weights, len(ends))
    begins = [start for start, count in zip(starts, counts, strict=True) for _ in range(count)]
    return list(zip(begins, ends, known_weights or [0] * len(ends), strict=True)), known_weights is not None


def _weights(weights: Any, n: int) -> array[int] | None:
    if weights is None or (isinstance(weights, int) and weights == UNWEIGHTED):
        return None
    if isinstance(weights, int) and weights == WEIGHTS_EMPTY:
        if n:
            raise ValueError("empty weights but nonzero degree")
        return array("i")
    return array("i", ints(weights, n))
