"""Powers of two as numbers of ranks, and the folding of other numbers of ranks to one.

With p ranks, P is the largest power of two up to p. The first 2 (p - P) ranks are folded into half as many: even ones
hand over to the next rank and get the result back (Thakur, Rabenseifner & Gropp 2005). All ranks must agree on p.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from smpy.collectives.ranks import Ranks
from smpy.collectives.schedule import Schedule, Value, smaller


def is_power_of_two(n: int) -> bool:
    """Whether `n` is 1, 2, 4, ..."""
    return n & (n - 1) == 0


def power_of_two_up_to(n: int) -> int:
    """The largest power of two up to `n`."""
    return 1 << (n.bit_length() - 1)


def powers_of_two_below(n: int) -> list[int]:
    """The powers 1, 2, 4, ... below `n`."""
    return [1 << bit for bit in range((n - 1).bit_length())]


def subtree(rank: Value, size: int) -> Value:
    """First rank of the aligned group of `size` ranks that contains `rank`."""
    return rank // size * size


@contextmanager
def reduced_to_power_of_two(
    steps: Schedule, ranks: Ranks, nbytes: Value, result_bytes: Value | None = None
) -> Iterator[Value]:
    """Yield the rank's number among the P ranks that take part; even ranks of the first pairs hand over and wait.

    The even ranks receive `result_bytes` back, by default as many bytes as they sent.
    """
    index, n_pairs = ranks.index, _n_pairs(ranks)
    if not n_pairs:  # the formulas below give the same, and each rank evaluates them in each round
        yield index
        return
    result_bytes = nbytes if result_bytes is None else result_bytes
    stands_aside = (index < 2 * n_pairs) & (index % 2 == 0)
    helps = (index < 2 * n_pairs) & (index % 2 != 0)
    with steps.when(stands_aside):
        steps.send(ranks[index + 1], nbytes)
        steps.recv(ranks[index + 1], result_bytes)
    with steps.when(helps):
        steps.recv(ranks[index - 1], nbytes)
        steps.combine(nbytes)
    with steps.when(stands_aside == 0):
        yield index - smaller((index + 1) // 2, n_pairs)
    with steps.when(helps):
        steps.send(ranks[index - 1], result_bytes)


def expanded(ranks: Ranks, number: Value) -> Value:
    """The rank with a number among the P ranks that take part."""
    n_pairs = _n_pairs(ranks)
    return ranks[number + smaller(number + 1, n_pairs) if n_pairs else number]


def _n_pairs(ranks: Ranks) -> int:
    return ranks.size_max - power_of_two_up_to(ranks.size_max)
