"""Reduce-scatter with one partner a round."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm(("reduce_scatter", "reduce_scatter_block"), "pair", simgrid="mpich_pair", source="MPICH, pairwise exchange")
def pair(call: Call) -> Schedule:
    """Send the i-th rank ahead its block in round i, and receive the own block from the i-th behind."""
    rank, n_ranks = call.rank, call.n_ranks
    steps = Schedule(call)
    for distance in steps.loop(1, n_ranks):
        ahead, behind = (rank + distance) % n_ranks, (rank - distance) % n_ranks
        steps.exchange(ahead, block_bytes(call.out, ahead), behind, call.nbytes)
        steps.combine(call.nbytes)
    return steps
