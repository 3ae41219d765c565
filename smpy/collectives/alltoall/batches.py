"""Alltoall with several partners at a time."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes, larger, smaller

BATCH: Final = 32  # MPIR_CVAR_ALLTOALL_THROTTLE
SMALL_BATCH: Final = 4  # MV2_ALLTOALL_THROTTLE_FACTOR


@algorithm(("alltoall", "alltoallv", "alltoallw"), "scattered", source="MPICH, scattered")
def scattered(call: Call) -> Schedule:
    """Exchange with 32 ranks at a time: receive from the next, send to the previous, and wait for all."""
    steps = Schedule(call)
    _in_batches(steps, call, BATCH, first=1)
    return steps


@algorithm("alltoallv", "scattered_by_4", simgrid="bruck", source="SimGrid 3.32, alltoallv-bruck.cpp")
def scattered_by_4(call: Call) -> Schedule:
    """`scattered` with 4 ranks at a time."""
    steps = Schedule(call)
    _in_batches(steps, call, SMALL_BATCH, first=1)
    return steps


@algorithm("alltoall", "scattered_by_4", simgrid="mvapich2_scatter_dest", source="MVAPICH2, scattered destinations")
def scattered_by_4_with_self(call: Call) -> Schedule:
    """Exchange with 4 ranks at a time; the first batch includes the rank itself. Empty blocks are not sent."""
    steps = Schedule(call)
    with steps.when(call.nbytes > 0):
        _in_batches(steps, call, SMALL_BATCH, first=0)
    return steps


def _in_batches(steps: Schedule, call: Call, n_batch: int, first: int) -> None:
    """Exchange with partners at the distances from `first` on, in batches that begin at multiples of `n_batch`."""
    rank, n_ranks = call.rank, call.n_ranks
    for batch in steps.loop(0, -(-n_ranks // n_batch)):
        start, end = larger(batch * n_batch, first), smaller((batch + 1) * n_batch, n_ranks)
        for distance in steps.loop(start, end):
            ahead = (rank + distance) % n_ranks
            steps.irecv(ahead, block_bytes(call.into, ahead))
        for distance in steps.loop(start, end):
            behind = (rank - distance) % n_ranks
            steps.isend(behind, block_bytes(call.out, behind))
        steps.wait_all()
