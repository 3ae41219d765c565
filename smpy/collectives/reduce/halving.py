"""Reduce by halving the vector."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from smpy.collectives.call import Call
from smpy.collectives.patterns.halving import fold_in_halves, folded, halves, parts_of, unfolded
from smpy.collectives.patterns.powers_of_two import power_of_two_up_to
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, either, larger, smaller


@algorithm(
    "reduce",
    "rabenseifner",
    simgrid="scatter_gather",
    source="Rabenseifner 2004; SimGrid 3.32, reduce-scatter-gather.cpp",
    in_order="in_order_binomial_tree",
)
def rabenseifner(call: Call) -> Schedule:
    """Halve the vector, then gather to the root along the same partners; the last part has the remainder.

    A vector with fewer entries than ranks is padded to one entry per rank.
    """
    nbytes = larger(call.nbytes, (call.nbytes > 0) * call.n_ranks * call.item_bytes)
    return _halve_and_gather(replace(call, nbytes=nbytes), is_balanced=False)


@algorithm("reduce", "balanced_rabenseifner", source="Rabenseifner 2004; MPICH 4, reduce_scatter_gather")
def balanced_rabenseifner(call: Call) -> Schedule:
    """`rabenseifner` with parts whose sizes differ by at most one entry."""
    return _halve_and_gather(call, is_balanced=True)


def _halve_and_gather(call: Call, *, is_balanced: bool) -> Schedule:
    """Halve and gather; odd ranks of the first pairs first hand their vector over to the rank before.

    If the root is one of these odd ranks, it replaces rank 0 in the gather and takes its part of the result.
    """
    rank, n_ranks, root, nbytes = call.rank, call.n_ranks, call.root, call.nbytes
    steps, power = Schedule(call), power_of_two_up_to(n_ranks)
    if n_ranks == 1:
        return steps
    n_pairs = n_ranks - power
    halves_of = partial(halves, power=power, nbytes=nbytes, item_bytes=call.item_bytes, is_balanced=is_balanced)

    def number_of(rank: Value) -> Value:
        return rank - smaller((rank + 1) // 2, n_pairs)

    def rank_of(number: Value) -> Value:
        return number + smaller(number, n_pairs)

    def stands_aside(rank: Value) -> Value:
        return (rank < 2 * n_pairs) & (rank % 2 != 0)

    number = number_of(rank)
    with steps.when(stands_aside(rank)):
        steps.send(rank - 1, nbytes)
    with steps.when((rank < 2 * n_pairs) & (rank % 2 == 0)):
        steps.recv(rank + 1, nbytes)
        steps.combine(nbytes)
    with steps.when(stands_aside(rank) == 0):
        for mask, mine_bytes, its_bytes in halves_of(number):
            steps.exchange(rank_of(number ^ mask), its_bytes, rank_of(number ^ mask), mine_bytes)
            steps.combine(mine_bytes)

    replaces = stands_aside(root)  # whether the root replaces rank 0 in the gather
    _, part_bytes, _ = halves_of(0)[-1]
    with steps.when(replaces & (rank == 0)):
        steps.send(root, part_bytes)
    with steps.when(replaces & (rank == root)):
        steps.recv(0, part_bytes)
    root_number = number_of(root) * (replaces == 0)
    number = number * (rank != root) + root_number * (rank == root)
    is_replaced = stands_aside(rank) | (replaces & (rank == 0))
    with steps.when((rank == root) | (is_replaced == 0)):
        for mask, mine_bytes, its_bytes in reversed(halves_of(number)):
            partner = rank_of(number ^ mask) + (number ^ mask == 0) * replaces * root
            with steps.when(number // (2 * mask) == root_number // (2 * mask)):  # the others have already sent all
                with steps.when(number & mask != root_number & mask):
                    steps.send(partner, mine_bytes)
                with steps.when(number & mask == root_number & mask):
                    steps.recv(partner, its_bytes)
    return steps


@algorithm(
    "reduce",
    "rabenseifner_1997",
    simgrid="rab",
    source="Rabenseifner 1997; SimGrid 3.32, reduce-rab.cpp",
    in_order="in_order_binomial_tree",
)
def rabenseifner_1997(call: Call) -> Schedule:
    """Halve the vector entry by entry, then gather to the root in pairs, from the smallest parts on.

    Each rank of the first pairs reduces a half, and only the even one continues. A root that is an odd one replaces
    rank 0. Ranks whose part the root already has continue in pairs, too.
    """
    rank, n_ranks, root, item_bytes = call.rank, call.n_ranks, call.root, call.item_bytes
    steps = Schedule(call)
    if n_ranks == 1:
        return steps
    power = power_of_two_up_to(n_ranks)
    n_pairs = n_ranks - power
    number, takes_part = fold_in_halves(steps, call)
    parts = parts_of(number, power, call.nbytes, item_bytes)
    with steps.when(takes_part):
        for mask, mine, its in parts:
            partner = unfolded(number ^ mask, n_pairs)
            steps.exchange(partner, its, partner, mine)
            steps.combine(mine)

    replaces = (root < 2 * n_pairs) & (root % 2 != 0)
    _, part_bytes, _ = parts_of(0, power, call.nbytes, item_bytes)[-1]
    with steps.when(replaces & (rank == 0)):
        steps.send(root, part_bytes)
    with steps.when(replaces & (rank == root)):
        steps.recv(0, part_bytes)
    root_number = (replaces == 0) * folded(root, n_pairs)
    is_root = rank == root
    number = either(is_root, root_number, number)
    with steps.when(is_root | (takes_part & ((replaces & (rank == 0)) == 0))):
        for mask, mine, its in reversed(parts_of(number, power, call.nbytes, item_bytes)):
            other = number ^ mask
            is_to_root = other == root_number
            partner = either(is_to_root, root, unfolded(other, n_pairs))
            differs = (number & mask) != (root_number & mask)
            with steps.when(differs):
                steps.send(partner, mine)
            with steps.when(differs == 0):
                steps.recv(partner, its)
    return steps
