"""The root sends all others their blocks at once."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import from_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm(("iscatter", "iscatterv"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(from_root)


@algorithm(("scatter", "scatterv"), "linear", source="SimGrid 3.32, smpi_default_selector.cpp")
def linear(call: Call) -> Schedule:
    """The root sends all others their blocks at once, and a wait for everything."""
    steps = from_root(call)
    steps.wait_all()
    return steps
