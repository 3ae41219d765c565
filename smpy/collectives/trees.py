"""Tree algorithms."""

from __future__ import annotations

from smpy.collectives.linear import linear_reduce
from smpy.collectives.schedule import Schedule, Value


def binomial_tree_bcast(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Receive from the rank that differs in the lowest set bit, then serve those below it, the farthest first."""
    steps = Schedule(rank)
    _binomial_tree(steps, rank, n_ranks, root, nbytes)
    return steps


def _binomial_tree(steps: Schedule, rank: Value, n_ranks: int, root: Value, nbytes: Value, mask: int = 1) -> None:
    """The part of the tree whose ranks, counted from the root, have no bit set below `mask`."""
    if mask >= n_ranks:
        return
    relative = (rank - root) % n_ranks
    with steps.when(relative & mask != 0):
        steps.recv((rank - mask) % n_ranks, nbytes)
    with steps.when(relative & mask == 0):
        _binomial_tree(steps, rank, n_ranks, root, nbytes, 2 * mask)
        with steps.when(relative + mask < n_ranks):
            steps.send((rank + mask) % n_ranks, nbytes)


def reduce_bcast_allreduce(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """All send to rank 0 at once, which reduces, then a binomial tree (SMPI's default)."""
    steps = linear_reduce(rank, n_ranks, 0, nbytes)
    _binomial_tree(steps, rank, n_ranks, 0, nbytes)
    return steps
