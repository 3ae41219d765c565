"""A part to each rank, then a ring."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns import scattered
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("bcast", "scatter_ring_allgather", simgrid="scatter_LR_allgather", source="van de Geijn 1994; MPICH")
def scatter_ring_allgather(call: Call) -> Schedule:
    """A part to each rank along a binomial tree, then a ring in which all parts go round."""
    steps = Schedule(call.rank)
    scattered.scatter(steps, call)
    scattered.ring(steps, call)
    return steps
