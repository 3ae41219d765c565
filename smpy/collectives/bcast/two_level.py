"""Broadcast between the first ranks of hosts, and then on each host, by algorithms that a table's row names."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import hand_over
from smpy.collectives.patterns.two_levels import among_leaders, on_hosts
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm(
    "bcast",
    "two_level",
    source="SimGrid 3.32, smpi_mvapich2_selector.cpp; MPICH, ch4_coll_impl.h, composition alpha",
    chooses=True,
)
def two_level(call: Call) -> Schedule:
    """Send from the root to the first rank of its host, broadcast among first ranks, and then on each host.

    Parts: "leaders" and "local"; by default, MPICH's rule as in SimGrid.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    hand_over(steps, call, call.root, call.local_of_root[0], nbytes)
    among_leaders(steps, call, "bcast", nbytes, call.leaders_of_root.index, default="smpi-mpich")
    on_hosts(steps, call, "bcast", nbytes, default="smpi-mpich")
    return steps


@algorithm("bcast", "two_level_host_of_root_first", source="MPICH, ch4_coll_impl.h, composition beta", chooses=True)
def two_level_host_of_root_first(call: Call) -> Schedule:
    """Broadcast on the root's host, then among the first ranks of hosts, and then on each other host.

    A root that is the first rank of its host broadcasts there last. Parts: the tables "leaders" and "local"; by
    default, the run's.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    host_of_root, index_of_root = call.leaders_of_root.index, call.local_of_root.index
    is_first = (call.leaders.index == host_of_root) & (index_of_root != 0)
    with steps.when(is_first):
        on_hosts(steps, call, "bcast", nbytes, index_of_root)
    among_leaders(steps, call, "bcast", nbytes, host_of_root)
    with steps.when(is_first == 0):
        on_hosts(steps, call, "bcast", nbytes)
    return steps
