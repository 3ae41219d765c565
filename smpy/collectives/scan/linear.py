"""Scan in which every rank sends to all ranks after it."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm(("iscan", "iexscan"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start(call: Call) -> Schedule:
    """Receive from all ranks before this one and send to all after it."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.rank):
        steps.irecv(peer, call.nbytes)
    for peer in steps.loop(call.rank + 1, call.n_ranks):
        steps.isend(peer, call.nbytes)
    return steps


algorithm(("scan", "exscan"), "linear", source="SimGrid 3.32, smpi_default_selector.cpp")(and_wait(start))
