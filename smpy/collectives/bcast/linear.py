"""The root sends to all others at once."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import from_root
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm("ibcast", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(from_root)


@algorithm("bcast", "linear", simgrid="flattree", source="SimGrid 3.32, bcast-flattree.cpp")
def linear(call: Call) -> Schedule:
    """The root sends to all others at once, and a wait for everything."""
    steps = from_root(call)
    steps.wait_all()
    return steps
