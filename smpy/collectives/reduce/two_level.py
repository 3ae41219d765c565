"""Reduce on each host and among the first ranks of hosts, by tables that a row names; for commutative operations."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import hand_over
from smpy.collectives.patterns.two_levels import among_leaders, on_hosts
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("reduce", "two_level", source="MPICH, ch4_coll_impl.h, composition alpha", chooses=True)
def two_level(call: Call) -> Schedule:
    """Reduce on each host, then among the first ranks to rank 0, which sends the result to the root.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    on_hosts(steps, call, "reduce", nbytes)
    among_leaders(steps, call, "reduce", nbytes)
    hand_over(steps, call, 0, call.root, nbytes)
    return steps


@algorithm("reduce", "two_level_host_of_root_last", source="MPICH, ch4_coll_impl.h, composition beta", chooses=True)
def two_level_host_of_root_last(call: Call) -> Schedule:
    """Reduce on each host except the root's, then among first ranks at the root's host, and last on the root's host.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    steps, nbytes, host = Schedule(call), call.nbytes, call.leaders.index
    assert isinstance(nbytes, int)  # a choosing algorithm
    host_of_root = call.leaders_of_root.index
    with steps.when(host != host_of_root):
        on_hosts(steps, call, "reduce", nbytes)
    among_leaders(steps, call, "reduce", nbytes, host_of_root)
    with steps.when(host == host_of_root):
        on_hosts(steps, call, "reduce", nbytes, call.local_of_root.index)
    return steps
