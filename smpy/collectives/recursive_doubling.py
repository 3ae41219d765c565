"""Recursive doubling and halving: in each round the partner differs in one bit of the rank.

Thakur, Rabenseifner & Gropp 2005. With p ranks that are no power of two, reductions fold the first 2 (p - P) ranks into
half as many, P being the largest power of two: even ones hand over to the next rank and get the result back. Gathers
let partners that exist serve those whose partner does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from smpy.collectives.schedule import Offsets, Schedule, Value, smaller


def recursive_doubling_barrier(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """The ranks from P on meet those P below before, and hear from them after, the exchanges of the first P."""
    steps, power = Schedule(rank), _power_of_two_up_to(n_ranks)
    rest = n_ranks - power
    with steps.when(rank >= power):
        steps.exchange(rank - power, 0, rank - power, 0)
    with steps.when(rank < rest):
        steps.recv(rank + power, 0)
    with steps.when(rank < power):
        for mask in _powers_of_two_below(power):
            steps.exchange(rank ^ mask, 0, rank ^ mask, 0)
    with steps.when(rank < rest):
        steps.send(rank + power, 0)
    return steps


def recursive_doubling_allreduce(rank: Value, n_ranks: int, root: Value, nbytes: Value, item_bytes: int) -> Schedule:
    """Every rank exchanges the whole vector with each of its partners."""
    steps = Schedule(rank)
    add_recursive_doubling(steps, rank, n_ranks, nbytes)
    return steps


def add_recursive_doubling(steps: Schedule, rank: Value, n_ranks: int, nbytes: Value) -> None:
    """The calls of `recursive_doubling_allreduce`."""
    power = _power_of_two_up_to(n_ranks)
    with _folded(steps, rank, n_ranks - power, nbytes) as folded:
        for mask in _powers_of_two_below(power):
            partner = _unfolded(folded ^ mask, n_ranks - power)
            steps.exchange(partner, nbytes, partner, nbytes)


def rabenseifner_allreduce(rank: Value, n_ranks: int, root: Value, nbytes: Value, item_bytes: int) -> Schedule:
    """A reduce-scatter by halving the vector, then an allgather that doubles back along the same partners."""
    steps, power = Schedule(rank), _power_of_two_up_to(n_ranks)
    part = nbytes // item_bytes // power * item_bytes

    def part_bytes(first: Value, n: int) -> Value:
        return n * part + (first + n == power) * (nbytes - power * part)  # the last part takes what is left

    with _folded(steps, rank, n_ranks - power, nbytes) as folded:
        first: Value = 0
        halves: list[tuple[Value, Value, Value]] = []
        for mask in _powers_of_two_below(power):
            half = power // (2 * mask)
            is_upper = folded & mask != 0
            partner = _unfolded(folded ^ mask, n_ranks - power)
            mine, its = first + is_upper * half, first + (1 - is_upper) * half
            halves.append((partner, part_bytes(mine, half), part_bytes(its, half)))
            first = mine
        for partner, mine_bytes, its_bytes in halves:
            steps.exchange(partner, its_bytes, partner, mine_bytes)
        for partner, mine_bytes, its_bytes in reversed(halves):
            steps.exchange(partner, mine_bytes, partner, its_bytes)
    return steps


def recursive_doubling_allgather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Every rank exchanges all it has with each of its partners."""
    steps = Schedule(rank)
    for mask in _powers_of_two_below(n_ranks):
        mine, its = _subtree(rank, mask), _subtree(rank ^ mask, mask)
        with steps.when(rank ^ mask < n_ranks):
            mine_bytes, its_bytes = (smaller(mask, n_ranks - first) * nbytes for first in (mine, its))
            steps.exchange(rank ^ mask, mine_bytes, rank ^ mask, its_bytes)
        _serve_those_without_partner(steps, rank, n_ranks, mask, (n_ranks - its) * nbytes)
    return steps


def recursive_doubling_reduce_scatter(
    rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """Every rank sends each of its partners all blocks that its own subtree does not need (MPICH, for any blocks)."""
    steps = Schedule(rank)
    for mask in _powers_of_two_below(n_ranks):
        mine, its = _subtree(rank, mask), _subtree(rank ^ mask, mask)
        with steps.when(rank ^ mask < n_ranks):
            mine_bytes, its_bytes = (
                out[n_ranks] - out[smaller(first + mask, n_ranks)] + out[smaller(first, n_ranks)]
                for first in (mine, its)
            )
            steps.exchange(rank ^ mask, mine_bytes, rank ^ mask, its_bytes)
        _serve_those_without_partner(steps, rank, n_ranks, mask, out[smaller(its, n_ranks)])
    return steps


def halving_reduce_scatter(
    rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """Half of the vector, a quarter, ... in an order that keeps operands in rank order; for 2, 4, 8, ... ranks.

    Bernaschi, Iannello & Lauria 2003; MPICH. On other numbers of ranks: recursive doubling.
    """
    if _power_of_two_up_to(n_ranks) != n_ranks:
        return recursive_doubling_reduce_scatter(rank, n_ranks, root, nbytes, out, into)
    steps = Schedule(rank)
    for mask in _powers_of_two_below(n_ranks):
        part_bytes = out[n_ranks] // n_ranks * (n_ranks // (2 * mask))
        steps.exchange(rank ^ mask, part_bytes, rank ^ mask, part_bytes)
    return steps


def _power_of_two_up_to(n: int) -> int:
    return 1 << (n.bit_length() - 1)


def _powers_of_two_below(n: int) -> list[int]:
    return [1 << bit for bit in range((n - 1).bit_length())]


def _subtree(rank: Value, size: int) -> Value:
    """First rank of the aligned `size` ranks around a rank."""
    return rank // size * size


@contextmanager
def _folded(steps: Schedule, rank: Value, n_pairs: int, nbytes: Value) -> Iterator[Value]:
    """The number among P ranks of those that take part, while the even ones of the first pairs stand aside."""
    stands_aside = (rank < 2 * n_pairs) & (rank % 2 == 0)
    helps = (rank < 2 * n_pairs) & (rank % 2 != 0)
    with steps.when(stands_aside):
        steps.send(rank + 1, nbytes)
        steps.recv(rank + 1, nbytes)
    with steps.when(helps):
        steps.recv(rank - 1, nbytes)
    with steps.when(stands_aside == 0):
        yield rank - smaller((rank + 1) // 2, n_pairs)
    with steps.when(helps):
        steps.send(rank - 1, nbytes)


def _unfolded(number: Value, n_pairs: int) -> Value:
    """The rank that has a number among those that take part."""
    return number + smaller(number + 1, n_pairs)


def _serve_those_without_partner(steps: Schedule, rank: Value, n_ranks: int, size: int, nbytes: Value) -> None:
    """Those of an aligned `size` ranks that had a partner pass on what it gave, along a binomial tree."""
    n_served = n_ranks - _subtree(rank, size) - size
    with steps.when(((rank & size) == 0) & (n_served > 0) & (n_served < size)):
        for reach in reversed(_powers_of_two_below(size)):
            known = _subtree(rank, 2 * reach) + n_served
            partner = rank ^ reach
            with steps.when((partner > rank) & (rank < known) & (partner >= known)):
                steps.send(partner, nbytes)
            with steps.when((partner < rank) & (partner < known) & (rank >= known)):
                steps.recv(partner, nbytes)
