"""Gather and Gatherv between two groups."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.between_groups import SOURCE, to_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm(("inter_igather", "inter_igatherv"), "linear", source=SOURCE)(to_root)


@algorithm(("inter_gather", "inter_gatherv"), "linear", source=SOURCE)
def linear(call: Call) -> Schedule:
    """Every rank of the other group sends the root its block, and a wait for everything."""
    steps = to_root(call)
    steps.wait_all()
    return steps
