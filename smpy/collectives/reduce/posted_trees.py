"""Reduce up trees in segments, as Open MPI does: the next receive is posted before the wait for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import powers_of_two_below
from smpy.collectives.patterns.segments import Segments
from smpy.collectives.patterns.trees import binary_children, binary_parent
from smpy.collectives.schedule import Schedule, Value, either, larger

_FANOUT_MAX: Final = 32


class Tree(NamedTuple):
    """Position of a rank in a tree: its parent, number of children, and each child. The root has no parent."""

    is_root: Value
    parent: Value
    n_children: Value
    child: Callable[[Value], Value]


def up(call: Call, tree: Tree, segments: Segments) -> Schedule:
    """Receive and reduce each segment of all children in order, then send it on; each wait follows the next receive."""
    steps = Schedule(call)
    if call.n_ranks == 1:
        return steps
    last = segments.n_segments - 1
    with steps.when(tree.n_children > 0):
        for i in steps.loop(0, segments.n_segments):
            for k in steps.loop(0, tree.n_children):
                steps.irecv(tree.child(k), segments.size(i))
                with steps.when((i > 0) | (k > 0)):
                    steps.wait_oldest()
                    steps.combine(segments.size(i - (k == 0)))
                with steps.when((i > 0) & (k == 0) & (tree.is_root == 0)):
                    steps.send(tree.parent, segments.size(i - 1))
        steps.wait_oldest()
        steps.combine(segments.size(last))
        with steps.when(tree.is_root == 0):
            steps.send(tree.parent, segments.size(last))
    with steps.when(tree.n_children == 0):
        for i in steps.loop(0, segments.n_segments):
            steps.send(tree.parent, segments.size(i))
    return steps


def chains(call: Call, n_chains: int) -> Tree:
    """Chains of ranks after the root; if they cannot be equal, the first ones are one rank longer."""
    ranks, n_others = call.from_root, call.n_ranks - 1
    n_chains = max(1, min(n_chains, _FANOUT_MAX, n_others))
    length, n_longer = max(1, -(-n_others // n_chains)), n_others % n_chains or n_chains
    index = ranks.index
    in_longer, beyond = index - 1, index - 1 - n_longer * length
    is_longer = beyond < 0
    short = max(1, length - 1)
    is_head = (is_longer & (in_longer % length == 0)) | ((is_longer == 0) & (beyond % short == 0))
    is_end = (is_longer & (in_longer % length == length - 1)) | ((is_longer == 0) & (beyond % short == short - 1))
    is_root = index == 0
    parent = ranks[(index - 1) * (is_head == 0) * (is_root == 0)]

    def child(number: Value) -> Value:
        head = 1 + number * length - larger(0, number - n_longer)
        return ranks[either(is_root, head, index + 1)]

    return Tree(is_root, parent, either(is_root, n_chains, is_end == 0), child)


def binary(call: Call) -> Tree:
    """Open MPI's binary tree."""
    ranks, n_ranks = call.from_root, call.n_ranks
    first, second = binary_children(ranks.index, n_ranks)
    return Tree(
        ranks.index == 0,
        ranks[binary_parent(ranks.index, n_ranks)],
        first.exists * 1 + second.exists * 1,
        lambda number: ranks[first.rank + number * (second.rank - first.rank)],
    )


def binomial(call: Call) -> Tree:
    """The binomial tree, with the nearest children first."""
    ranks, n_ranks = call.from_root, call.n_ranks
    index, powers = ranks.index, powers_of_two_below(call.n_ranks)
    parent: Value = index
    for power in reversed(powers):  # the lowest set bit
        is_lowest = index % (2 * power) == power
        parent = parent - is_lowest * power
    n_children: Value = sum(((index % (2 * power) == 0) & (index + power < n_ranks)) * 1 for power in powers)
    return Tree(index == 0, ranks[parent], n_children, lambda number: ranks[index + (1 << number)])
