"""Reduce on each host and among the first ranks of hosts, by tables that a row names; for commutative operations."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("reduce", "two_level", source="MPICH, ch4_coll_impl.h, composition alpha", chooses=True)
def two_level(call: Call) -> Schedule:
    """Reduce on each host, then among the first ranks at rank 0, which sends the result to the root.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    steps, nbytes, local = Schedule(call), call.nbytes, call.local
    assert isinstance(nbytes, int)  # a choosing algorithm
    call.add_chosen(steps, "reduce", nbytes, ranks=local, table=call.parts.get("local"))
    with steps.when(local.index == 0):
        call.add_chosen(steps, "reduce", nbytes, ranks=call.leaders, table=call.parts.get("leaders"))
    with steps.when((call.rank == 0) & (call.root != 0)):
        steps.send(call.root, nbytes)
    with steps.when((call.rank == call.root) & (call.root != 0)):
        steps.recv(0, nbytes)
    return steps


@algorithm("reduce", "two_level_host_of_root_last", source="MPICH, ch4_coll_impl.h, composition beta", chooses=True)
def two_level_host_of_root_last(call: Call) -> Schedule:
    """Reduce on each host but the root's, then among the first ranks at the root's host, and there at the root.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    steps, nbytes, local, leaders = Schedule(call), call.nbytes, call.local, call.leaders
    assert isinstance(nbytes, int)  # a choosing algorithm
    assert call.hosts is not None
    host_of_root = call.hosts.leaders(call.root).index
    index_of_root = call.hosts.local(call.root).index
    with steps.when(leaders.index != host_of_root):
        call.add_chosen(steps, "reduce", nbytes, ranks=local, table=call.parts.get("local"))
    with steps.when(local.index == 0):
        call.add_chosen(steps, "reduce", nbytes, ranks=leaders, root=host_of_root, table=call.parts.get("leaders"))
    with steps.when(leaders.index == host_of_root):
        call.add_chosen(steps, "reduce", nbytes, ranks=local, root=index_of_root, table=call.parts.get("local"))
    return steps
