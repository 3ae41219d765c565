"""Reduce-scatter in which every rank reduces its own block."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm(("ireduce_scatter", "ireduce_scatter_block"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start(call: Call) -> Schedule:
    """Receive the own block of all other vectors and reduce it."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_ranks):
        with steps.when(peer != call.rank):
            steps.isend(peer, block_bytes(call.out, peer))
            steps.irecv(peer, call.nbytes)
    return steps
