"""Allreduce out of a reduction and what spreads its result."""

from __future__ import annotations

from smpy.collectives.linear import basic_linear_reduce, linear_reduce
from smpy.collectives.recursive_doubling import add_recursive_doubling
from smpy.collectives.schedule import Schedule, Value
from smpy.collectives.trees import binomial_tree_bcast


def reduce_bcast_allreduce(rank: Value, n_ranks: int, root: Value, nbytes: Value, item_bytes: int) -> Schedule:
    """All send to rank 0 at once, which reduces, then a binomial tree (SMPI's default)."""
    steps = linear_reduce(rank, n_ranks, 0, nbytes)
    steps.extend(binomial_tree_bcast(rank, n_ranks, 0, nbytes))
    return steps


def basic_reduce_bcast_allreduce(rank: Value, n_ranks: int, root: Value, nbytes: Value, item_bytes: int) -> Schedule:
    """Rank 0 receives from the last rank to the first and reduces in rank order, then a binomial tree."""
    steps = basic_linear_reduce(rank, n_ranks, 0, nbytes)
    steps.extend(binomial_tree_bcast(rank, n_ranks, 0, nbytes))
    return steps


def ring_allreduce(rank: Value, n_ranks: int, root: Value, nbytes: Value, item_bytes: int) -> Schedule:
    """The parts of the vector go round twice, to be reduced and to be spread; what p does not divide goes by a tree.

    Patarasuk & Yuan 2009. With fewer entries than ranks all goes by the tree.
    """
    steps = Schedule(rank)
    part, rest = _parts(n_ranks, nbytes, item_bytes)
    _two_rounds(steps, rank, n_ranks, part)
    with steps.when(rest > 0):
        steps.extend(reduce_bcast_allreduce(rank, n_ranks, 0, rest, item_bytes))
    return steps


def open_mpi_ring_allreduce(rank: Value, n_ranks: int, root: Value, nbytes: Value, item_bytes: int) -> Schedule:
    """The same, for datatypes that only a reduction in rank order can take.

    What p does not divide goes by Open MPI's table again, which on fewer than 4 ranks has recursive doubling for some
    sizes, and a ring of fewer entries than ranks otherwise.
    """
    steps = Schedule(rank)
    part, rest = _parts(n_ranks, nbytes, item_bytes)
    _two_rounds(steps, rank, n_ranks, part)
    doubles = (part > 0) & (n_ranks < 4) & (((rest >= 8) & (rest < 4096)) | ((rest >= 8192) & (rest < 16384)))
    with steps.when(doubles):
        add_recursive_doubling(steps, rank, n_ranks, rest)
    with steps.when((rest > 0) & (doubles == 0)):
        steps.extend(basic_reduce_bcast_allreduce(rank, n_ranks, 0, rest, item_bytes))
    return steps


def _parts(n_ranks: int, nbytes: Value, item_bytes: int) -> tuple[Value, Value]:
    """Bytes of each rank's part, in whole entries, and what is left."""
    part = nbytes // item_bytes // n_ranks * item_bytes
    return part, nbytes - n_ranks * part


def _two_rounds(steps: Schedule, rank: Value, n_ranks: int, part: Value) -> None:
    with steps.when(part > 0):
        for _ in steps.loop(0, 2 * (n_ranks - 1)):
            steps.exchange((rank + 1) % n_ranks, part, (rank - 1) % n_ranks, part)
