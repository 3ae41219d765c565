"""Linear patterns: one rank exchanges messages with all others, or every rank with every other.

Functions that return a schedule start sends and receives without waiting. A non-blocking collective is such a
schedule alone; a blocking one adds a wait (`Schedule.wait_all`). Functions that take a schedule add steps to it, and
wait.
"""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.ranks import Ranks
from smpy.collectives.register import Maker
from smpy.collectives.schedule import Schedule, Value, block_bytes


def to_root(call: Call) -> Schedule:
    """Send all blocks to the root."""
    steps = Schedule(call)
    with steps.when(call.rank != call.root):
        steps.isend(call.root, call.nbytes)
    with steps.when(call.rank == call.root):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != call.root):
                steps.irecv(peer, block_bytes(call.into, peer))
    return steps


def from_root(call: Call) -> Schedule:
    """Send all blocks from the root."""
    steps = Schedule(call)
    with steps.when(call.rank != call.root):
        steps.irecv(call.root, call.nbytes)
    with steps.when(call.rank == call.root):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != call.root):
                steps.isend(peer, block_bytes(call.out, peer))
    return steps


def to_everyone(call: Call) -> Schedule:
    """Exchange blocks with every other rank: a send and a receive with each, from rank 0 on."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_ranks):
        with steps.when(peer != call.rank):
            steps.isend(peer, call.nbytes)
            steps.irecv(peer, block_bytes(call.into, peer))
    return steps


def reduce_to_first(steps: Schedule, ranks: Ranks, nbytes: Value) -> None:
    """Send `nbytes` from all ranks at once to the first of them, which reduces them."""
    with steps.when(ranks.index != 0):
        steps.isend(ranks[0], nbytes)
    with steps.when(ranks.index == 0):
        for i in steps.loop(1, ranks.size):
            steps.irecv(ranks[i], nbytes)
    steps.wait_all()
    with steps.when(ranks.index == 0):
        steps.combine((ranks.size - 1) * nbytes)


def hand_over(steps: Schedule, call: Call, source: Value, target: Value, nbytes: Value) -> None:
    """Send from one rank to another, unless they are the same."""
    with steps.when((call.rank == source) & (source != target)):
        steps.send(target, nbytes)
    with steps.when((call.rank == target) & (source != target)):
        steps.recv(source, nbytes)


def reduce_to_root_in_order(steps: Schedule, call: Call, root: Value, nbytes: Value) -> None:
    """Send from all ranks to a root, which receives and reduces from the last rank to the first, one by one."""
    rank, n_ranks = call.rank, call.n_ranks
    with steps.when(rank != root):
        steps.send(root, nbytes)
    with steps.when(rank == root):
        for behind in steps.loop(0, n_ranks):
            peer = n_ranks - 1 - behind
            with steps.when(peer != root):
                steps.recv(peer, nbytes)
                steps.combine(nbytes)


def and_wait(start: Maker) -> Maker:
    """The blocking form of a schedule that only starts operations: it waits for all of them."""

    def blocking(call: Call) -> Schedule:
        steps = start(call)
        steps.wait_all()
        return steps

    return blocking
