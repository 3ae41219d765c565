"""To each rank ahead in turn."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm("alltoall", "ring", simgrid="ring", source="SimGrid 3.32, alltoall-ring.cpp")
def ring(call: Call) -> Schedule:
    """In round i to the i-th rank ahead, from the i-th behind."""
    rank, n_ranks = call.rank, call.n_ranks
    steps = Schedule(rank)
    for distance in steps.loop(1, n_ranks):
        ahead, behind = (rank + distance) % n_ranks, (rank - distance) % n_ranks
        steps.exchange(ahead, block_bytes(call.out, ahead), behind, block_bytes(call.into, behind))
    return steps
