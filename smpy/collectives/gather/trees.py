"""Gather along trees."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.ranks import Ranks
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, smaller


@algorithm(("gather", "split"), "binomial_tree", simgrid="ompi_binomial", source="Open MPI, binomial gather; MPICH")
def up(call: Call) -> Schedule:
    """Receive the blocks of the subtrees 1, 2, 4, ... numbers ahead, then send them all on."""
    steps = Schedule(call)
    _gather(steps, call.from_root, call.nbytes)
    return steps


def _gather(steps: Schedule, ranks: Ranks, nbytes: Value, mask: int = 1) -> None:
    if mask >= ranks.size_max:
        return
    index, size = ranks.index, ranks.size
    with steps.when(index & mask != 0):
        steps.send(ranks.behind(mask), smaller(mask, size - index) * nbytes)
    with steps.when(index & mask == 0):
        with steps.when(index + mask < size):
            steps.recv(ranks.ahead(mask), smaller(mask, size - index - mask) * nbytes)
        _gather(steps, ranks, nbytes, 2 * mask)
