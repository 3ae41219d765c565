"""Broadcasts of the whole message along trees, as Open MPI's decisions use them: without segments."""

from __future__ import annotations

from collections.abc import Sequence

from smpy.collectives.call import Call
from smpy.collectives.patterns import knomial_tree as knomial
from smpy.collectives.patterns.powers_of_two import powers_of_two_below
from smpy.collectives.patterns.segments import End
from smpy.collectives.patterns.trees import binary_children, binary_parent, power_of_two_up_to_value
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value


def _down(call: Call, parent: Value, children: Sequence[End]) -> Schedule:
    """Receive from the parent, if there is one, then send to all children at once; ranks count from the root."""
    steps, ranks = Schedule(call), call.from_root
    with steps.when(ranks.index > 0):
        steps.recv(ranks[parent], call.nbytes)
    for child in children:
        with steps.when(child.exists):
            steps.isend(ranks[child.rank], call.nbytes)
    steps.wait_all()
    return steps


@algorithm("bcast", "chain", source="Open MPI 4 and 5, chain and pipeline broadcast without segments")
def chain(call: Call) -> Schedule:
    """Send from each rank to the next one."""
    index = call.from_root.index
    return _down(call, index - 1, [End(index + 1 < call.n_ranks, index + 1)])


@algorithm("bcast", "binary_tree", source="Open MPI 4 and 5, binary tree broadcast without segments")
def binary_tree(call: Call) -> Schedule:
    """Send along Open MPI's binary tree."""
    index, n_ranks = call.from_root.index, call.n_ranks
    return _down(call, binary_parent(index, n_ranks), binary_children(index, n_ranks))


@algorithm("bcast", "doubling_tree", source="Open MPI 4 and 5, binomial tree broadcast without segments")
def doubling_tree(call: Call) -> Schedule:
    """Send along a binomial tree: the ranks that have the message double each round."""
    index, n_ranks = call.from_root.index, call.n_ranks
    parent = index - power_of_two_up_to_value(index + (index == 0), n_ranks)
    children = [
        End((power > index) & (index + power < n_ranks), index + power) for power in powers_of_two_below(n_ranks)
    ]
    return _down(call, parent, children)


@algorithm("bcast", "radix_4_tree", source="Open MPI 4.1 and 5, k-nomial tree broadcast without segments")
def radix_4_tree(call: Call) -> Schedule:
    """Send along a binomial-like tree to base 4, the farthest children first."""
    index, n_ranks = call.from_root.index, call.n_ranks
    distances = knomial.powers_below(n_ranks)
    parent: Value = 0
    for distance in reversed(distances):  # the lowest non-zero digit
        is_lowest = (index % distance == 0) & (index % (knomial.RADIX * distance) != 0)
        parent = parent + is_lowest * knomial.parent(index, distance)
    children = [
        End((index % (knomial.RADIX * distance) == 0) & (index + digit * distance < n_ranks), index + digit * distance)
        for distance in reversed(distances)
        for digit in range(1, knomial.RADIX)
    ]
    return _down(call, parent, children)
