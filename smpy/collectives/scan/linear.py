"""Scan in which every rank sends to all ranks after it."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, larger

_SOURCE: Final = "SimGrid 3.32, smpi_default_selector.cpp"


@algorithm(("iscan", "iexscan"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start(call: Call) -> Schedule:
    """Receive from all ranks before this one and send to all after it."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.rank):
        steps.irecv(peer, call.nbytes)
    for peer in steps.loop(call.rank + 1, call.n_ranks):
        steps.isend(peer, call.nbytes)
    return steps


@algorithm("scan", "linear", source=_SOURCE)
def linear(call: Call) -> Schedule:
    """Receive from all ranks before this one and reduce their vectors with the own one."""
    steps = start(call)
    steps.wait_all()
    steps.combine(call.rank * call.nbytes)
    return steps


@algorithm("exscan", "linear", source=_SOURCE)
def exclusive(call: Call) -> Schedule:
    """Receive from all ranks before this one and reduce their vectors."""
    steps = start(call)
    steps.wait_all()
    steps.combine(larger(0, call.rank - 1) * call.nbytes)
    return steps
