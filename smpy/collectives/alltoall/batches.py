"""Alltoall with several partners at a time."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes, larger, smaller

BATCH: Final = 32  # MPIR_CVAR_ALLTOALL_THROTTLE


@algorithm(("alltoall", "alltoallv", "alltoallw"), "scattered", source="MPICH, scattered")
def scattered(call: Call) -> Schedule:
    """Receives from the next 32 ranks and sends to the previous 32, and a wait for them, and so on."""
    rank, n_ranks = call.rank, call.n_ranks
    steps = Schedule(call)
    for batch in steps.loop(0, -(-n_ranks // BATCH)):
        first, end = batch * BATCH, smaller((batch + 1) * BATCH, n_ranks)
        for distance in steps.loop(larger(first, 1), end):
            ahead = (rank + distance) % n_ranks
            steps.irecv(ahead, block_bytes(call.into, ahead))
        for distance in steps.loop(larger(first, 1), end):
            behind = (rank - distance) % n_ranks
            steps.isend(behind, block_bytes(call.out, behind))
        steps.wait_all()
    return steps
