"""Alltoall in rounds of growing distance."""

from __future__ import annotations

from smpy.collectives.allgather.doubling import recursive_doubling as allgather_doubling
from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("alltoall", "bruck", simgrid="bruck", source="Bruck, Ho, Kipnis, Upfal & Weathersby 1997")
def bruck(call: Call) -> Schedule:
    """Send the rank 1, 2, 4, ... ahead all blocks whose distance to their target has that bit."""
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    steps, reach = Schedule(call), 1
    while reach < n_ranks:
        n_blocks = sum(1 for distance in range(1, n_ranks) if distance & reach)
        steps.exchange((rank + reach) % n_ranks, n_blocks * nbytes, (rank - reach) % n_ranks, n_blocks * nbytes)
        reach *= 2
    return steps


@algorithm("alltoall", "recursive_doubling", simgrid="rdb", source="SimGrid 3.32, alltoall-rdb.cpp")
def recursive_doubling(call: Call) -> Schedule:
    """Bring all blocks of all ranks to every rank by recursive doubling."""
    steps = Schedule(call)
    call.add(steps, allgather_doubling, call.everyone, call.n_ranks * call.nbytes)
    return steps
