"""RepeatedBlocks in a sequence of numbers: blocks that follow themselves, inner loops before outer ones.

Substrings of 1, 2, 4, ... numbers are ranked by prefix doubling [1]_. Distances at which equal substrings return are
candidates for periods. Of the candidates, the shortest one counts that covers nearly as much as any other, in runs of
three repetitions or more that do not overlap. Each run is then replaced by one number, and the search goes on in what
is left, where the period of an outer loop shows.

References
----------
.. [1] Karp, Miller, Rosenberg: "Rapid identification of repeated patterns in strings, trees and arrays", STOC 1972.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CANDIDATES: Final = 8  # periods a length of substrings
_FEWEST: Final = 3  # repetitions of a run
_NEARLY: Final = 0.9  # of the largest cover
_ROUNDS_MAX: Final = 100


class BlockRun(NamedTuple):
    """Repetitions of a block that follow each other.

    Attributes
    ----------
    starts : (n_repetitions + 1,) array of int
        Position at which each repetition begins, and the end of the last.
    """

    starts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedBlocks:
    """Repeated blocks of a sequence.

    Parameters
    ----------
    runs : list of list of BlockRun
        Runs of each block's repetitions; inner loops before outer ones.
    owner : (n,) array of int
        Block to which each item belongs, the innermost one; -1: it does not repeat.
    """

    runs: list[list[BlockRun]]
    owner: NDArray[np.int64]


def find_repeats(codes: NDArray[np.int64]) -> RepeatedBlocks:
    """Find the repeated blocks of a sequence.

    Parameters
    ----------
    codes : (n,) array of int
        The sequence; equal numbers are equal items.

    Examples
    --------
    >>> blocks = find_repeats(np.array([9, 1, 2, 1, 2, 1, 2, 8]))
    >>> blocks.runs[0][0].starts.tolist(), blocks.owner.tolist()
    ([1, 3, 5, 7], [-1, 0, 0, 0, 0, 0, 0, -1])
    """
    owner = np.full(len(codes), -1, np.int64)
    runs: list[list[BlockRun]] = []
    _, tokens = np.unique(codes, return_inverse=True)
    tokens, begins = tokens.reshape(-1).astype(np.int64), np.append(np.arange(len(codes)), len(codes))
    for _ in range(_ROUNDS_MAX):
        period = _best_period(tokens)
        if period == 0:
            break
        blocks: dict[bytes, int] = {}
        replaced: list[tuple[int, int, int]] = []
        for low, n in _runs_of(tokens, period):
            key = _rotated(tokens[low : low + period]).tobytes()
            if key not in blocks:
                blocks[key] = len(runs)
                runs.append([])
            number = blocks[key]
            starts = begins[low : low + n * period + 1 : period]
            runs[number].append(BlockRun(starts))
            mine = slice(int(starts[0]), int(starts[-1]))
            owner[mine] = np.where(owner[mine] < 0, number, owner[mine])
            replaced.append((low, low + n * period, number))
        tokens, begins = _replace(tokens, begins, replaced)
    return RepeatedBlocks(runs, owner)


def _rotated(block: NDArray[np.int64]) -> NDArray[np.int64]:
    """The block, cut where its rarest number first stands, so that the place of the first cut does not matter."""
    numbers, counts = np.unique(block, return_counts=True)
    return np.roll(block, -int(np.flatnonzero(block == numbers[np.argmin(counts)])[0]))


def _replace(
    tokens: NDArray[np.int64], begins: NDArray[np.int64], replaced: list[tuple[int, int, int]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tokens with one for each run, and where each begins."""
    is_kept = np.ones(len(tokens), np.bool_)
    tokens = tokens.copy()
    base = int(tokens.max()) + 1
    for low, high, number in replaced:
        is_kept[low + 1 : high] = False
        tokens[low] = base + number
    _, shorter = np.unique(tokens[is_kept], return_inverse=True)
    return shorter.reshape(-1).astype(np.int64), np.append(begins[:-1][is_kept], begins[-1])


def _runs_of(tokens: NDArray[np.int64], period: int) -> list[tuple[int, int]]:
    """Begin and number of repetitions of each run with a period; runs do not overlap."""
    is_equal = np.concatenate([[False], tokens[:-period] == tokens[period:], [False]])
    edges = np.flatnonzero(np.diff(is_equal.astype(np.int8)))
    begins, lengths = edges[::2], edges[1::2] - edges[::2]
    runs, end = [], 0
    for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True):
        low = max(begin, end)
        n = (begin + length + period - low) // period
        if n >= _FEWEST:
            runs.append((low, n))
            end = low + n * period
    return runs


def _best_period(tokens: NDArray[np.int64]) -> int:
    """Shortest period whose runs cover nearly as much as those of any other; 0: nothing repeats."""
    if len(tokens) < 2:
        return 0
    cover = {period: _cover(tokens, period) for period in _candidates(tokens)}
    most = max(cover.values(), default=0)
    return min((period for period, n in cover.items() if n >= _NEARLY * most), default=0) if most else 0


def _cover(tokens: NDArray[np.int64], period: int) -> int:
    return sum(n * period for _, n in _runs_of(tokens, period))


def _candidates(tokens: NDArray[np.int64]) -> set[int]:
    """Most frequent distances at which equal substrings of 1, 2, 4, ... numbers return."""
    n, width, number = len(tokens), 1, tokens
    periods: set[int] = set()
    while True:
        order = np.argsort(number, kind="stable")
        distance = np.diff(order)[np.diff(number[order]) == 0]
        distance = distance[distance <= n // 2]
        if not len(distance):
            return periods
        counts = np.bincount(distance)
        most = np.argsort(-counts, kind="stable")[:_CANDIDATES]
        periods |= set(most[counts[most] > 0].tolist())
        if 2 * width >= n:
            return periods
        following = np.full(n, -1, np.int64)
        following[:-width] = number[width:]
        _, number = np.unique(number * (n + 1) + following + 1, return_inverse=True)
        number, width = number.reshape(-1).astype(np.int64), 2 * width
