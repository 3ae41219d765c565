"""Bruck's algorithms: ceil(log2 p) rounds for any number of ranks (Bruck, Ho, Kipnis, Upfal & Weathersby 1997)."""

from __future__ import annotations

from smpy.collectives.schedule import Offsets, Schedule, Value, larger, smaller


def dissemination_barrier(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Rounds with the ranks 1, 2, 4, ... ahead and behind (Hensgen, Finkel & Manber 1988)."""
    steps, reach = Schedule(rank), 1
    while reach < n_ranks:
        steps.exchange((rank + reach) % n_ranks, 0, (rank - reach) % n_ranks, 0)
        reach *= 2
    return steps


def bruck_allgather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """All it has to the rank 1, 2, 4, ... behind; in the last round only what that one still lacks."""
    steps, reach = Schedule(rank), 1
    while reach < n_ranks:
        n_blocks = min(reach, n_ranks - reach)
        steps.exchange((rank - reach) % n_ranks, n_blocks * nbytes, (rank + reach) % n_ranks, n_blocks * nbytes)
        reach *= 2
    return steps


def bruck_allgatherv(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """The same with blocks of many sizes."""

    def bytes_from(first: Value, n_blocks: int) -> Value:
        end = first + n_blocks
        size: Value = into[smaller(end, n_ranks)] - into[first] + into[larger(end - n_ranks, 0)]
        return size

    steps, reach = Schedule(rank), 1
    while reach < n_ranks:
        n_blocks = min(reach, n_ranks - reach)
        behind, ahead = (rank - reach) % n_ranks, (rank + reach) % n_ranks
        steps.exchange(behind, bytes_from(rank, n_blocks), ahead, bytes_from(ahead, n_blocks))
        reach *= 2
    return steps


def bruck_alltoall(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """To the rank 1, 2, 4, ... ahead all blocks whose distance to their target has that bit."""
    steps, reach = Schedule(rank), 1
    while reach < n_ranks:
        n_blocks = sum(1 for distance in range(1, n_ranks) if distance & reach)
        steps.exchange((rank + reach) % n_ranks, n_blocks * nbytes, (rank - reach) % n_ranks, n_blocks * nbytes)
        reach *= 2
    return steps
