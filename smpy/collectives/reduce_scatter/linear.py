"""Every rank reduces its own block."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm(("ireduce_scatter", "ireduce_scatter_block"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start(call: Call) -> Schedule:
    """Every rank gets its block of all others and reduces it itself."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_ranks):
        with steps.when(peer != call.rank):
            steps.isend(peer, block_bytes(call.out, peer))
            steps.irecv(peer, call.nbytes)
    return steps
