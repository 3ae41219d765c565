"""Patterns between two groups: ranks talk to ranks of the other group only.

The blocking forms of operations that every rank gets something from go through rank 0 of each group; the non-blocking
ones are direct.
"""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.schedule import Schedule, block_bytes

AT_ROOT: Final = -4
"""The root that the root of an operation between groups passes (MPI_ROOT)."""
SOURCE: Final = "MPI 4.1, 6.2.3, says what moves between the groups; the order is smpy's"


def from_root(call: Call) -> Schedule:
    """The root sends every rank of the other group its block."""
    steps = Schedule(call.rank)
    with steps.when(call.root >= 0):
        steps.irecv(call.root, call.nbytes)
    with steps.when(call.root == AT_ROOT):
        for peer in steps.loop(0, call.n_remote):
            steps.isend(peer, block_bytes(call.out, peer))
    return steps


def to_root(call: Call) -> Schedule:
    """Every rank of the other group sends the root its block."""
    steps = Schedule(call.rank)
    with steps.when(call.root >= 0):
        steps.isend(call.root, call.nbytes)
    with steps.when(call.root == AT_ROOT):
        for peer in steps.loop(0, call.n_remote):
            steps.irecv(peer, block_bytes(call.into, peer))
    return steps


def to_everyone(call: Call) -> Schedule:
    """Every rank sends its block to every rank of the other group; blocks of the groups may differ."""
    steps = Schedule(call.rank)
    for peer in steps.loop(0, call.n_remote):
        steps.isend(peer, call.nbytes)
        steps.irecv(peer, block_bytes(call.into, peer))
    return steps


def through_the_first(call: Call) -> Schedule:
    """All send to the other group's rank 0; both ranks 0 exchange the result and send it to all of the other group."""
    rank, nbytes = call.rank, call.nbytes
    steps = Schedule(rank)
    steps.isend(0, nbytes)
    with steps.when(rank == 0):
        for peer in steps.loop(0, call.n_remote):
            steps.irecv(peer, nbytes)
    steps.wait_all()
    with steps.when(rank == 0):
        steps.exchange(0, nbytes, 0, nbytes)
        for peer in steps.loop(0, call.n_remote):
            steps.isend(peer, nbytes)
    steps.irecv(0, nbytes)
    steps.wait_all()
    return steps
