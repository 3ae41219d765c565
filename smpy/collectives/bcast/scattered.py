"""Broadcast as a scatter along a tree and an allgather."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns import scattered
from smpy.collectives.patterns.powers_of_two import powers_of_two_below, subtree
from smpy.collectives.patterns.recursive_doubling import serve_those_without_partner
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm(
    "bcast",
    "scatter_recursive_doubling_allgather",
    simgrid="scatter_rdb_allgather",
    source="Thakur, Rabenseifner & Gropp 2005; MPICH",
)
def scatter_recursive_doubling_allgather(call: Call) -> Schedule:
    """Scatter parts along a binomial tree, then use recursive doubling.

    On other than 2, 4, 8, ... ranks those without a partner get its parts along binomial trees.
    """
    steps, ranks = Schedule(call), call.from_root
    scattered.scatter(steps, call)
    for mask in powers_of_two_below(call.n_ranks):
        number = ranks.index ^ mask
        partner = ranks[number]
        mine, its = (scattered.parts_bytes(call, subtree(first, mask), mask) for first in (ranks.index, number))
        with steps.when(number < call.n_ranks):
            steps.exchange(partner, mine, partner, its)
        serve_those_without_partner(steps, ranks.index, call.n_ranks, mask, its, ranks=ranks)
    return steps


@algorithm("bcast", "scatter_ring_allgather", simgrid="scatter_LR_allgather", source="van de Geijn 1994; MPICH")
def scatter_ring_allgather(call: Call) -> Schedule:
    """Scatter parts along a binomial tree, then pass all parts round a ring."""
    steps = Schedule(call)
    scattered.scatter(steps, call)
    scattered.ring(steps, call)
    return steps
