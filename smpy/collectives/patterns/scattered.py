"""Broadcast in parts: a part for each rank along a binomial tree, before a second pattern brings all parts to all.

Part k belongs to the k-th rank after the root. Parts are of equal size except for the last ones, which may be empty.
"""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.schedule import Schedule, Value, larger, smaller


def parts_bytes(call: Call, first: Value, n: int) -> Value:
    """Bytes of n parts from `first` on."""
    part = (call.nbytes + call.n_ranks - 1) // call.n_ranks
    return larger(0, smaller(call.nbytes - first * part, n * part))


def scatter(steps: Schedule, call: Call, mask: int = 1) -> None:
    """Receive the parts of the own subtree, then send on those of the children; for ranks with no bit below `mask`."""
    ranks = call.from_root
    if mask >= ranks.size_max:
        return
    mine_bytes, its_bytes = (parts_bytes(call, first, mask) for first in (ranks.index, ranks.index + mask))
    with steps.when((ranks.index & mask != 0) & (mine_bytes > 0)):
        steps.recv(ranks.behind(mask), mine_bytes)
    with steps.when(ranks.index & mask == 0):
        scatter(steps, call, 2 * mask)
        with steps.when((ranks.index + mask < ranks.size) & (its_bytes > 0)):
            steps.send(ranks.ahead(mask), its_bytes)


def ring(steps: Schedule, call: Call) -> None:
    """Pass all parts round a ring."""
    rank, n_ranks, root = call.rank, call.n_ranks, call.root
    part = (call.nbytes + n_ranks - 1) // n_ranks

    def size(k: Value) -> Value:
        return larger(0, smaller(part, call.nbytes - k * part))

    for distance in steps.loop(1, n_ranks):
        mine, its = (rank - root - distance + 1) % n_ranks, (rank - root - distance) % n_ranks
        steps.exchange((rank + 1) % n_ranks, size(mine), (rank - 1) % n_ranks, size(its))
