"""Scatter between hosts and then on them: Open MPI 5's han."""

from __future__ import annotations

from smpy.collectives.bcast.han import ON_HOSTS
from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("scatter", "han", source="Open MPI 5.0, coll_han_scatter.c", chooses=True)
def han(call: Call) -> Schedule:
    """Send each host's blocks at once from the root to the rank with its number there, then scatter on each host.

    Where hosts have unequal numbers of ranks, Open MPI's decisions for one level choose the whole algorithm.
    """
    steps, hosts, nbytes = Schedule(call), call.known_hosts(), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    if not hosts.is_uniform:
        call.add_chosen(steps, "scatter", nbytes, root=call.root, table=ON_HOSTS)
        return steps
    local, index, root_host = call.local, hosts.local(call.root).index, call.leaders_of_root.index
    with steps.when(local.index == index):
        beside, host_bytes = hosts.beside(call.rank, index), hosts.n_local_max * nbytes
        call.add_chosen(steps, "scatter", host_bytes, ranks=beside, root=root_host, table=ON_HOSTS)
    call.add_chosen(steps, "scatter", nbytes, ranks=local, root=index, table=ON_HOSTS)
    return steps
