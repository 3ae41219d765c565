"""Scatter along trees."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import powers_of_two_below
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, smaller


@algorithm("scatter", "binomial_tree", simgrid="ompi_binomial", source="Open MPI, binomial scatter; MPICH")
def down(call: Call) -> Schedule:
    """Receive the blocks of the own subtree, then send on those of the subtrees 1, 2, 4, ... numbers ahead."""
    steps, ranks, nbytes = Schedule(call), call.from_root, call.nbytes
    index, size = ranks.index, ranks.size
    for mask in powers_of_two_below(call.n_ranks):
        with steps.when((index & mask != 0) & (index % mask == 0)):
            steps.recv(ranks.behind(mask), smaller(mask, size - index) * nbytes)
    for mask in powers_of_two_below(call.n_ranks):
        with steps.when((index % (2 * mask) == 0) & (index + mask < size)):
            steps.send(ranks.ahead(mask), smaller(mask, size - index - mask) * nbytes)
    return steps
