"""Half of the vector, a quarter, ..., with operands in rank order."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import is_power_of_two, powers_of_two_below
from smpy.collectives.reduce_scatter.recursive_doubling import recursive_doubling
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "halving",
    simgrid="mpich_noncomm",
    source="Bernaschi, Iannello & Lauria 2003; MPICH, noncommutative",
)
def halving(call: Call) -> Schedule:
    """Half of the vector, a quarter, ... in an order that keeps operands in rank order; for 2, 4, 8, ... ranks.

    On other numbers of ranks: recursive doubling.
    """
    rank, n_ranks = call.rank, call.n_ranks
    if not is_power_of_two(n_ranks):
        return recursive_doubling(call)
    steps = Schedule(rank)
    for mask in powers_of_two_below(n_ranks):
        part_bytes = call.out[n_ranks] // n_ranks * (n_ranks // (2 * mask))
        steps.exchange(rank ^ mask, part_bytes, rank ^ mask, part_bytes)
    return steps
