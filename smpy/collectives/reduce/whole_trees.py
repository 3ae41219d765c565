"""Reductions of the whole vector along trees, as Open MPI's decisions use them: without segments."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.segments import split
from smpy.collectives.reduce.posted_trees import binary, binomial, chains, up
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("reduce", "chain", source="Open MPI 4 and 5, chain and pipeline reduce without segments")
def chain(call: Call) -> Schedule:
    """Reduce the whole vector along a chain, from each rank to the one before."""
    return up(call, chains(call, 1), split(call.nbytes, call.nbytes))


@algorithm("reduce", "binary_tree", source="Open MPI 4 and 5, binary tree reduce without segments")
def binary_tree(call: Call) -> Schedule:
    """Reduce the whole vector along a binary tree."""
    return up(call, binary(call), split(call.nbytes, call.nbytes))


@algorithm("reduce", "posted_binomial_tree", source="Open MPI 4 and 5, binomial tree reduce without segments")
def posted_binomial_tree(call: Call) -> Schedule:
    """Reduce the whole vector along a binomial tree; the next child's receive is posted before each wait."""
    return up(call, binomial(call), split(call.nbytes, call.nbytes))
