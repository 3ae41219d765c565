"""Barrier along trees."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("barrier", "binomial_tree", simgrid="ompi_tree", source="Open MPI, tree barrier")
def up_and_down(call: Call) -> Schedule:
    """Go up a binomial tree to rank 0 and down again."""
    steps = Schedule(call)
    binomial_tree.reduce(steps, call.everyone, 0)
    binomial_tree.broadcast(steps, call.everyone, 0)
    return steps
