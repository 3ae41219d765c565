"""Reduce_scatter and Reduce_scatter_block between two groups."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.between_groups import SOURCE
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm(("inter_ireduce_scatter", "inter_ireduce_scatter_block"), "linear", source=SOURCE)
def start(call: Call) -> Schedule:
    """Every rank sends every rank of the other group its share, as large as if all had equal ones.

    A rank does not know the blocks of the other group.
    """
    steps = Schedule(call.rank)
    for peer in steps.loop(0, call.n_remote):
        steps.isend(peer, call.nbytes // call.n_remote)
        steps.irecv(peer, call.nbytes // call.n_ranks)
    return steps


@algorithm(("inter_reduce_scatter", "inter_reduce_scatter_block"), "linear", source=SOURCE)
def linear(call: Call) -> Schedule:
    """Every rank sends every rank of the other group its share, and a wait for everything."""
    steps = start(call)
    steps.wait_all()
    return steps
