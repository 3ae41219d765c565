"""Allreduce by recursive doubling, and by halving and doubling."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.halving import halves
from smpy.collectives.patterns.powers_of_two import expanded, power_of_two_up_to, reduced_to_power_of_two
from smpy.collectives.patterns.recursive_doubling import exchange_vectors
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("allreduce", "recursive_doubling", simgrid="rdb", source="Thakur, Rabenseifner & Gropp 2005")
def recursive_doubling(call: Call) -> Schedule:
    """Exchange the whole vector with each partner."""
    steps = Schedule(call)
    exchange_vectors(steps, call.everyone, call.nbytes)
    return steps


@algorithm(
    "allreduce",
    "rabenseifner",
    simgrid="rab_rdb",
    source="Rabenseifner 2004; SimGrid 3.32, allreduce-rab-rdb.cpp",
    in_order="recursive_doubling",
)
def rabenseifner(call: Call) -> Schedule:
    """Halve the vector, then double back along the same partners; the last part has the remainder."""
    return _halve_and_double(call, is_balanced=False)


@algorithm("allreduce", "balanced_rabenseifner", source="Rabenseifner 2004; MPICH 4, reduce_scatter_allgather")
def balanced_rabenseifner(call: Call) -> Schedule:
    """`rabenseifner` with parts whose sizes differ by at most one entry."""
    return _halve_and_double(call, is_balanced=True)


def _halve_and_double(call: Call, *, is_balanced: bool) -> Schedule:
    steps, ranks, nbytes = Schedule(call), call.everyone, call.nbytes
    power = power_of_two_up_to(call.n_ranks)
    with reduced_to_power_of_two(steps, ranks, nbytes) as number:
        rounds = [
            (expanded(ranks, number ^ mask), mine_bytes, its_bytes)
            for mask, mine_bytes, its_bytes in halves(number, power, nbytes, call.item_bytes, is_balanced=is_balanced)
        ]
        for partner, mine_bytes, its_bytes in rounds:
            steps.exchange(partner, its_bytes, partner, mine_bytes)
            steps.combine(mine_bytes)
        for partner, mine_bytes, its_bytes in reversed(rounds):
            steps.exchange(partner, mine_bytes, partner, its_bytes)
    return steps
