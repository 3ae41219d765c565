"""Exchanges of all blocks so far with the ranks that differ in one bit."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import powers_of_two_below, subtree
from smpy.collectives.patterns.recursive_doubling import serve_those_without_partner
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, smaller


@algorithm("allgather", "recursive_doubling", simgrid="rdb", source="Thakur, Rabenseifner & Gropp 2005")
@algorithm("allgatherv", "recursive_doubling", simgrid="mpich_rdb", source="Thakur, Rabenseifner & Gropp 2005")
def recursive_doubling(call: Call) -> Schedule:
    """Exchanges with rank ^ 2^k of all blocks so far; ranks whose partner is absent are served by a tree after each."""
    rank, n_ranks, into = call.rank, call.n_ranks, call.into
    steps = Schedule(rank)

    def bytes_from(first: Value, n: int) -> Value:
        size: Value = into[smaller(first + n, n_ranks)] - into[smaller(first, n_ranks)]
        return size

    for mask in powers_of_two_below(n_ranks):
        mine, its = subtree(rank, mask), subtree(rank ^ mask, mask)
        with steps.when(rank ^ mask < n_ranks):
            steps.exchange(rank ^ mask, bytes_from(mine, mask), rank ^ mask, bytes_from(its, mask))
        serve_those_without_partner(steps, rank, n_ranks, mask, bytes_from(its, n_ranks))
    return steps
