"""Allgather in rounds of growing blocks: recursive doubling, Bruck."""

from __future__ import annotations

from smpy.collectives.allgather.rings import ring
from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import is_power_of_two, powers_of_two_below, subtree
from smpy.collectives.patterns.recursive_doubling import serve_those_without_partner
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, larger, smaller


@algorithm("allgather", "recursive_doubling", simgrid="rdb", source="Thakur, Rabenseifner & Gropp 2005")
@algorithm("allgatherv", "recursive_doubling", simgrid="mpich_rdb", source="Thakur, Rabenseifner & Gropp 2005")
def recursive_doubling(call: Call) -> Schedule:
    """Exchange all blocks so far with rank ^ 2^k; a tree then serves the ranks that have no partner in the round."""
    rank, n_ranks, into = call.rank, call.n_ranks, call.into
    steps = Schedule(call)

    def bytes_from(first: Value, n: int) -> Value:
        size: Value = into[smaller(first + n, n_ranks)] - into[smaller(first, n_ranks)]
        return size

    for mask in powers_of_two_below(n_ranks):
        mine, its = subtree(rank, mask), subtree(rank ^ mask, mask)
        with steps.when(rank ^ mask < n_ranks):
            steps.exchange(rank ^ mask, bytes_from(mine, mask), rank ^ mask, bytes_from(its, mask))
        serve_those_without_partner(steps, rank, n_ranks, mask, bytes_from(its, n_ranks))
    return steps


@algorithm("allgather", "bruck", simgrid="bruck", source="Bruck, Ho, Kipnis, Upfal & Weathersby 1997")
def bruck(call: Call) -> Schedule:
    """Send all blocks so far to the rank 1, 2, 4, ... behind; in the last round only the blocks that it lacks."""
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    steps, reach = Schedule(call), 1
    while reach < n_ranks:
        n_blocks = min(reach, n_ranks - reach)
        steps.exchange((rank - reach) % n_ranks, n_blocks * nbytes, (rank + reach) % n_ranks, n_blocks * nbytes)
        reach *= 2
    return steps


@algorithm("allgatherv", "bruck", simgrid="ompi_bruck", source="Bruck, Ho, Kipnis, Upfal & Weathersby 1997")
def bruck_of_blocks(call: Call) -> Schedule:
    """`bruck` with blocks of different sizes."""
    rank, n_ranks, into = call.rank, call.n_ranks, call.into

    def bytes_from(first: Value, n_blocks: int) -> Value:
        end = first + n_blocks
        size: Value = into[smaller(end, n_ranks)] - into[first] + into[larger(end - n_ranks, 0)]
        return size

    steps, reach = Schedule(call), 1
    while reach < n_ranks:
        n_blocks = min(reach, n_ranks - reach)
        behind, ahead = (rank - reach) % n_ranks, (rank + reach) % n_ranks
        steps.exchange(behind, bytes_from(rank, n_blocks), ahead, bytes_from(ahead, n_blocks))
        reach *= 2
    return steps


@algorithm("allgather", "distance_halving", simgrid="rhv", source="SimGrid 3.32, allgather-rhv.cpp")
def distance_halving(call: Call) -> Schedule:
    """Send the own block to the rank with the bits reversed, then all blocks so far to ranks half as far each round.

    Where the number of ranks is no power of two, SimGrid gives up; a ring is used instead.
    """
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    if not is_power_of_two(n_ranks):
        return ring(call)
    steps, masks = Schedule(call), powers_of_two_below(n_ranks)
    reversed_rank: Value = 0
    for mask in masks:
        reversed_rank = reversed_rank + (rank & mask != 0) * (n_ranks // (2 * mask))
    with steps.when(reversed_rank != rank):
        steps.exchange(reversed_rank, nbytes, reversed_rank, nbytes)
    for known, mask in zip(masks, reversed(masks), strict=True):
        steps.exchange(rank ^ mask, known * nbytes, rank ^ mask, known * nbytes)
    return steps
