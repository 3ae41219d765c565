"""Allreduce among the first ranks of hosts, for which each reduces on its host, by tables that a row names."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("allreduce", "two_level", source="MPICH, ch4_coll_impl.h, composition alpha", chooses=True)
def two_level(call: Call) -> Schedule:
    """Reduce on each host, allreduce among the first ranks, and broadcast on each host; for commutative operations.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    steps, nbytes, local = Schedule(call), call.nbytes, call.local
    assert isinstance(nbytes, int)  # a choosing algorithm
    call.add_chosen(steps, "reduce", nbytes, ranks=local, table=call.parts.get("local"))
    with steps.when(local.index == 0):
        call.add_chosen(steps, "allreduce", nbytes, ranks=call.leaders, table=call.parts.get("leaders"))
    call.add_chosen(steps, "bcast", nbytes, ranks=local, table=call.parts.get("local"))
    return steps
