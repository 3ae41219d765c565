"""Linear algorithms: everyone talks to the root, or everyone to everyone, at once."""

from __future__ import annotations

from smpy.collectives.schedule import Schedule, Value


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


def linear_gather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """All send to the root at once."""
    steps = Schedule(rank)
    with steps.when(rank != root):
        steps.isend(root, nbytes)
        steps.wait_all()
    with steps.when(rank == root):
        for peer in steps.loop(0, n_ranks):
            with steps.when(peer != root):
                steps.irecv(peer, nbytes)
        steps.wait_all()
    return steps


linear_reduce = linear_gather


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


def linear_scatter(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """The root sends to all at once."""
    steps = Schedule(rank)
    with steps.when(rank == root):
        for peer in steps.loop(0, n_ranks):
            with steps.when(peer != root):
                steps.isend(peer, nbytes)
        steps.wait_all()
    with steps.when(rank != root):
        steps.recv(root, nbytes)
    return steps


def linear_allgather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Every pair exchanges its blocks at once."""
    steps = Schedule(rank)
    for peer in steps.loop(0, n_ranks):
        with steps.when(peer != rank):
            steps.isend(peer, nbytes)
            steps.irecv(peer, nbytes)
    steps.wait_all()
    return steps
