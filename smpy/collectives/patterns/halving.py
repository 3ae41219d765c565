"""Halving a vector of whole entries among a power of two of ranks (Rabenseifner 2004)."""

from __future__ import annotations

from smpy.collectives.patterns.powers_of_two import powers_of_two_below
from smpy.collectives.schedule import Value, smaller


def halves(
    number: Value, power: int, nbytes: Value, item_bytes: int, *, is_balanced: bool
) -> list[tuple[int, Value, Value]]:
    """Partner's bit, bytes of the half to keep and bytes of the other half, of each round.

    The entries that are left after division by `power` go to the last part, as in SMPI, or one each to the first parts
    if `is_balanced`, as in MPICH 4.
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
