"""Allgather on each host, then among hosts.

Where SimGrid goes by hosts, it takes ranks in groups of as many as a host has, whatever their placement; where hosts
differ in that, each rank is a group.
"""

from __future__ import annotations

from dataclasses import dataclass

from smpy.collectives.allgather.rings import ring
from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts
from smpy.collectives.patterns.linear import to_everyone
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups of ranks as one of them sees them: the own group and the place in it.

    Attributes
    ----------
    width, n : int
        Number of ranks in a group, and of groups.
    own, place : int or Formula
        The group of the rank, and the place in it.
    """

    width: int
    n: int
    own: Value
    place: Value

    def first(self, distance: Value) -> Value:
        """The first rank of the group that is as far behind."""
        return (self.own - distance) % self.n * self.width


def _groups(call: Call) -> _Groups:
    hosts = call.known_hosts()
    width = hosts.n_local_max if hosts.is_uniform else 1
    return _Groups(width, call.n_ranks // width, call.rank // width, call.rank % width)


def _ring_in_group(steps: Schedule, groups: _Groups, nbytes: Value) -> None:
    """In round i the own block to the i-th rank ahead in the group."""
    first, place, width = groups.first(0), groups.place, groups.width
    for distance in steps.loop(1, width):
        steps.exchange(first + (place + distance) % width, nbytes, first + (place - distance) % width, nbytes)


@algorithm(
    "allgather",
    "hosts_then_fan_out",
    simgrid="smp_simple",
    source="SimGrid 3.32, allgather-smp-simple.cpp",
    chooses=True,
)
def hosts_then_fan_out(call: Call) -> Schedule:
    """A ring in each group, all to all among their first ranks, which send all blocks to the others one by one."""
    steps, nbytes = Schedule(call), call.nbytes
    search_hosts(steps, call)
    groups = _groups(call)
    _ring_in_group(steps, groups, nbytes)
    with steps.when(groups.place == 0):
        for distance in steps.loop(1, groups.n):
            steps.irecv(groups.first(distance), groups.width * nbytes)
        for distance in steps.loop(1, groups.n):
            steps.isend(groups.first(0 - distance), groups.width * nbytes)
        steps.wait_all()
        for place in steps.loop(1, groups.width):
            steps.send(call.rank + place, call.n_ranks * nbytes)
    with steps.when(groups.place != 0):
        steps.recv(groups.first(0), call.n_ranks * nbytes)
    return steps


@algorithm(
    "allgather", "hosts_then_chain", simgrid="SMP_NTS", source="SimGrid 3.32, allgather-SMP-NTS.cpp", chooses=True
)
def hosts_then_chain(call: Call) -> Schedule:
    """A ring in each group, a ring of their first ranks, and what comes there goes along a chain in the group."""
    steps, rank = Schedule(call), call.rank
    search_hosts(steps, call)
    groups = _groups(call)
    if groups.n == 1:
        steps.extend(to_everyone(call))
        steps.wait_all()
        return steps
    group_bytes = groups.width * call.nbytes
    _ring_in_group(steps, groups, call.nbytes)

    def pass_on() -> None:
        with steps.when(groups.place < groups.width - 1):
            steps.send(rank + 1, group_bytes)

    with steps.when(groups.place == 0):
        for _ in steps.loop(1, groups.n):
            steps.irecv(groups.first(1), group_bytes)
        steps.isend(groups.first(-1), group_bytes)
        for _ in steps.loop(2, groups.n):
            steps.wait_oldest()
            steps.isend(groups.first(-1), group_bytes)
            pass_on()
        steps.wait_oldest()
        pass_on()
        steps.wait_all()
    with steps.when(groups.place != 0):
        for _ in steps.loop(1, groups.n):
            steps.recv(rank - 1, group_bytes)
            pass_on()
    return steps


@algorithm(
    "allgather", "loose_ring", simgrid="loosely_lr", source="SimGrid 3.32, allgather-loosely-lr.cpp", chooses=True
)
def loose_ring(call: Call) -> Schedule:
    """A ring of groups for each place, and every block that comes goes to all ranks of the group at once.

    A rank waits for the next block of the ring alone, and for all others at the end.
    """
    steps, nbytes = Schedule(call), call.nbytes
    search_hosts(steps, call)
    steps.wait_all()
    groups = _groups(call)
    place = groups.place
    for i in steps.loop(0, groups.n):
        is_last = i == groups.n - 1
        for other in steps.loop(0, groups.width):
            with steps.when((other == place) & (is_last == 0)):
                steps.irecv(groups.first(1) + place, nbytes)
                steps.isend(groups.first(-1) + place, nbytes)
            with steps.when(other != place):
                steps.irecv(groups.first(0) + other, nbytes)
                steps.isend(groups.first(0) + other, nbytes)
        with steps.when(is_last == 0):
            steps.wait_for(2 * (groups.width * i + place))
    steps.wait_all()
    return steps


@algorithm("allgather", "leaders", simgrid="mvapich2_smp", source="MVAPICH2, two-level allgather", chooses=True)
def leaders(call: Call) -> Schedule:
    """The gather that the run chooses on each host, MPICH's allgather among first ranks, and the run's broadcast.

    Where SimGrid gives up, it takes hosts as they are; with different numbers of ranks their first ranks form a ring.
    """
    steps, nbytes, hosts = Schedule(call), call.nbytes, call.known_hosts()
    assert isinstance(nbytes, int)
    search_hosts(steps, call)
    if nbytes == 0:
        return steps
    call.add_chosen(steps, "gather", nbytes, ranks=call.local)
    with steps.when(call.local.index == 0):
        if hosts.is_uniform:
            host_bytes = hosts.n_local_max * nbytes
            call.add_chosen(steps, "allgather", host_bytes, ranks=call.leaders, table="smpi-mpich")
        else:
            call.add(steps, ring, call.leaders, call.local.size * nbytes, blocks=call.blocks_of_hosts(nbytes))
    call.add_chosen(steps, "bcast", call.n_ranks * nbytes, ranks=call.local)
    return steps
