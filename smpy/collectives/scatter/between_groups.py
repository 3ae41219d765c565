"""Scatter and Scatterv between two groups."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.between_groups import SOURCE, from_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm(("inter_iscatter", "inter_iscatterv"), "linear", source=SOURCE)(from_root)


@algorithm(("inter_scatter", "inter_scatterv"), "linear", source=SOURCE)
def linear(call: Call) -> Schedule:
    """The root sends every rank of the other group its block, and a wait for everything."""
    steps = from_root(call)
    steps.wait_all()
    return steps
