"""Allgather in which every rank sends its block to every other at once."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait, to_everyone
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

algorithm(("iallgather", "iallgatherv"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_everyone)
algorithm(("allgather", "allgatherv"), "linear", source="SimGrid 3.32, smpi_default_selector.cpp")(
    and_wait(to_everyone)
)


@algorithm(
    "allgather", "shifted_linear", simgrid="spreading_simple", source="SimGrid 3.32, allgather-spreading-simple.cpp"
)
def shifted_linear(call: Call) -> Schedule:
    """Start all receives, then all sends, both beginning with the next rank."""
    steps, ranks = Schedule(call), call.everyone
    for distance in steps.loop(1, call.n_ranks):
        steps.irecv(ranks.ahead(distance), call.nbytes)
    for distance in steps.loop(1, call.n_ranks):
        steps.isend(ranks.ahead(distance), call.nbytes)
    steps.wait_all()
    return steps
