"""Linear patterns: one rank talks to all others, or every rank to every other.

Functions of a call start sends and receives and do not wait: a non-blocking collective is such a schedule alone, a
blocking linear one waits for it (`Schedule.wait_all`). Functions of a schedule add steps to it, and wait.
"""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.ranks import Ranks
from smpy.collectives.register import Maker
from smpy.collectives.schedule import Schedule, Value, block_bytes


def to_root(call: Call) -> Schedule:
    """All send their blocks to the root."""
    steps = Schedule(call)
    with steps.when(call.rank != call.root):
        steps.isend(call.root, call.nbytes)
    with steps.when(call.rank == call.root):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != call.root):
                steps.irecv(peer, block_bytes(call.into, peer))
    return steps


def from_root(call: Call) -> Schedule:
    """The root sends all others their blocks."""
    steps = Schedule(call)
    with steps.when(call.rank != call.root):
        steps.irecv(call.root, call.nbytes)
    with steps.when(call.rank == call.root):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != call.root):
                steps.isend(peer, block_bytes(call.out, peer))
    return steps


def to_everyone(call: Call) -> Schedule:
    """Every pair exchanges its blocks; send and receive in turn, from rank 0 on."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_ranks):
        with steps.when(peer != call.rank):
            steps.isend(peer, call.nbytes)
            steps.irecv(peer, block_bytes(call.into, peer))
    return steps


def to_first(steps: Schedule, ranks: Ranks, nbytes: Value) -> None:
    """All send as many bytes to the first of the ranks at once."""
    with steps.when(ranks.index != 0):
        steps.isend(ranks[0], nbytes)
    with steps.when(ranks.index == 0):
        for i in steps.loop(1, ranks.size):
            steps.irecv(ranks[i], nbytes)
    steps.wait_all()


def hand_over(steps: Schedule, call: Call, source: Value, target: Value, nbytes: Value) -> None:
    """One rank sends to another, unless they are the same."""
    with steps.when((call.rank == source) & (source != target)):
        steps.send(target, nbytes)
    with steps.when((call.rank == target) & (source != target)):
        steps.recv(source, nbytes)


def to_root_in_order(steps: Schedule, call: Call, root: Value, nbytes: Value) -> None:
    """All send to a root, which receives from the last rank to the first, one by one."""
    rank, n_ranks = call.rank, call.n_ranks
    with steps.when(rank != root):
        steps.send(root, nbytes)
    with steps.when(rank == root):
        for behind in steps.loop(0, n_ranks):
            peer = n_ranks - 1 - behind
            with steps.when(peer != root):
                steps.recv(peer, nbytes)


def and_wait(start: Maker) -> Maker:
    """The blocking form of a schedule that starts things: it waits for all of them."""

    def blocking(call: Call) -> Schedule:
        steps = start(call)
        steps.wait_all()
        return steps

    return blocking
