"""Recursive doubling and halving: in each round the partner differs in one bit of the rank.

Thakur, Rabenseifner & Gropp 2005. With p ranks that are no power of two, reductions fold the first 2 (p - P) ranks into
half as many, P being the largest power of two: even ones hand over to the next rank and get the result back. Gathers
let partners that exist serve those whose partner does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from smpy.collectives.schedule import EqualBlocks, Offsets, Schedule, Value, block_bytes, smaller


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


def rabenseifner_allreduce(
    rank: Value, n_ranks: int, root: Value, nbytes: Value, item_bytes: int, *, is_balanced: bool = False
) -> Schedule:
    """A reduce-scatter by halving the vector, then an allgather that doubles back along the same partners.

    The last part takes the entries that P does not divide, as SMPI has it; MPICH 4 balances: the first parts take one
    each.
    """
    steps, power = Schedule(rank), _power_of_two_up_to(n_ranks)
    with _folded(steps, rank, n_ranks - power, nbytes) as folded:
        halves = [
            (_unfolded(folded ^ mask, n_ranks - power), mine_bytes, its_bytes)
            for mask, mine_bytes, its_bytes in _halves(folded, power, nbytes, item_bytes, is_balanced=is_balanced)
        ]
        for partner, mine_bytes, its_bytes in halves:
            steps.exchange(partner, its_bytes, partner, mine_bytes)
        for partner, mine_bytes, its_bytes in reversed(halves):
            steps.exchange(partner, mine_bytes, partner, its_bytes)
    return steps


balanced_rabenseifner_allreduce = partial(rabenseifner_allreduce, is_balanced=True)


def rabenseifner_reduce(
    rank: Value, n_ranks: int, root: Value, nbytes: Value, item_bytes: int, *, is_balanced: bool = False
) -> Schedule:
    """A reduce-scatter by halving the vector, then a gather to the root along the same partners.

    Here the odd ones of the first ranks hand over to the rank before. A root among them takes rank 0's place in the
    gather, with its part of the result.
    """
    steps, power = Schedule(rank), _power_of_two_up_to(n_ranks)
    if n_ranks == 1:
        return steps
    n_pairs = n_ranks - power
    halves_of = partial(_halves, power=power, nbytes=nbytes, item_bytes=item_bytes, is_balanced=is_balanced)

    def number_of(rank: Value) -> Value:
        return rank - smaller((rank + 1) // 2, n_pairs)

    def rank_of(number: Value) -> Value:
        return number + smaller(number, n_pairs)

    def stands_aside(rank: Value) -> Value:
        return (rank < 2 * n_pairs) & (rank % 2 != 0)

    number = number_of(rank)
    with steps.when(stands_aside(rank)):
        steps.send(rank - 1, nbytes)
    with steps.when((rank < 2 * n_pairs) & (rank % 2 == 0)):
        steps.recv(rank + 1, nbytes)
    with steps.when(stands_aside(rank) == 0):
        for mask, mine_bytes, its_bytes in halves_of(number):
            steps.exchange(rank_of(number ^ mask), its_bytes, rank_of(number ^ mask), mine_bytes)

    replaces = stands_aside(root)  # whether the root takes rank 0's number for the gather
    _, part_bytes, _ = halves_of(0)[-1]
    with steps.when(replaces & (rank == 0)):
        steps.send(root, part_bytes)
    with steps.when(replaces & (rank == root)):
        steps.recv(0, part_bytes)
    root_number = number_of(root) * (replaces == 0)
    number = number * (rank != root) + root_number * (rank == root)
    is_replaced = stands_aside(rank) | (replaces & (rank == 0))
    with steps.when((rank == root) | (is_replaced == 0)):
        for mask, mine_bytes, its_bytes in reversed(halves_of(number)):
            partner = rank_of(number ^ mask) + (number ^ mask == 0) * replaces * root
            with steps.when(number // (2 * mask) == root_number // (2 * mask)):  # the others have sent all they had
                with steps.when(number & mask != root_number & mask):
                    steps.send(partner, mine_bytes)
                with steps.when(number & mask == root_number & mask):
                    steps.recv(partner, its_bytes)
    return steps


balanced_rabenseifner_reduce = partial(rabenseifner_reduce, is_balanced=True)


def recursive_doubling_allgather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Every rank exchanges all it has with each of its partners."""
    blocks = EqualBlocks(nbytes)
    return recursive_doubling_allgatherv(rank, n_ranks, root, nbytes, blocks, blocks)


