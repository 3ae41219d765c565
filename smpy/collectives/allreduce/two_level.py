"""Allreduce among the first ranks of hosts, after a reduction on each host, by tables that a row names."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.two_levels import among_leaders, on_hosts
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("allreduce", "two_level", source="MPICH, ch4_coll_impl.h, composition alpha", chooses=True)
def two_level(call: Call) -> Schedule:
    """Reduce on each host, allreduce among the first ranks, and broadcast on each host; for commutative operations.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    on_hosts(steps, call, "reduce", nbytes)
    among_leaders(steps, call, "allreduce", nbytes)
    on_hosts(steps, call, "bcast", nbytes)
    return steps
