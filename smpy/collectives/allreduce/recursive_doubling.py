"""Exchanges of the whole vector with the ranks that differ in one bit."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.recursive_doubling import exchange_vectors
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("allreduce", "recursive_doubling", simgrid="rdb", source="Thakur, Rabenseifner & Gropp 2005")
def recursive_doubling(call: Call) -> Schedule:
    """Every rank exchanges the whole vector with each of its partners."""
    steps = Schedule(call.rank)
    exchange_vectors(steps, call.everyone, call.nbytes)
    return steps
