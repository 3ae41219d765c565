"""Alltoall with one partner a round."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import is_power_of_two
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm("alltoall", "ring", simgrid="ring", source="SimGrid 3.32, alltoall-ring.cpp")
def ring(call: Call) -> Schedule:
    """In round i to the i-th rank ahead, from the i-th behind."""
    rank, n_ranks = call.rank, call.n_ranks
    steps = Schedule(call)
    for distance in steps.loop(1, n_ranks):
        ahead, behind = (rank + distance) % n_ranks, (rank - distance) % n_ranks
        steps.exchange(ahead, block_bytes(call.out, ahead), behind, block_bytes(call.into, behind))
    return steps


@algorithm("alltoall", "pair", simgrid="pair", source="SimGrid 3.32, alltoall-pair.cpp; MPICH, pairwise exchange")
@algorithm("alltoallv", "pair", simgrid=("pair", "ring"), source="SimGrid 3.32, alltoallv-pair.cpp, alltoallv-ring.cpp")
def pair(call: Call) -> Schedule:
    """In round i with rank XOR i; a ring when the number of ranks is no power of two, where SimGrid gives up."""
    if not is_power_of_two(call.n_ranks):
        return ring(call)
    rank = call.rank
    steps = Schedule(call)
    for i in steps.loop(1, call.n_ranks):
        steps.exchange(rank ^ i, block_bytes(call.out, rank ^ i), rank ^ i, block_bytes(call.into, rank ^ i))
    return steps
