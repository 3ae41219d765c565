"""Binomial trees, whose ranks are counted from the root."""

from __future__ import annotations

from functools import partial

from smpy.collectives.recursive_doubling import add_scattered_recursive_doubling
from smpy.collectives.rings import add_scattered_ring, is_power_of_two
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


def in_order_binomial_tree_reduce(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """The tree of rank 0, whose subtrees are ranks in order, then from it to the root: operands stay where they are."""
    steps = binomial_tree_reduce(rank, n_ranks, 0, nbytes)
    with steps.when((rank == 0) & (root != 0)):
        steps.send(root, nbytes)
    with steps.when((rank == root) & (root != 0)):
        steps.recv(0, nbytes)
    return steps


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


def scatter_recursive_doubling_allgather_bcast(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """A part to each rank along the tree, then recursive doubling; on other than 2, 4, 8, ... ranks, a ring.

    Thakur, Rabenseifner & Gropp 2005.
    """
    if not is_power_of_two(n_ranks):
        return scatter_ring_allgather_bcast(rank, n_ranks, root, nbytes)
    steps = Schedule(rank)
    _binomial_scatter(steps, rank, n_ranks, root, nbytes)
    add_scattered_recursive_doubling(steps, rank, n_ranks, root, partial(_parts_bytes, n_ranks, nbytes))
    return steps


def _parts_bytes(n_ranks: int, nbytes: Value, first: Value, n: int) -> Value:
    """Size of n parts from `first` on: of equal size but for the last ones, which may be empty."""
    part = (nbytes + n_ranks - 1) // n_ranks
    return larger(0, smaller(nbytes - first * part, n * part))


def _binomial_scatter(steps: Schedule, rank: Value, n_ranks: int, root: Value, nbytes: Value, mask: int = 1) -> None:
    """The parts of a rank and its subtree; nothing where nothing is left."""
    if mask >= n_ranks:
        return
    relative = (rank - root) % n_ranks
    mine_bytes, its_bytes = (_parts_bytes(n_ranks, nbytes, first, mask) for first in (relative, relative + mask))
    with steps.when((relative & mask != 0) & (mine_bytes > 0)):
        steps.recv((rank - mask) % n_ranks, mine_bytes)
    with steps.when(relative & mask == 0):
        _binomial_scatter(steps, rank, n_ranks, root, nbytes, 2 * mask)
        with steps.when((relative + mask < n_ranks) & (its_bytes > 0)):
            steps.send((rank + mask) % n_ranks, its_bytes)
