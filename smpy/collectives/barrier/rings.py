"""Barrier along a ring."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("barrier", "double_ring", simgrid="ompi_doublering", source="Open MPI, double ring barrier")
def double_ring(call: Call) -> Schedule:
    """Pass a token twice round all ranks, from rank 0."""
    rank, ranks = call.rank, call.everyone
    steps = Schedule(call)
    for _ in steps.loop(0, 2 if call.n_ranks > 1 else 0):
        with steps.when(rank != 0):
            steps.recv(ranks.behind(1), 0)
        steps.send(ranks.ahead(1), 0)
        with steps.when(rank == 0):
            steps.recv(ranks.behind(1), 0)
    return steps
