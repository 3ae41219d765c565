"""Collectives between two groups: ranks talk to ranks of the other group only.

`root` is what the program says: the root's rank on the side that talks to it, `AT_ROOT` at the root itself and a
negative rank (nobody) beside it. The blocking programs of operations that every rank gets something from go through
rank 0 of each group; the non-blocking ones are direct.
"""

from __future__ import annotations

from typing import Final

from smpy.collectives.schedule import Offsets, Schedule, Value, block_bytes

AT_ROOT: Final = -4


def start_barrier(
    rank: Value, n_ranks: int, n_remote: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """All tell the other group's rank 0, which tells them all without waiting."""
    steps = Schedule(rank)
    steps.isend(0, 0)
    steps.irecv(0, 0)
    with steps.when(rank == 0):
        for peer in steps.loop(0, n_remote):
            steps.irecv(peer, 0)
            steps.isend(peer, 0)
    return steps


def through_the_first(
    rank: Value, n_ranks: int, n_remote: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """All send to the other group's rank 0; the two exchange what they have, and send it on to the others' group."""
    steps = Schedule(rank)
    steps.isend(0, nbytes)
    with steps.when(rank == 0):
        for peer in steps.loop(0, n_remote):
            steps.irecv(peer, nbytes)
    steps.wait_all()
    with steps.when(rank == 0):
        steps.exchange(0, nbytes, 0, nbytes)
        for peer in steps.loop(0, n_remote):
            steps.isend(peer, nbytes)
    steps.irecv(0, nbytes)
    steps.wait_all()
    return steps


def start_from_root(
    rank: Value, n_ranks: int, n_remote: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """The root sends to every rank of the other group."""
    steps = Schedule(rank)
    with steps.when(root >= 0):
        steps.irecv(root, nbytes)
    with steps.when(root == AT_ROOT):
        for peer in steps.loop(0, n_remote):
            steps.isend(peer, nbytes)
    return steps


def start_scatterv(
    rank: Value, n_ranks: int, n_remote: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """The root sends every rank of the other group its block."""
    steps = Schedule(rank)
    with steps.when(root >= 0):
        steps.irecv(root, nbytes)
    with steps.when(root == AT_ROOT):
        for peer in steps.loop(0, n_remote):
            steps.isend(peer, block_bytes(out, peer))
    return steps


def start_to_root(
    rank: Value, n_ranks: int, n_remote: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """Every rank of the other group sends to the root."""
    steps = Schedule(rank)
    with steps.when(root >= 0):
        steps.isend(root, nbytes)
    with steps.when(root == AT_ROOT):
        for peer in steps.loop(0, n_remote):
            steps.irecv(peer, nbytes)
    return steps


def start_gatherv(
    rank: Value, n_ranks: int, n_remote: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """Every rank of the other group sends the root its block."""
    steps = Schedule(rank)
    with steps.when(root >= 0):
        steps.isend(root, nbytes)
    with steps.when(root == AT_ROOT):
        for peer in steps.loop(0, n_remote):
            steps.irecv(peer, block_bytes(into, peer))
    return steps


def start_allreduce(
    rank: Value, n_ranks: int, n_remote: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """Every rank sends what it has to every rank of the other group."""
    steps = Schedule(rank)
    for peer in steps.loop(0, n_remote):
        steps.isend(peer, nbytes)
        steps.irecv(peer, nbytes)
    return steps


def start_allgatherv(
    rank: Value, n_ranks: int, n_remote: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """Every rank sends its block to every rank of the other group; blocks of the groups may differ."""
    steps = Schedule(rank)
    for peer in steps.loop(0, n_remote):
        steps.isend(peer, nbytes)
        steps.irecv(peer, block_bytes(into, peer))
    return steps


def start_alltoallv(
    rank: Value, n_ranks: int, n_remote: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """All receives, then all sends."""
    steps = Schedule(rank)
    for peer in steps.loop(0, n_remote):
        steps.irecv(peer, block_bytes(into, peer))
    for peer in steps.loop(0, n_remote):
        steps.isend(peer, block_bytes(out, peer))
    return steps


def start_reduce_scatter(
    rank: Value, n_ranks: int, n_remote: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """Every rank sends every rank of the other group its share, as large as if all had equal ones.

    A rank does not know the blocks of the other group.
    """
    steps = Schedule(rank)
    for peer in steps.loop(0, n_remote):
        steps.isend(peer, nbytes // n_remote)
        steps.irecv(peer, nbytes // n_ranks)
    return steps
