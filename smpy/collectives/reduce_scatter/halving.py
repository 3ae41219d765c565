"""Reduce-scatter by halving the vector, and by recursive doubling."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import (
    expanded,
    is_power_of_two,
    power_of_two_up_to,
    powers_of_two_below,
    reduced_to_power_of_two,
    subtree,
)
from smpy.collectives.patterns.recursive_doubling import serve_those_without_partner
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, block_bytes, smaller


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "halving",
    simgrid="mpich_noncomm",
    source="Bernaschi, Iannello & Lauria 2003; MPICH, noncommutative",
)
def halving(call: Call) -> Schedule:
    """Exchange half of the vector, a quarter, ... with operands kept in rank order; for 2, 4, 8, ... ranks.

    On other numbers of ranks: recursive doubling.
    """
    rank, n_ranks = call.rank, call.n_ranks
    if not is_power_of_two(n_ranks):
        return recursive_doubling(call)
    steps = Schedule(call)
    for mask in powers_of_two_below(n_ranks):
        part_bytes = call.out[n_ranks] // n_ranks * (n_ranks // (2 * mask))
        steps.exchange(rank ^ mask, part_bytes, rank ^ mask, part_bytes)
        steps.combine(part_bytes)
    return steps


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"), "recursive_halving", source="Thakur, Rabenseifner & Gropp 2005; MPICH"
)
def recursive_halving(call: Call) -> Schedule:
    """Send the half of the vector that the partner's half of ranks needs, then a quarter, ...; for commutative ones."""
    steps, ranks, out = Schedule(call), call.everyone, call.out
    n_ranks, power = call.n_ranks, power_of_two_up_to(call.n_ranks)
    n_pairs = n_ranks - power

    def blocks_bytes(first: Value, n: int) -> Value:
        """Bytes of the blocks of `n` numbers from `first` on, including the blocks of ranks folded into them."""
        start, end = (number + smaller(number, n_pairs) for number in (first, first + n))
        size: Value = out[end] - out[start]
        return size

    with reduced_to_power_of_two(steps, ranks, out[n_ranks], block_bytes(out, call.rank // 2 * 2)) as number:
        for mask in reversed(powers_of_two_below(power)):
            partner = expanded(ranks, number ^ mask)
            mine, its = subtree(number, mask), subtree(number ^ mask, mask)
            steps.exchange(partner, blocks_bytes(its, mask), partner, blocks_bytes(mine, mask))
            steps.combine(blocks_bytes(mine, mask))
    return steps


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "recursive_doubling",
    simgrid="mpich_rdb",
    source="MPICH, recursive doubling",
)
def recursive_doubling(call: Call) -> Schedule:
    """Send each partner all blocks that the own subtree does not need."""
    rank, n_ranks, out = call.rank, call.n_ranks, call.out
    steps = Schedule(call)
    for mask in powers_of_two_below(n_ranks):
        mine, its = subtree(rank, mask), subtree(rank ^ mask, mask)
        mine_bytes, its_bytes = (
            out[n_ranks] - out[smaller(first + mask, n_ranks)] + out[smaller(first, n_ranks)] for first in (mine, its)
        )
        with steps.when(rank ^ mask < n_ranks):
            steps.exchange(rank ^ mask, mine_bytes, rank ^ mask, its_bytes)
        serve_those_without_partner(steps, rank, n_ranks, mask, out[smaller(its, n_ranks)])
        with steps.when(its < n_ranks):  # all ranks whose partner's subtree has ranks have received its operand
            steps.combine(its_bytes)
    return steps
