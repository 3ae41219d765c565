"""Recursive halving of a vector of whole entries among a power of two of ranks (Rabenseifner 2004)."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import power_of_two_up_to, powers_of_two_below
from smpy.collectives.schedule import Schedule, Value, larger, smaller


def halves(
    number: Value, power: int, nbytes: Value, item_bytes: int, *, is_balanced: bool
) -> list[tuple[int, Value, Value]]:
    """Partner's bit, bytes of the half to keep and bytes of the other half, per round.

    Entries left over after division by `power` go to the last part, as in SMPI. With `is_balanced` they go one each
    to the first parts, as in MPICH 4.
    """
    n_entries = nbytes // item_bytes
    share, rest = n_entries // power, n_entries % power

    def start(part: Value) -> Value:
        extra = smaller(part, rest) if is_balanced else (part == power) * rest
        return (part * share + extra) * item_bytes

    def part_bytes(first: Value, n: int) -> Value:
        return start(first + n) - start(first)

    first: Value = 0
    rounds: list[tuple[int, Value, Value]] = []
    for mask in powers_of_two_below(power):
        half = power // (2 * mask)
        is_upper = number & mask != 0
        mine, its = first + is_upper * half, first + (1 - is_upper) * half
        rounds.append((mask, part_bytes(mine, half), part_bytes(its, half)))
        first = mine
    return rounds


def folded(rank: Value, n_pairs: int) -> Value:
    """Number of a rank among the power of two of ranks that continue: all but the odd ranks of the first pairs."""
    return smaller(rank // 2, n_pairs) + larger(0, rank - 2 * n_pairs)


def unfolded(number: Value, n_pairs: int) -> Value:
    """The rank with a number among the ranks that continue."""
    return number + smaller(number, n_pairs)


def fold_in_halves(steps: Schedule, call: Call) -> tuple[Value, Value]:
    """Reduce a half on each rank of the first pairs; the odd rank then hands its half over (Rabenseifner 1997).

    There are as many pairs as ranks beyond a power of two. Returns the rank's number among those that continue, and
    whether it continues.
    """
    rank, nbytes, item_bytes = call.rank, call.nbytes, call.item_bytes
    n_pairs = call.n_ranks - power_of_two_up_to(call.n_ranks)
    lower = nbytes // item_bytes // 2 * item_bytes
    upper = nbytes - lower
    is_paired, is_odd = rank < 2 * n_pairs, rank % 2 != 0
    with steps.when(is_paired & (is_odd == 0)):
        steps.exchange(rank + 1, upper, rank + 1, lower)
        steps.combine(lower)
        steps.recv(rank + 1, upper)
    with steps.when(is_paired & is_odd):
        steps.exchange(rank - 1, lower, rank - 1, upper)
        steps.combine(upper)
        steps.send(rank - 1, upper)
    return folded(rank, n_pairs), (is_paired & is_odd) == 0


def parts_of(number: Value, power: int, nbytes: Value, item_bytes: int) -> list[tuple[int, Value, Value]]:
    """Partner's bit, bytes of the half to keep and of the other half, per round; the lower half is not the larger."""
    rounds: list[tuple[int, Value, Value]] = []
    n_entries = nbytes // item_bytes
    for mask in powers_of_two_below(power):
        n_kept = (n_entries + (number // mask) % 2) // 2
        rounds.append((mask, n_kept * item_bytes, (n_entries - n_kept) * item_bytes))
        n_entries = n_kept
    return rounds
