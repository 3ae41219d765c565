"""Scan by recursive doubling."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import powers_of_two_below
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

_SOURCE: Final = "MPICH, recursive doubling"


@algorithm("scan", "recursive_doubling", source=_SOURCE)
def recursive_doubling(call: Call) -> Schedule:
    """Exchange the reduction of the own subtree with each partner; a rank without a partner needs nothing.

    The partner's operand is reduced with that of the own subtree, and if its ranks are before this one with the result.
    """
    return _doubling(call, is_exclusive=False)


@algorithm("exscan", "recursive_doubling", source=_SOURCE)
def exclusive(call: Call) -> Schedule:
    """`recursive_doubling` in which the first operand of ranks before this one becomes the result."""
    return _doubling(call, is_exclusive=True)


def _doubling(call: Call, *, is_exclusive: bool) -> Schedule:
    rank, nbytes = call.rank, call.nbytes
    steps = Schedule(call)
    for mask in powers_of_two_below(call.n_ranks):
        has_operand_before = (rank & (mask - 1) != 0) if is_exclusive else True
        with steps.when(rank ^ mask < call.n_ranks):
            steps.exchange(rank ^ mask, nbytes, rank ^ mask, nbytes)
            steps.combine(nbytes)
            with steps.when((rank & mask != 0) & has_operand_before):
                steps.combine(nbytes)
    return steps