def recursive_doubling_allgatherv(
    rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """Every rank exchanges all it has with each of its partners."""
    steps = Schedule(rank)

    def bytes_from(first: Value, n: int) -> Value:
        size: Value = into[smaller(first + n, n_ranks)] - into[smaller(first, n_ranks)]
        return size

    for mask in _powers_of_two_below(n_ranks):
        mine, its = _subtree(rank, mask), _subtree(rank ^ mask, mask)
        with steps.when(rank ^ mask < n_ranks):
            steps.exchange(rank ^ mask, bytes_from(mine, mask), rank ^ mask, bytes_from(its, mask))
        _serve_those_without_partner(steps, rank, n_ranks, mask, bytes_from(its, n_ranks))
    return steps


def add_scattered_recursive_doubling(
    steps: Schedule, rank: Value, n_ranks: int, root: Value, part_bytes: Callable[[Value, int], Value]
) -> None:
    """The exchanges that complete a broadcast on 2, 4, 8, ... ranks whose parts have been scattered.

    `part_bytes` tells the size of so many parts from one on; part k is with the k-th rank after the root.
    """
    relative = (rank - root) % n_ranks
    for mask in _powers_of_two_below(n_ranks):
        partner = ((relative ^ mask) + root) % n_ranks
        mine, its = _subtree(relative, mask), _subtree(relative ^ mask, mask)
        steps.exchange(partner, part_bytes(mine, mask), partner, part_bytes(its, mask))


def recursive_doubling_scan(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Every rank exchanges the reduction of its subtree with each of its partners; those without one have all."""
    steps = Schedule(rank)
    for mask in _powers_of_two_below(n_ranks):
        with steps.when(rank ^ mask < n_ranks):
            steps.exchange(rank ^ mask, nbytes, rank ^ mask, nbytes)
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


def recursive_halving_reduce_scatter(
    rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """The half of the vector that the partner's half of the ranks needs, then a quarter, ...; for commutative ones."""
    steps, power = Schedule(rank), _power_of_two_up_to(n_ranks)
    n_pairs = n_ranks - power

    def blocks_bytes(first: Value, n: int) -> Value:
        """Of the ranks with n numbers from one on, and of those they stand for."""
        start, end = (number + smaller(number, n_pairs) for number in (first, first + n))
        size: Value = out[end] - out[start]
        return size

    with _folded(steps, rank, n_pairs, out[n_ranks], block_bytes(out, rank // 2 * 2)) as folded:
        for mask in reversed(_powers_of_two_below(power)):
            partner = _unfolded(folded ^ mask, n_pairs)
            mine, its = _subtree(folded, mask), _subtree(folded ^ mask, mask)
            steps.exchange(partner, blocks_bytes(its, mask), partner, blocks_bytes(mine, mask))
    return steps


def _halves(
    number: Value, power: int, nbytes: Value, item_bytes: int, *, is_balanced: bool
) -> list[tuple[int, Value, Value]]:
    """Halving a vector of whole entries among P: the partner's bit, bytes of the half to keep, and of the other."""
    n_entries = nbytes // item_bytes
    share, rest = n_entries // power, n_entries % power

    def start(part: Value) -> Value:
        extra = smaller(part, rest) if is_balanced else (part == power) * rest
        return (part * share + extra) * item_bytes

    def part_bytes(first: Value, n: int) -> Value:
        return start(first + n) - start(first)

    first: Value = 0
    halves: list[tuple[int, Value, Value]] = []
    for mask in _powers_of_two_below(power):
        half = power // (2 * mask)
        is_upper = number & mask != 0
        mine, its = first + is_upper * half, first + (1 - is_upper) * half
        halves.append((mask, part_bytes(mine, half), part_bytes(its, half)))
        first = mine
    return halves


def _power_of_two_up_to(n: int) -> int:
    return 1 << (n.bit_length() - 1)


def _powers_of_two_below(n: int) -> list[int]:
    return [1 << bit for bit in range((n - 1).bit_length())]


def _subtree(rank: Value, size: int) -> Value:
    """First rank of the aligned `size` ranks around a rank."""
    return rank // size * size


@contextmanager
def _folded(
    steps: Schedule, rank: Value, n_pairs: int, nbytes: Value, result_bytes: Value | None = None
) -> Iterator[Value]:
    """The number among P ranks of those that take part, while the even ones of the first pairs stand aside.

    They get as many bytes back as they give, or `result_bytes`.
    """
    result_bytes = nbytes if result_bytes is None else result_bytes
    stands_aside = (rank < 2 * n_pairs) & (rank % 2 == 0)
    helps = (rank < 2 * n_pairs) & (rank % 2 != 0)
    with steps.when(stands_aside):
        steps.send(rank + 1, nbytes)
        steps.recv(rank + 1, result_bytes)
    with steps.when(helps):
        steps.recv(rank - 1, nbytes)
    with steps.when(stands_aside == 0):
        yield rank - smaller((rank + 1) // 2, n_pairs)
    with steps.when(helps):
        steps.send(rank - 1, result_bytes)


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
