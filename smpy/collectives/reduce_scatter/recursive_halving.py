"""The half of the vector that the partner's half of the ranks needs, then a quarter, ..."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import folded, power_of_two_up_to, powers_of_two_below, subtree, unfolded
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, block_bytes, smaller


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"), "recursive_halving", source="Thakur, Rabenseifner & Gropp 2005; MPICH"
)
def recursive_halving(call: Call) -> Schedule:
    """The half of the vector that the partner's half of the ranks needs, then a quarter, ...; for commutative ones."""
    steps, ranks, out = Schedule(call.rank), call.everyone, call.out
    n_ranks, power = call.n_ranks, power_of_two_up_to(call.n_ranks)
    n_pairs = n_ranks - power

    def blocks_bytes(first: Value, n: int) -> Value:
        """Bytes of the blocks of the ranks numbered first to first + n - 1, and of the ranks folded into them."""
        start, end = (number + smaller(number, n_pairs) for number in (first, first + n))
        size: Value = out[end] - out[start]
        return size

    with folded(steps, ranks, out[n_ranks], block_bytes(out, call.rank // 2 * 2)) as number:
        for mask in reversed(powers_of_two_below(power)):
            partner = unfolded(ranks, number ^ mask)
            mine, its = subtree(number, mask), subtree(number ^ mask, mask)
            steps.exchange(partner, blocks_bytes(its, mask), partner, blocks_bytes(mine, mask))
    return steps
