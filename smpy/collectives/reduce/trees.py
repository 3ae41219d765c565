"""Reduce along trees."""

from __future__ import annotations

from collections.abc import Sequence

from smpy.collectives.call import Call
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.patterns.linear import hand_over
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
    """Receive from the ranks 1, 2, 4, ... ahead, up to the lowest set bit; then send to the rank without that bit."""
    steps = Schedule(call)
    binomial_tree.reduce(steps, call.from_root, call.nbytes)
    return steps


@algorithm("reduce", "in_order_binomial_tree", source="MPICH 4, binomial reduce of non-commutative operations")
def up_in_order(call: Call) -> Schedule:
    """Reduce along the tree of rank 0, whose subtrees keep operands in rank order, then send to the root."""
    steps = Schedule(call)
    binomial_tree.reduce(steps, call.everyone, call.nbytes)
    hand_over(steps, call, 0, call.root, call.nbytes)
    return steps


@algorithm(
    "reduce",
    "open_mpi_in_order_binary_tree",
    simgrid="ompi_in_order_binary",
    source="Open MPI, in-order binary tree reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_in_order_binary_tree(call: Call) -> Schedule:
    """Reduce along a binary tree of consecutive ranks; its root, the last rank, sends the result to the root."""
    steps, last = Schedule(call), call.n_ranks - 1
    _in_order(steps, call, 0, call.n_ranks, ())
    hand_over(steps, call, last, call.root, call.nbytes)
    return steps


def _in_order(steps: Schedule, call: Call, first: int, size: int, parent: Sequence[int]) -> None:
    """Reduce `size` ranks from `first` on at the last of them; its children are the last ranks of two halves."""
    root, n_right = first + size - 1, size // 2
    children = [root - 1] * (size > 1) + [first + n_right - 1] * (size > 2)
    with steps.when(call.rank == root):
        for number, child in enumerate(children):
            steps.irecv(child, call.nbytes)
            if number:
                steps.wait_oldest()
                steps.combine(call.nbytes)
        steps.wait_all()
        if children:
            steps.combine(call.nbytes)
        for rank in parent:
            steps.send(rank, call.nbytes)
    if size > 2:
        with steps.when((call.rank >= first) & (call.rank < first + n_right)):
            _in_order(steps, call, first, n_right, (root,))
    if size > 1:
        n_left = size - 1 - (n_right if size > 2 else 0)
        with steps.when((call.rank >= root - n_left) & (call.rank < root)):
            _in_order(steps, call, root - n_left, n_left, (root,))
