"""Broadcast as a scatter along a tree and an allgather."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns import scattered
from smpy.collectives.patterns.powers_of_two import is_power_of_two, powers_of_two_below, subtree
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm(
    "bcast",
    "scatter_recursive_doubling_allgather",
    simgrid="scatter_rdb_allgather",
    source="Thakur, Rabenseifner & Gropp 2005; MPICH",
)
def scatter_recursive_doubling_allgather(call: Call) -> Schedule:
    """A part to each rank along a binomial tree, then recursive doubling; on other than 2, 4, 8, ... ranks, a ring."""
    steps = Schedule(call)
    scattered.scatter(steps, call)
    if not is_power_of_two(call.n_ranks):
        scattered.ring(steps, call)
        return steps
    ranks = call.from_root
    for mask in powers_of_two_below(call.n_ranks):
        partner = ranks[ranks.index ^ mask]
        mine, its = subtree(ranks.index, mask), subtree(ranks.index ^ mask, mask)
        steps.exchange(
            partner, scattered.parts_bytes(call, mine, mask), partner, scattered.parts_bytes(call, its, mask)
        )
    return steps


@algorithm("bcast", "scatter_ring_allgather", simgrid="scatter_LR_allgather", source="van de Geijn 1994; MPICH")
def scatter_ring_allgather(call: Call) -> Schedule:
    """A part to each rank along a binomial tree, then a ring in which all parts go round."""
    steps = Schedule(call)
    scattered.scatter(steps, call)
    scattered.ring(steps, call)
    return steps
