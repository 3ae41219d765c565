"""All send their blocks to the root at once."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import to_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm(("igather", "igatherv"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_root)


@algorithm(("gather", "gatherv"), "linear", source="SimGrid 3.32, smpi_default_selector.cpp")
def linear(call: Call) -> Schedule:
    """All send their blocks to the root at once, and a wait for everything."""
    steps = to_root(call)
    steps.wait_all()
    return steps
