"""Scan by recursive doubling."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import powers_of_two_below
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm(("scan", "exscan"), "recursive_doubling", source="MPICH, recursive doubling")
def recursive_doubling(call: Call) -> Schedule:
    """Exchange the reduction of the own subtree with each partner; a rank without a partner needs nothing."""
    rank, nbytes = call.rank, call.nbytes
    steps = Schedule(call)
    for mask in powers_of_two_below(call.n_ranks):
        with steps.when(rank ^ mask < call.n_ranks):
            steps.exchange(rank ^ mask, nbytes, rank ^ mask, nbytes)
    return steps
