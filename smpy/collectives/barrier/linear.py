"""Barrier in which all ranks send to rank 0, which answers all."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("barrier", "linear", simgrid="ompi_basic_linear", source="Open MPI, basic linear barrier")
def linear(call: Call) -> Schedule:
    """Send from all ranks to rank 0, then from rank 0 to all."""
    rank, n_ranks = call.rank, call.n_ranks
    steps = Schedule(call)
    with steps.when(rank != 0):
        steps.send(0, 0)
        steps.recv(0, 0)
    with steps.when(rank == 0):
        for peer in steps.loop(1, n_ranks):
            steps.irecv(peer, 0)
        steps.wait_all()
        for peer in steps.loop(1, n_ranks):
            steps.isend(peer, 0)
        steps.wait_all()
    return steps


@algorithm("ibarrier", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start(call: Call) -> Schedule:
    """Send from all ranks to rank 0, which answers all without waiting for their messages.

    SMPI's rank 0 receives the messages in order of arrival; here it receives them in rank order.
    """
    rank = call.rank
    steps = Schedule(call)
    with steps.when(rank != 0):
        steps.isend(0, 0)
        steps.irecv(0, 0)
    with steps.when(rank == 0):
        for peer in steps.loop(1, call.n_ranks):
            steps.irecv(peer, 0)
            steps.isend(peer, 0)
    return steps
