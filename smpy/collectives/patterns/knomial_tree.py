"""K-nomial trees of radix 4: the ranks 1, 2 and 3 times a power of 4 ahead are children."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smpy.collectives.ranks import Ranks
from smpy.collectives.schedule import Schedule, Value

RADIX: Final = 4


def broadcast(steps: Schedule, ranks: Ranks, nbytes: Value) -> None:
    """Receive from the parent, then send to the children at the same power at once, the farthest power first."""
    distances = powers_below(ranks.size_max)
    for distance in distances:
        with steps.when(_is_below(ranks.index, distance)):
            steps.recv(ranks[parent(ranks.index, distance)], nbytes)
    for distance in reversed(distances):
        with steps.when(ranks.index % (RADIX * distance) == 0):
            for digit in range(1, RADIX):
                with steps.when(ranks.index + digit * distance < ranks.size_max):
                    steps.isend(ranks.ahead(digit * distance), nbytes)
            steps.wait_all()


def reduce(steps: Schedule, ranks: Ranks, nbytes: Value) -> None:
    """Receive from all children at once, the nearest power first, and reduce; then send to the parent."""
    for distance in _children(steps, ranks):
        steps.irecv(ranks.ahead(distance), nbytes)
    steps.wait_all()
    for _ in _children(steps, ranks):
        steps.combine(nbytes)
    for distance in powers_below(ranks.size_max):
        with steps.when(_is_below(ranks.index, distance)):
            steps.isend(ranks[parent(ranks.index, distance)], nbytes)
    steps.wait_all()


def _children(steps: Schedule, ranks: Ranks) -> Iterator[int]:
    """Distances to children, the nearest power first; steps are limited to the ranks that have the child."""
    for distance in powers_below(ranks.size_max):
        with steps.when(ranks.index % (RADIX * distance) == 0):
            for digit in reversed(range(1, RADIX)):
                with steps.when(ranks.index + digit * distance < ranks.size_max):
                    yield digit * distance


def powers_below(n: int) -> list[int]:
    """The powers 1, 4, 16, ... below `n`."""
    return [RADIX**k for k in range(n.bit_length()) if RADIX**k < n]


def parent(index: Value, distance: int) -> Value:
    """The parent of a rank that is 1, 2 or 3 times `distance` ahead of its parent."""
    return index // (RADIX * distance) * (RADIX * distance)


def _is_below(index: Value, distance: int) -> Value:
    """Whether a rank is 1, 2 or 3 times `distance` ahead of its parent."""
    return (index % (RADIX * distance) != 0) & (index % distance == 0)
