"""Sends to the next rank and receives from the previous one."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm("allgather", "logical_ring", simgrid="NTSLR", source="SimGrid 3.32, allgather-NTSLR.cpp; MPICH, ring")
def logical_ring(call: Call) -> Schedule:
    """Send to the next rank, receive from the previous one: first the own block, then the one received last."""
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    steps = Schedule(rank)
    for _ in steps.loop(1, n_ranks):
        steps.exchange((rank + 1) % n_ranks, nbytes, (rank - 1) % n_ranks, nbytes)
    return steps


@algorithm("allgatherv", "logical_ring", source="MPICH, ring")
def logical_ring_of_blocks(call: Call) -> Schedule:
    """The same with blocks of many sizes."""
    rank, n_ranks, into = call.rank, call.n_ranks, call.into
    steps = Schedule(rank)
    for distance in steps.loop(1, n_ranks):
        last, new = (rank - distance + 1) % n_ranks, (rank - distance) % n_ranks
        steps.exchange((rank + 1) % n_ranks, block_bytes(into, last), (rank - 1) % n_ranks, block_bytes(into, new))
    return steps
