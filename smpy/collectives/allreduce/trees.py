"""Allreduce as a reduction to rank 0 and a broadcast."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.patterns.linear import reduce_to_first, reduce_to_root_in_order
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value


@algorithm("allreduce", "reduce_bcast", source="SimGrid 3.32, smpi_default_selector.cpp")
def reduce_bcast(call: Call) -> Schedule:
    """Send all vectors to rank 0 at once, which reduces them and broadcasts along a binomial tree."""
    steps = Schedule(call)
    add_reduce_bcast(steps, call, call.nbytes)
    return steps


@algorithm(
    "allreduce",
    "chosen_reduce_bcast",
    simgrid="redbcast",
    source="SimGrid 3.32, allreduce-redbcast.cpp",
    chooses=True,
)
def chosen_reduce_bcast(call: Call) -> Schedule:
    """Reduce to rank 0, then broadcast, both with the algorithms that the run chooses."""
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    call.add_chosen(steps, "reduce", nbytes)
    call.add_chosen(steps, "bcast", nbytes)
    return steps


@algorithm("allreduce", "basic_reduce_bcast", source="Open MPI, nonoverlapping allreduce")
def basic_reduce_bcast(call: Call) -> Schedule:
    """Reduce at rank 0 in rank order, receiving from the last rank to the first, then broadcast along a tree."""
    steps = Schedule(call)
    add_basic_reduce_bcast(steps, call, call.nbytes)
    return steps


def add_reduce_bcast(steps: Schedule, call: Call, nbytes: Value) -> None:
    """The steps of `reduce_bcast` for a vector of `nbytes`."""
    reduce_to_first(steps, call.everyone, nbytes)
    binomial_tree.broadcast(steps, call.everyone, nbytes)


def add_basic_reduce_bcast(steps: Schedule, call: Call, nbytes: Value) -> None:
    """The steps of `basic_reduce_bcast` for a vector of `nbytes`."""
    reduce_to_root_in_order(steps, call, 0, nbytes)
    binomial_tree.broadcast(steps, call.everyone, nbytes)


@algorithm("allreduce", "linear_reduce_bcast", source="Open MPI 4 and 5, basic linear allreduce")
def linear_reduce_bcast(call: Call) -> Schedule:
    """Reduce at rank 0 in rank order, receiving from the last rank to the first, then send to all at once."""
    steps, nbytes = Schedule(call), call.nbytes
    reduce_to_root_in_order(steps, call, 0, nbytes)
    with steps.when(call.rank == 0):
        for peer in steps.loop(1, call.n_ranks):
            steps.isend(peer, nbytes)
        steps.wait_all()
    with steps.when(call.rank != 0):
        steps.recv(0, nbytes)
    return steps
