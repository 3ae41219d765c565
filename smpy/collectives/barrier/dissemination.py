"""Rounds with the ranks 1, 2, 4, ... ahead and behind."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("barrier", "dissemination", simgrid="ompi_bruck", source="Hensgen, Finkel & Manber 1988")
def dissemination(call: Call) -> Schedule:
    """Rounds with the ranks 1, 2, 4, ... ahead and behind: ceil(log2 p) of them for any number p of ranks."""
    rank, n_ranks = call.rank, call.n_ranks
    steps, reach = Schedule(rank), 1
    while reach < n_ranks:
        steps.exchange((rank + reach) % n_ranks, 0, (rank - reach) % n_ranks, 0)
        reach *= 2
    return steps
