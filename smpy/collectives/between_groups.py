"""Operations between two groups: ranks exchange messages with ranks of the other group only.

The blocking forms of allreduce and barrier go through rank 0 of each group; all others are direct.
"""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait
from smpy.collectives.register import Maker, algorithm
from smpy.collectives.schedule import Schedule, block_bytes

AT_ROOT: Final = -4
"""The value that the root of an operation between groups passes as root (MPI_ROOT)."""
SOURCE: Final = "MPI 4.1, 6.2.3, says what moves between the groups; the order is smpy's"


def from_root(call: Call) -> Schedule:
    """Send every rank of the other group its block, from the root."""
    steps = Schedule(call)
    with steps.when(call.root >= 0):
        steps.irecv(call.root, call.nbytes)
    with steps.when(call.root == AT_ROOT):
        for peer in steps.loop(0, call.n_remote):
            steps.isend(peer, block_bytes(call.out, peer))
    return steps


def to_root(call: Call) -> Schedule:
    """Send the root a block from every rank of the other group."""
    steps = Schedule(call)
    with steps.when(call.root >= 0):
        steps.isend(call.root, call.nbytes)
    with steps.when(call.root == AT_ROOT):
        for peer in steps.loop(0, call.n_remote):
            steps.irecv(peer, block_bytes(call.into, peer))
    return steps


def to_everyone(call: Call) -> Schedule:
    """Send the own block to every rank of the other group; blocks of the two groups may differ in size."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_remote):
        steps.isend(peer, call.nbytes)
        steps.irecv(peer, block_bytes(call.into, peer))
    return steps


def reduce_at_root(call: Call) -> Schedule:
    """Send the root a vector from every rank of the other group; it reduces them."""
    steps = to_root(call)
    steps.wait_all()
    with steps.when(call.root == AT_ROOT):
        steps.combine((call.n_remote - 1) * call.nbytes)
    return steps


def through_the_first(call: Call) -> Schedule:
    """Reduce at the other group's rank 0; the two ranks 0 exchange results and send them to all of the other group."""
    rank, nbytes = call.rank, call.nbytes
    steps = Schedule(call)
    steps.isend(0, nbytes)
    with steps.when(rank == 0):
        for peer in steps.loop(0, call.n_remote):
            steps.irecv(peer, nbytes)
    steps.wait_all()
    with steps.when(rank == 0):
        steps.combine((call.n_remote - 1) * nbytes)
        steps.exchange(0, nbytes, 0, nbytes)
        for peer in steps.loop(0, call.n_remote):
            steps.isend(peer, nbytes)
    steps.irecv(0, nbytes)
    steps.wait_all()
    return steps


def vectors_to_everyone(call: Call) -> Schedule:
    """Send the own vector to every rank of the other group."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_remote):
        steps.isend(peer, call.nbytes)
        steps.irecv(peer, call.nbytes)
    return steps


def blocks_to_everyone(call: Call) -> Schedule:
    """Start all receives, then all sends."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_remote):
        steps.irecv(peer, block_bytes(call.into, peer))
    for peer in steps.loop(0, call.n_remote):
        steps.isend(peer, block_bytes(call.out, peer))
    return steps


def news_through_the_first(call: Call) -> Schedule:
    """Send from all ranks to the other group's rank 0, which answers all without waiting for their messages."""
    steps = Schedule(call)
    steps.isend(0, 0)
    steps.irecv(0, 0)
    with steps.when(call.rank == 0):
        for peer in steps.loop(0, call.n_remote):
            steps.irecv(peer, 0)
            steps.isend(peer, 0)
    return steps


def shares_to_everyone(call: Call) -> Schedule:
    """Send every rank of the other group its share, as large as if all shares were equal.

    A rank has no access to the block sizes of the other group.
    """
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_remote):
        steps.isend(peer, call.nbytes // call.n_remote)
        steps.irecv(peer, call.nbytes // call.n_ranks)
    return steps


def reduce_shares(call: Call) -> Schedule:
    """Send every rank of the other group its share; it reduces the shares."""
    steps = shares_to_everyone(call)
    steps.wait_all()
    steps.combine((call.n_remote - 1) * (call.nbytes // call.n_ranks))
    return steps


_FORMS: Final[tuple[tuple[tuple[str, ...], Maker, Maker], ...]] = (
    (("allgather", "allgatherv"), and_wait(to_everyone), to_everyone),
    (("allreduce",), through_the_first, vectors_to_everyone),
    (("alltoall", "alltoallv", "alltoallw"), and_wait(blocks_to_everyone), blocks_to_everyone),
    (("barrier",), through_the_first, news_through_the_first),
    (("bcast", "scatter", "scatterv"), and_wait(from_root), from_root),
    (("gather", "gatherv"), and_wait(to_root), to_root),
    (("reduce",), reduce_at_root, to_root),
    (("reduce_scatter", "reduce_scatter_block"), reduce_shares, shares_to_everyone),
)
"""Operations, each with its blocking and its non-blocking schedule."""
for _operations, _perform, _start in _FORMS:
    algorithm((f"inter_{operation}" for operation in _operations), "linear", source=SOURCE)(_perform)
    algorithm((f"inter_i{operation}" for operation in _operations), "linear", source=SOURCE)(_start)
