"""Allgather and Allgatherv between two groups."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.between_groups import SOURCE, to_everyone
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm(("inter_iallgather", "inter_iallgatherv"), "linear", source=SOURCE)(to_everyone)


@algorithm(("inter_allgather", "inter_allgatherv"), "linear", source=SOURCE)
def linear(call: Call) -> Schedule:
    """Every rank sends its block to every rank of the other group, and a wait for everything."""
    steps = to_everyone(call)
    steps.wait_all()
    return steps
