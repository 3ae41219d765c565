"""Every rank sends its block to every other at once."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import to_everyone
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm(("iallgather", "iallgatherv"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_everyone)


@algorithm(("allgather", "allgatherv"), "linear", source="SimGrid 3.32, smpi_default_selector.cpp")
def linear(call: Call) -> Schedule:
    """Every pair exchanges its blocks; send and receive in turn, from rank 0 on, and a wait for everything."""
    steps = to_everyone(call)
    steps.wait_all()
    return steps
