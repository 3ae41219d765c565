"""Reduce along trees."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm(
    "reduce",
    "binomial_tree",
    simgrid="binomial",
    source="SimGrid 3.32, reduce-binomial.cpp; MPICH",
    in_order="in_order_binomial_tree",
)
def up(call: Call) -> Schedule:
    """Receive from the ranks 1, 2, 4, ... behind, up to the lowest set bit; then send to the rank without it."""
    steps = Schedule(call)
    binomial_tree.reduce(steps, call.from_root, call.nbytes)
    return steps


@algorithm("reduce", "in_order_binomial_tree", source="MPICH 4, binomial reduce of non-commutative operations")
def up_in_order(call: Call) -> Schedule:
    """The tree of rank 0, whose subtrees are ranks in order, then from it to the root: operands stay where they are."""
    rank, root, nbytes = call.rank, call.root, call.nbytes
    steps = Schedule(call)
    binomial_tree.reduce(steps, call.everyone, nbytes)
    with steps.when((rank == 0) & (root != 0)):
        steps.send(root, nbytes)
    with steps.when((rank == root) & (root != 0)):
        steps.recv(0, nbytes)
    return steps
