"""To each rank ahead in turn."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm(
    ("allgather", "allgatherv"), "ring", simgrid="ring", source="SimGrid 3.32, allgather-ring.cpp, allgatherv-ring.cpp"
)
def ring(call: Call) -> Schedule:
    """In round i its own block to the i-th rank ahead, and the block of the i-th behind."""
    rank, n_ranks = call.rank, call.n_ranks
    steps = Schedule(rank)
    for distance in steps.loop(1, n_ranks):
        ahead, behind = (rank + distance) % n_ranks, (rank - distance) % n_ranks
        steps.exchange(ahead, call.nbytes, behind, block_bytes(call.into, behind))
    return steps
