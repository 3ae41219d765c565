"""Broadcast between the first ranks of hosts, and then on each host, by algorithms that a table's row names."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm(
    "bcast",
    "two_level",
    source="SimGrid 3.32, smpi_mvapich2_selector.cpp; MPICH, ch4_coll_impl.h, composition alpha",
    chooses=True,
)
def two_level(call: Call) -> Schedule:
    """The root hands over to the first rank of its host, these ranks broadcast, and then each on its host.

    Parts: "leaders" and "local"; by default, MPICH's rule in SimGrid.
    """
    steps, rank, root = Schedule(call), call.rank, call.root
    nbytes = call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    assert call.hosts is not None
    local, of_root = call.local, call.hosts.local(root)
    with steps.when((rank == root) & (local.index != 0)):
        steps.send(local[0], nbytes)
    with steps.when((rank == of_root[0]) & (rank != root)):
        steps.recv(root, nbytes)
    with steps.when(local.index == 0):
        leader = call.hosts.leaders(root).index
        call.add_chosen(
            steps,
            "bcast",
            nbytes,
            ranks=call.leaders,
            root=leader,
            table=call.parts.get("leaders", "smpi-mpich"),
        )
    call.add_chosen(steps, "bcast", nbytes, ranks=local, table=call.parts.get("local", "smpi-mpich"))
    return steps


@algorithm("bcast", "two_level_host_of_root_first", source="MPICH, ch4_coll_impl.h, composition beta", chooses=True)
def two_level_host_of_root_first(call: Call) -> Schedule:
    """Broadcast on the root's host, then among the first ranks of hosts, and then on each other host.

    A root that is the first rank of its host broadcasts there last. Parts: the tables "leaders" and "local"; by
    default, the run's.
    """
    steps, nbytes, local, leaders = Schedule(call), call.nbytes, call.local, call.leaders
    assert isinstance(nbytes, int)  # a choosing algorithm
    assert call.hosts is not None
    host_of_root = call.hosts.leaders(call.root).index
    index_of_root = call.hosts.local(call.root).index
    is_first = (leaders.index == host_of_root) & (index_of_root != 0)
    with steps.when(is_first):
        call.add_chosen(steps, "bcast", nbytes, ranks=local, root=index_of_root, table=call.parts.get("local"))
    with steps.when(local.index == 0):
        call.add_chosen(steps, "bcast", nbytes, ranks=leaders, root=host_of_root, table=call.parts.get("leaders"))
    with steps.when(is_first == 0):
        call.add_chosen(steps, "bcast", nbytes, ranks=local, table=call.parts.get("local"))
    return steps
