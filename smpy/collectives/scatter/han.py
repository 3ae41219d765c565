"""Scatter between hosts and then on them: Open MPI 5's han."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.han import ON_HOSTS, root_levels
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("scatter", "han", source="Open MPI 5.0, coll_han_scatter.c", chooses=True)
def han(call: Call) -> Schedule:
    """Send each host's blocks at once from the root to the rank with its number there, then scatter on each host.

    Where hosts have unequal numbers of ranks, Open MPI's decisions for one level choose the whole algorithm.
    """
    steps, local, nbytes = Schedule(call), call.local, call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    levels = root_levels(steps, call, "scatter", nbytes)
    if levels is None:
        return steps
    with steps.when(local.index == levels.root):
        host_bytes = local.size_max * nbytes
        call.add_chosen(steps, "scatter", host_bytes, ranks=levels.beside, root=levels.host, table=ON_HOSTS)
    call.add_chosen(steps, "scatter", nbytes, ranks=local, root=levels.root, table=ON_HOSTS)
    return steps
