"""Broadcast along trees."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("bcast", "binomial_tree", simgrid="binomial_tree", source="SimGrid 3.32, bcast-binomial-tree.cpp; MPICH")
def down(call: Call) -> Schedule:
    """Receive from the rank that differs in the lowest set bit, then serve those below it, the farthest first."""
    steps = Schedule(call)
    binomial_tree.broadcast(steps, call.from_root, call.nbytes)
    return steps
