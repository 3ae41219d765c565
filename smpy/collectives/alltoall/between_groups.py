"""Alltoall, Alltoallv and Alltoallw between two groups."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.between_groups import SOURCE
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm(("inter_ialltoall", "inter_ialltoallv", "inter_ialltoallw"), "linear", source=SOURCE)
def start(call: Call) -> Schedule:
    """All receives, then all sends."""
    steps = Schedule(call.rank)
    for peer in steps.loop(0, call.n_remote):
        steps.irecv(peer, block_bytes(call.into, peer))
    for peer in steps.loop(0, call.n_remote):
        steps.isend(peer, block_bytes(call.out, peer))
    return steps


@algorithm(("inter_alltoall", "inter_alltoallv", "inter_alltoallw"), "linear", source=SOURCE)
def linear(call: Call) -> Schedule:
    """All receives, then all sends, and a wait for everything."""
    steps = start(call)
    steps.wait_all()
    return steps
