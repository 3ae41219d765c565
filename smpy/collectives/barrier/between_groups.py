"""Barrier between two groups."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.between_groups import SOURCE, through_the_first
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm("inter_barrier", "linear", source=SOURCE)(through_the_first)


@algorithm("inter_ibarrier", "linear", source=SOURCE)
def start(call: Call) -> Schedule:
    """All tell the other group's rank 0, which tells them all without waiting."""
    steps = Schedule(call.rank)
    steps.isend(0, 0)
    steps.irecv(0, 0)
    with steps.when(call.rank == 0):
        for peer in steps.loop(0, call.n_remote):
            steps.irecv(peer, 0)
            steps.isend(peer, 0)
    return steps
