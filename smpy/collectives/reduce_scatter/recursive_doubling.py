"""Exchanges with the ranks that differ in one bit, of the blocks that the other side needs."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import powers_of_two_below, subtree
from smpy.collectives.patterns.recursive_doubling import serve_those_without_partner
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, smaller


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "recursive_doubling",
    simgrid="mpich_rdb",
    source="MPICH, recursive doubling",
)
def recursive_doubling(call: Call) -> Schedule:
    """Every rank sends each of its partners all blocks that its own subtree does not need."""
    rank, n_ranks, out = call.rank, call.n_ranks, call.out
    steps = Schedule(rank)
    for mask in powers_of_two_below(n_ranks):
        mine, its = subtree(rank, mask), subtree(rank ^ mask, mask)
        with steps.when(rank ^ mask < n_ranks):
            mine_bytes, its_bytes = (
                out[n_ranks] - out[smaller(first + mask, n_ranks)] + out[smaller(first, n_ranks)]
                for first in (mine, its)
            )
            steps.exchange(rank ^ mask, mine_bytes, rank ^ mask, its_bytes)
        serve_those_without_partner(steps, rank, n_ranks, mask, out[smaller(its, n_ranks)])
    return steps
