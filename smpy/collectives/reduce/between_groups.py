"""Reduce between two groups."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.between_groups import SOURCE, to_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm("inter_ireduce", "linear", source=SOURCE)(to_root)


@algorithm("inter_reduce", "linear", source=SOURCE)
def linear(call: Call) -> Schedule:
    """Every rank of the other group sends to the root, and a wait for everything."""
    steps = to_root(call)
    steps.wait_all()
    return steps
