"""Linear algorithms: everyone talks to the root, or everyone to everyone, at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, ParamSpec

from smpy.collectives import between_groups, nonblocking
from smpy.collectives.schedule import EqualBlocks, Offsets, Schedule, Value, block_bytes, larger, smaller

P = ParamSpec("P")
SCATTERED_BATCH: Final = 32  # MPIR_CVAR_ALLTOALL_THROTTLE


def _to_the_end(start: Callable[P, Schedule]) -> Callable[P, Schedule]:
    """What `start` starts, and a wait for all of it."""

    @functools.wraps(start)
    def algorithm(*args: P.args, **kwargs: P.kwargs) -> Schedule:
        steps = start(*args, **kwargs)
        steps.wait_all()
        return steps

    return algorithm


linear_bcast = _to_the_end(nonblocking.start_bcast)
linear_reduce = linear_gather = _to_the_end(nonblocking.start_gather)
linear_gatherv = _to_the_end(nonblocking.start_gatherv)
linear_scatter = _to_the_end(nonblocking.start_scatter)
linear_scatterv = _to_the_end(nonblocking.start_scatterv)
linear_allgather = _to_the_end(nonblocking.start_allgather)
linear_allgatherv = _to_the_end(nonblocking.start_allgatherv)
linear_alltoall = _to_the_end(nonblocking.start_alltoall)
linear_alltoallv = _to_the_end(nonblocking.start_alltoallv)
linear_scan = _to_the_end(nonblocking.start_scan)
linear_neighbour_exchange = _to_the_end(nonblocking.start_neighbour_exchange)

inter_from_root = _to_the_end(between_groups.start_from_root)
inter_scatterv = _to_the_end(between_groups.start_scatterv)
inter_to_root = _to_the_end(between_groups.start_to_root)
inter_gatherv = _to_the_end(between_groups.start_gatherv)
inter_allgatherv = _to_the_end(between_groups.start_allgatherv)
inter_alltoallv = _to_the_end(between_groups.start_alltoallv)
inter_reduce_scatter = _to_the_end(between_groups.start_reduce_scatter)


def scattered_alltoall(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Receives from the next 32 ranks and sends to the previous 32, and a wait for them, and so on (MPICH)."""
    blocks = EqualBlocks(nbytes)
    return scattered_alltoallv(rank, n_ranks, root, nbytes, blocks, blocks)


def scattered_alltoallv(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """The same with blocks of many sizes."""
    steps = Schedule(rank)
    for batch in steps.loop(0, -(-n_ranks // SCATTERED_BATCH)):
        first, end = batch * SCATTERED_BATCH, smaller((batch + 1) * SCATTERED_BATCH, n_ranks)
        for distance in steps.loop(larger(first, 1), end):
            ahead = (rank + distance) % n_ranks
            steps.irecv(ahead, block_bytes(into, ahead))
        for distance in steps.loop(larger(first, 1), end):
            behind = (rank - distance) % n_ranks
            steps.isend(behind, block_bytes(out, behind))
        steps.wait_all()
    return steps


def linear_barrier(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """All tell rank 0, then rank 0 tells all (Open MPI's basic linear barrier)."""
    steps = Schedule(rank)
    with steps.when(rank != 0):
        steps.send(0, 0)
        steps.recv(0, 0)
    with steps.when(rank == 0):
        for peer in steps.loop(1, n_ranks):
            steps.irecv(peer, 0)
        steps.wait_all()
        for peer in steps.loop(1, n_ranks):
            steps.isend(peer, 0)
        steps.wait_all()
    return steps


def basic_linear_reduce(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """The root receives from the last rank to the first, one by one: the order a non-commutative operation needs."""
    steps = Schedule(rank)
    with steps.when(rank != root):
        steps.send(root, nbytes)
    with steps.when(rank == root):
        for behind in steps.loop(0, n_ranks):
            peer = n_ranks - 1 - behind
            with steps.when(peer != root):
                steps.recv(peer, nbytes)
    return steps


def basic_linear_gather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """The root receives from the first rank to the last, one by one."""
    steps = Schedule(rank)
    with steps.when(rank != root):
        steps.send(root, nbytes)
    with steps.when(rank == root):
        for peer in steps.loop(0, n_ranks):
            with steps.when(peer != root):
                steps.recv(peer, nbytes)
    return steps


def basic_linear_scatter(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """The root sends to the first rank, ..., to the last, one by one."""
    steps = Schedule(rank)
    with steps.when(rank != root):
        steps.recv(root, nbytes)
    with steps.when(rank == root):
        for peer in steps.loop(0, n_ranks):
            with steps.when(peer != root):
                steps.send(peer, nbytes)
    return steps


def reduce_then_scatterv(
    rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """Reduce the whole vector to rank 0, which then sends all others their blocks (SMPI's default for equal blocks)."""
    steps = linear_reduce(rank, n_ranks, 0, out[n_ranks])
    steps.extend(linear_scatterv(rank, n_ranks, 0, nbytes, out, into))
    return steps


def basic_reduce_then_scatterv(
    rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """The same with a reduction in rank order."""
    steps = basic_linear_reduce(rank, n_ranks, 0, out[n_ranks])
    steps.extend(linear_scatterv(rank, n_ranks, 0, nbytes, out, into))
    return steps
