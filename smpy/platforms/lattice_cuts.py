"""Counts the wires between two halves of a lattice, for the bisection bandwidth of topologies."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def halving_cut(sizes: Sequence[int], line_cuts: Sequence[float]) -> float:
    """Smallest number of wires between two halves of a lattice, cut dimension by dimension.

    A dimension of even size is cut in the middle. One of odd size leaves its middle layer over, whose halves go to the
    two sides: as many wires of each of its lines are cut, and the layer is halved in turn. The one node that is left at
    the end, if all sizes are odd, is on no side.

    Parameters
    ----------
    sizes : sequence of int
        Nodes in each dimension.
    line_cuts : sequence of float
        Wires between the halves of a line of each dimension, or their weight.

    Examples
    --------
    >>> halving_cut((8, 8), (2, 2))
    16
    >>> halving_cut((5, 4), (2, 2))
    10
    """
    lines = [line for line in zip(sizes, line_cuts, strict=True) if line[0] > 1]
    odd = sorted((line for line in lines if line[0] % 2), key=lambda line: line[1] / (line[0] - 1))
    even = [line for line in lines if line[0] % 2 == 0]
    n_nodes = prod(sizes)  # size of the layer that remains to be halved
    cut_before: float = 0
    totals = []
    for size, line_cut in odd:
        totals += [cut_before + n_nodes // length * cut for length, cut in even]
        n_nodes //= size
        cut_before += n_nodes * line_cut
    totals += [cut_before + n_nodes // length * cut for length, cut in even] or [cut_before]
    return min(totals)
