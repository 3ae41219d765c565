"""Trees other than binomial ones, over ranks counted from the root."""

from __future__ import annotations

from smpy.collectives.patterns.segments import End
from smpy.collectives.schedule import Value


def power_of_two_up_to_value(value: Value, bound: int) -> Value:
    """The largest power of two up to a value from 1 to `bound`."""
    power: Value = 1
    bit = 2
    while bit <= bound:
        power = power + (value >= bit) * (bit // 2)
        bit *= 2
    return power


def binary_parent(index: Value, n_ranks: int) -> Value:
    """The parent in Open MPI's binary tree.

    On a level of `width` ranks, the children of a rank are `width` and twice `width` numbers ahead of it.
    """
    width = power_of_two_up_to_value(index + 1, n_ranks)
    is_second = index - width // 2 >= width - 1
    return index - width // 2 - is_second * (width // 2)


def binary_children(index: Value, n_ranks: int) -> list[End]:
    """The two children in Open MPI's binary tree, with whether each exists."""
    width = power_of_two_up_to_value(index + 1, n_ranks)
    return [End(child < n_ranks, child) for child in (index + width, index + 2 * width)]
