"""Binomial trees over ranks: the first of them is the root, and the parent of a rank lacks its lowest set bit."""

from __future__ import annotations

from smpy.collectives.ranks import Ranks
from smpy.collectives.schedule import Schedule, Value


def broadcast(steps: Schedule, ranks: Ranks, nbytes: Value, mask: int = 1) -> None:
    """Receive from the parent, then send to the children, the farthest first; for ranks with no bit below `mask`."""
    if mask >= ranks.size_max:
        return
    with steps.when(ranks.index & mask != 0):
        steps.recv(ranks.behind(mask), nbytes)
    with steps.when(ranks.index & mask == 0):
        broadcast(steps, ranks, nbytes, 2 * mask)
        with steps.when(ranks.index + mask < ranks.size):
            steps.send(ranks.ahead(mask), nbytes)


def reduce(steps: Schedule, ranks: Ranks, nbytes: Value, mask: int = 1) -> None:
    """Receive from the children 1, 2, 4, ... ahead, then send to the parent; for ranks with no bit below `mask`."""
    if mask >= ranks.size_max:
        return
    with steps.when(ranks.index & mask != 0):
        steps.send(ranks.behind(mask), nbytes)
    with steps.when(ranks.index & mask == 0):
        with steps.when(ranks.index + mask < ranks.size):
            steps.recv(ranks.ahead(mask), nbytes)
            steps.combine(nbytes)
        reduce(steps, ranks, nbytes, 2 * mask)
