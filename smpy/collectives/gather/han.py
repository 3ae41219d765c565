"""Gather on hosts and then between them: Open MPI 5's han."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.han import ON_HOSTS, root_levels
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("gather", "han", source="Open MPI 5.0, coll_han_gather.c", chooses=True)
def han(call: Call) -> Schedule:
    """Gather on each host at the rank with the root's number there, then send each host's blocks at once to the root.

    Where hosts have unequal numbers of ranks, Open MPI's decisions for one level choose the whole algorithm.
    """
    steps, local, nbytes = Schedule(call), call.local, call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    levels = root_levels(steps, call, "gather", nbytes)
    if levels is None:
        return steps
    call.add_chosen(steps, "gather", nbytes, ranks=local, root=levels.root, table=ON_HOSTS)
    with steps.when(local.index == levels.root):
        host_bytes = local.size_max * nbytes
        call.add_chosen(steps, "gather", host_bytes, ranks=levels.beside, root=levels.host, table=ON_HOSTS)
    return steps
