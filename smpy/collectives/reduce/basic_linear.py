"""The root receives from one rank after the other."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value


@algorithm("reduce", "basic_linear", simgrid=("ompi_basic_linear", "flat_tree"), source="Open MPI, basic linear reduce")
def basic_linear(call: Call) -> Schedule:
    """The root receives from the last rank to the first, one by one: the order a non-commutative operation needs."""
    steps = Schedule(call.rank)
    to_root_in_order(steps, call, call.root, call.nbytes)
    return steps


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
