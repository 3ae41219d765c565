"""Binomial trees, whose ranks are counted from the root."""

from __future__ import annotations

from smpy.collectives.rings import add_scattered_ring
from smpy.collectives.schedule import Schedule, Value, larger, smaller


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


def binomial_tree_reduce(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Receive from the ranks 1, 2, 4, ... behind, up to the lowest set bit; then send to the rank without it."""
    steps = Schedule(rank)
    _binomial_reduce(steps, rank, n_ranks, root, nbytes)
    return steps


def _binomial_reduce(steps: Schedule, rank: Value, n_ranks: int, root: Value, nbytes: Value, mask: int = 1) -> None:
    if mask >= n_ranks:
        return
    relative = (rank - root) % n_ranks
    with steps.when(relative & mask != 0):
        steps.send((rank - mask) % n_ranks, nbytes)
    with steps.when(relative & mask == 0):
        with steps.when(relative + mask < n_ranks):
            steps.recv((rank + mask) % n_ranks, nbytes)
        _binomial_reduce(steps, rank, n_ranks, root, nbytes, 2 * mask)


def binomial_tree_gather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Receive the blocks of the subtrees 1, 2, 4, ... behind, then send them all on."""
    steps = Schedule(rank)
    _binomial_gather(steps, rank, n_ranks, root, nbytes)
    return steps


def _binomial_gather(steps: Schedule, rank: Value, n_ranks: int, root: Value, nbytes: Value, mask: int = 1) -> None:
    if mask >= n_ranks:
        return
    relative = (rank - root) % n_ranks
    with steps.when(relative & mask != 0):
        steps.send((rank - mask) % n_ranks, smaller(mask, n_ranks - relative) * nbytes)
    with steps.when(relative & mask == 0):
        with steps.when(relative + mask < n_ranks):
            steps.recv((rank + mask) % n_ranks, smaller(mask, n_ranks - relative - mask) * nbytes)
        _binomial_gather(steps, rank, n_ranks, root, nbytes, 2 * mask)


def binomial_tree_scatter(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Receive the blocks of the own subtree, then send on those of the subtrees 1, 2, 4, ... behind."""
    steps, mask = Schedule(rank), 1
    relative = (rank - root) % n_ranks
    while mask < n_ranks:
        with steps.when((relative & mask != 0) & (relative % mask == 0)):
            steps.recv((rank - mask) % n_ranks, smaller(mask, n_ranks - relative) * nbytes)
        mask *= 2
    mask = 1
    while mask < n_ranks:
        with steps.when((relative % (2 * mask) == 0) & (relative + mask < n_ranks)):
            steps.send((rank + mask) % n_ranks, smaller(mask, n_ranks - relative - mask) * nbytes)
        mask *= 2
    return steps


def binomial_tree_barrier(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Up a binomial tree to rank 0 and down again."""
    steps = binomial_tree_reduce(rank, n_ranks, 0, 0)
    _binomial_tree(steps, rank, n_ranks, 0, 0)
    return steps


def scatter_ring_allgather_bcast(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """A part to each rank along the tree, then a ring in which all parts go round (van de Geijn 1994)."""
    steps = Schedule(rank)
    _binomial_scatter(steps, rank, n_ranks, root, nbytes)
    add_scattered_ring(steps, rank, n_ranks, root, nbytes)
    return steps


def _binomial_scatter(steps: Schedule, rank: Value, n_ranks: int, root: Value, nbytes: Value, mask: int = 1) -> None:
    """Parts of equal size but for the last ones; nothing where nothing is left."""
    if mask >= n_ranks:
        return
    relative = (rank - root) % n_ranks
    part = (nbytes + n_ranks - 1) // n_ranks

    def subtree_bytes(first: Value) -> Value:
        return larger(0, smaller(nbytes - first * part, mask * part))

    with steps.when((relative & mask != 0) & (subtree_bytes(relative) > 0)):
        steps.recv((rank - mask) % n_ranks, subtree_bytes(relative))
    with steps.when(relative & mask == 0):
        _binomial_scatter(steps, rank, n_ranks, root, nbytes, 2 * mask)
        with steps.when((relative + mask < n_ranks) & (subtree_bytes(relative + mask) > 0)):
            steps.send((rank + mask) % n_ranks, subtree_bytes(relative + mask))
