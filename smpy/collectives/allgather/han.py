"""Allgather on each host, between hosts, and on each host again: Open MPI 5's component han."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.han import ON_HOSTS
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


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
