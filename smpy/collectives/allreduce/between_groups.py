"""Allreduce between two groups."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.between_groups import SOURCE, through_the_first
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm("inter_allreduce", "linear", source=SOURCE)(through_the_first)


@algorithm("inter_iallreduce", "linear", source=SOURCE)
def start(call: Call) -> Schedule:
    """Every rank sends its vector to every rank of the other group."""
    steps = Schedule(call.rank)
    for peer in steps.loop(0, call.n_remote):
        steps.isend(peer, call.nbytes)
        steps.irecv(peer, call.nbytes)
    return steps
