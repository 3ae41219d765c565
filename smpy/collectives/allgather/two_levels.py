"""Allgathers on each host, and then among hosts.

SimGrid's own algorithms assume that consecutive ranks share a host (`patterns.consecutive_hosts`).
"""

from __future__ import annotations

from smpy.collectives.allgather.one_level import ring
from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts
from smpy.collectives.patterns.consecutive_hosts import consecutive_hosts
from smpy.collectives.patterns.han import ON_HOSTS
from smpy.collectives.patterns.linear import to_everyone
from smpy.collectives.ranks import Ranks
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value


def _ring_on_host(steps: Schedule, local: Ranks, nbytes: Value) -> None:
    """Send the own block to the i-th rank ahead on the host in round i."""
    for distance in steps.loop(1, local.size):
        steps.exchange(local.ahead(distance), nbytes, local.behind(distance), nbytes)


@algorithm(
    "allgather",
    "hosts_then_fan_out",
    simgrid="smp_simple",
    source="SimGrid 3.32, allgather-smp-simple.cpp",
    chooses=True,
)
def hosts_then_fan_out(call: Call) -> Schedule:
    """A ring on each host, then all to all among first ranks, which send all blocks to the others one by one."""
    steps, nbytes = Schedule(call), call.nbytes
    search_hosts(steps, call)
    local, leaders = consecutive_hosts(call)
    host_bytes = local.size * nbytes
    _ring_on_host(steps, local, nbytes)
    with steps.when(local.index == 0):
        for distance in steps.loop(1, leaders.size):
            steps.irecv(leaders.behind(distance), host_bytes)
        for distance in steps.loop(1, leaders.size):
            steps.isend(leaders.ahead(distance), host_bytes)
        steps.wait_all()
        for index in steps.loop(1, local.size):
            steps.send(call.rank + index, call.n_ranks * nbytes)
    with steps.when(local.index != 0):
        steps.recv(local[0], call.n_ranks * nbytes)
    return steps


@algorithm(
    "allgather", "hosts_then_chain", simgrid="SMP_NTS", source="SimGrid 3.32, allgather-SMP-NTS.cpp", chooses=True
)
def hosts_then_chain(call: Call) -> Schedule:
    """A ring on each host, then a ring of first ranks, whose blocks are passed along a chain on each host."""
    steps, rank = Schedule(call), call.rank
    search_hosts(steps, call)
    local, leaders = consecutive_hosts(call)
    if leaders.size_max == 1:
        steps.extend(to_everyone(call))
        steps.wait_all()
        return steps
    host_bytes = local.size * call.nbytes
    _ring_on_host(steps, local, call.nbytes)

    def pass_on() -> None:
        with steps.when(local.index < local.size - 1):
            steps.send(rank + 1, host_bytes)

    with steps.when(local.index == 0):
        for _ in steps.loop(1, leaders.size):
            steps.irecv(leaders.behind(1), host_bytes)
        steps.isend(leaders.ahead(1), host_bytes)
        for _ in steps.loop(2, leaders.size):
            steps.wait_oldest()
            steps.isend(leaders.ahead(1), host_bytes)
            pass_on()
        steps.wait_oldest()
        pass_on()
        steps.wait_all()
    with steps.when(local.index != 0):
        for _ in steps.loop(1, leaders.size):
            steps.recv(rank - 1, host_bytes)
            pass_on()
    return steps


@algorithm(
    "allgather", "loose_ring", simgrid="loosely_lr", source="SimGrid 3.32, allgather-loosely-lr.cpp", chooses=True
)
def loose_ring(call: Call) -> Schedule:
    """One ring across hosts for each position on a host; each rank also exchanges blocks with all ranks of its host.

    In each round a rank waits only for the next block of its ring. All other messages are waited for at the end.
    """
    steps, nbytes = Schedule(call), call.nbytes
    search_hosts(steps, call)
    steps.wait_all()
    local, leaders = consecutive_hosts(call)
    index = local.index
    for i in steps.loop(0, leaders.size):
        is_last = i == leaders.size_max - 1
        for other in steps.loop(0, local.size):
            with steps.when((other == index) & (is_last == 0)):
                steps.irecv(leaders.behind(1) + index, nbytes)
                steps.isend(leaders.ahead(1) + index, nbytes)
            with steps.when(other != index):
                steps.irecv(local[other], nbytes)
                steps.isend(local[other], nbytes)
        with steps.when(is_last == 0):
            steps.wait_for(2 * (local.size * i + index))
    steps.wait_all()
    return steps


@algorithm("allgather", "leaders", simgrid="mvapich2_smp", source="MVAPICH2, two-level allgather", chooses=True)
def leaders(call: Call) -> Schedule:
    """Gather on each host by the run's choice, allgather among first ranks by MPICH's, broadcast by the run's choice.

    Works for any placement, where SimGrid gives up. If hosts have unequal numbers of ranks, first ranks form a ring.
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


@algorithm("allgather", "han", source="Open MPI 5.0, coll_han_allgather.c", chooses=True)
def han(call: Call) -> Schedule:
    """Gather on each host, allgather the hosts' blocks between the first ranks, and broadcast all blocks on each host.

    Where hosts have unequal numbers of ranks, Open MPI's decisions for one level choose the whole algorithm.
    """
    steps, hosts, nbytes = Schedule(call), call.known_hosts(), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    if not hosts.is_uniform:
        call.add_chosen(steps, "allgather", nbytes, table=ON_HOSTS)
        return steps
    call.add_chosen(steps, "gather", nbytes, ranks=call.local, table=ON_HOSTS)
    with steps.when(call.local.index == 0):
        call.add_chosen(steps, "allgather", hosts.n_local_max * nbytes, ranks=call.leaders, table=ON_HOSTS)
    call.add_chosen(steps, "bcast", call.n_ranks * nbytes, ranks=call.local, table=ON_HOSTS)
    return steps
