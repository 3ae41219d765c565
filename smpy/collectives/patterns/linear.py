"""Linear patterns: sends and receives that a rank starts at once, and that wait for nothing.

Non-blocking collectives are these alone; blocking linear ones start them and wait (`Schedule.wait_all`).
"""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.schedule import Schedule, block_bytes


def to_root(call: Call) -> Schedule:
    """All send their blocks to the root."""
    steps = Schedule(call.rank)
    with steps.when(call.rank != call.root):
        steps.isend(call.root, call.nbytes)
    with steps.when(call.rank == call.root):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != call.root):
                steps.irecv(peer, block_bytes(call.into, peer))
    return steps


def from_root(call: Call) -> Schedule:
    """The root sends all others their blocks."""
    steps = Schedule(call.rank)
    with steps.when(call.rank != call.root):
        steps.irecv(call.root, call.nbytes)
    with steps.when(call.rank == call.root):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != call.root):
                steps.isend(peer, block_bytes(call.out, peer))
    return steps


def to_everyone(call: Call) -> Schedule:
    """Every pair exchanges its blocks; send and receive in turn, from rank 0 on."""
    steps = Schedule(call.rank)
    for peer in steps.loop(0, call.n_ranks):
        with steps.when(peer != call.rank):
            steps.isend(peer, call.nbytes)
            steps.irecv(peer, block_bytes(call.into, peer))
    return steps
