"""Barrier on each host, then among hosts."""

from __future__ import annotations

from smpy.collectives.barrier.doubling import dissemination
from smpy.collectives.bcast.trees import down
from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("barrier", "hosts_first", simgrid="mpich_smp", source="MPICH 3, SMP barrier", chooses=True)
def hosts_first(call: Call) -> Schedule:
    """A barrier on each host, one among first ranks, and a byte from each first rank to the ranks of its host."""
    steps = Schedule(call)
    search_hosts(steps, call)
    call.add(steps, dissemination, call.local, 0)
    with steps.when(call.local.index == 0):
        call.add(steps, dissemination, call.leaders, 0)
    call.add(steps, down, call.local, 1)
    return steps
