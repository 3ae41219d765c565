"""Reduce-scatter with one partner a round."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes


@algorithm(("reduce_scatter", "reduce_scatter_block"), "pair", simgrid="mpich_pair", source="MPICH, pairwise exchange")
def pair(call: Call) -> Schedule:
    """In round i the block of the i-th rank ahead to it, its own from the i-th behind."""
    rank, n_ranks = call.rank, call.n_ranks
    steps = Schedule(call)
    for distance in steps.loop(1, n_ranks):
        ahead, behind = (rank + distance) % n_ranks, (rank - distance) % n_ranks
        steps.exchange(ahead, block_bytes(call.out, ahead), behind, call.nbytes)
    return steps
