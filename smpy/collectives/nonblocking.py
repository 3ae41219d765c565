"""Linear patterns: the sends and receives that a rank starts at once, and that wait for nothing.

Non-blocking collectives are these alone; blocking linear ones start them and wait (`linear.py`).
"""

from __future__ import annotations

from smpy.collectives.schedule import Offsets, Schedule, Value, block_bytes


def start_barrier(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """All tell rank 0, which tells all without waiting for them: whoever uses it adds what holds the ranks back.

    SMPI's rank 0 takes the messages from whoever comes first; here it takes them in rank order.
    """
    steps = Schedule(rank)
    with steps.when(rank != 0):
        steps.isend(0, 0)
        steps.irecv(0, 0)
    with steps.when(rank == 0):
        for peer in steps.loop(1, n_ranks):
            steps.irecv(peer, 0)
            steps.isend(peer, 0)
    return steps


def start_bcast(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """The root sends to all."""
    return start_scatter(rank, n_ranks, root, nbytes)


def start_gather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """All send to the root."""
    steps = Schedule(rank)
    with steps.when(rank != root):
        steps.isend(root, nbytes)
    with steps.when(rank == root):
        for peer in steps.loop(0, n_ranks):
            with steps.when(peer != root):
                steps.irecv(peer, nbytes)
    return steps


start_reduce = start_gather


def start_gatherv(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """All send their blocks to the root."""
    steps = Schedule(rank)
    with steps.when(rank != root):
        steps.isend(root, nbytes)
    with steps.when(rank == root):
        for peer in steps.loop(0, n_ranks):
            with steps.when(peer != root):
                steps.irecv(peer, block_bytes(into, peer))
    return steps


def start_scatter(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """The root sends a block to all others."""
    steps = Schedule(rank)
    with steps.when(rank != root):
        steps.irecv(root, nbytes)
    with steps.when(rank == root):
        for peer in steps.loop(0, n_ranks):
            with steps.when(peer != root):
                steps.isend(peer, nbytes)
    return steps


def start_scatterv(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """The root sends all others their blocks."""
    steps = Schedule(rank)
    with steps.when(rank != root):
        steps.irecv(root, nbytes)
    with steps.when(rank == root):
        for peer in steps.loop(0, n_ranks):
            with steps.when(peer != root):
                steps.isend(peer, block_bytes(out, peer))
    return steps


def start_allgather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Every pair exchanges its blocks; send and receive in turn, from rank 0 on."""
    steps = Schedule(rank)
    for peer in steps.loop(0, n_ranks):
        with steps.when(peer != rank):
            steps.isend(peer, nbytes)
            steps.irecv(peer, nbytes)
    return steps


start_allreduce = start_allgather


def start_allgatherv(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """Every pair exchanges its blocks; send and receive in turn, from rank 0 on."""
    steps = Schedule(rank)
    for peer in steps.loop(0, n_ranks):
        with steps.when(peer != rank):
            steps.isend(peer, nbytes)
            steps.irecv(peer, block_bytes(into, peer))
    return steps


def start_alltoall(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """All receives, from the next rank on; then all sends, from the previous rank back."""
    steps = Schedule(rank)
    for distance in steps.loop(1, n_ranks):
        steps.irecv((rank + distance) % n_ranks, nbytes)
    for distance in steps.loop(1, n_ranks):
        steps.isend((rank - distance) % n_ranks, nbytes)
    return steps


def start_alltoallv(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """All receives, then all sends, from rank 0 on; empty blocks too."""
    steps = Schedule(rank)
    for peer in steps.loop(0, n_ranks):
        with steps.when(peer != rank):
            steps.irecv(peer, block_bytes(into, peer))
    for peer in steps.loop(0, n_ranks):
        with steps.when(peer != rank):
            steps.isend(peer, block_bytes(out, peer))
    return steps


def start_reduce_scatter(
    rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """Every rank gets its block of all others and reduces it itself."""
    steps = Schedule(rank)
    for peer in steps.loop(0, n_ranks):
        with steps.when(peer != rank):
            steps.isend(peer, block_bytes(out, peer))
            steps.irecv(peer, nbytes)
    return steps


def start_scan(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Every rank receives from all before it and sends to all behind it."""
    steps = Schedule(rank)
    for peer in steps.loop(0, rank):
        steps.irecv(peer, nbytes)
    for peer in steps.loop(rank + 1, n_ranks):
        steps.isend(peer, nbytes)
    return steps


def start_neighbour_exchange(rank: Value, out: Offsets, into: Offsets, targets: Offsets, sources: Offsets) -> Schedule:
    """A block from every source, then one to every target, each in the order of its list; nobody is a negative rank.

    `targets` and `sources` hold a count, and then the ranks.
    """
    steps = Schedule(rank)
    for i in steps.loop(0, sources[0]):
        with steps.when(sources[i + 1] >= 0):
            steps.irecv(sources[i + 1], block_bytes(into, i))
    for i in steps.loop(0, targets[0]):
        with steps.when(targets[i + 1] >= 0):
            steps.isend(targets[i + 1], block_bytes(out, i))
    return steps
