"""With both neighbours in turn."""

from __future__ import annotations

from smpy.collectives.allgather.ring import ring
from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("allgather", "neighbour_exchange", simgrid="ompi_neighborexchange", source="Chen et al. 2005; Open MPI")
def neighbour_exchange(call: Call) -> Schedule:
    """A block with one neighbour, then two with the other and the first in turn; a ring when odd."""
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    if n_ranks % 2:
        return ring(call)
    steps = Schedule(rank)
    first = (rank + 1 - 2 * (rank % 2)) % n_ranks
    second = (rank - 1 + 2 * (rank % 2)) % n_ranks
    steps.exchange(first, nbytes, first, nbytes)
    for i in range(1, n_ranks // 2):
        neighbour = second if i % 2 else first
        steps.exchange(neighbour, 2 * nbytes, neighbour, 2 * nbytes)
    return steps
