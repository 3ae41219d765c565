"""Allgather as a gather and a broadcast."""

from __future__ import annotations

from dataclasses import replace

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait, to_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("allgather", "gather_bcast", simgrid="GB", source="SimGrid 3.32, allgather-GB.cpp", chooses=True)
def gather_bcast(call: Call) -> Schedule:
    """Gather all blocks at rank 0, then broadcast them, both with the algorithms that the run chooses."""
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)
    call.add_chosen(steps, "gather", nbytes)
    call.add_chosen(steps, "bcast", call.n_ranks * nbytes)
    return steps


@algorithm("allgatherv", "gather_bcast", simgrid="GB", source="SimGrid 3.32, allgatherv-GB.cpp", chooses=True)
def gatherv_bcast(call: Call) -> Schedule:
    """Send all blocks to rank 0 at once, then broadcast them with the algorithm that the run chooses."""
    steps = and_wait(to_root)(replace(call, root=0))
    call.add_chosen(steps, "bcast", call.total_bytes)
    return steps
