"""Spread of equal bursts: relative differences between measured times of the same work on this machine.

Two kinds of pairs count as equal: the n-th bursts of two ranks that end in a line, and two consecutive bursts of one
rank that end there. Uneven work makes one kind differ, noise makes both differ. So of each line the smaller difference
counts. A machine disturbs single bursts for longer than most others: the largest difference of a line is kept beside
the one that most pairs stay below.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import log2
from typing import Final, NamedTuple

__all__ = ["BurstSpread", "Spread"]

_PART: Final = 0.95
_LEAST_PAIRS: Final = 5
_DISTURBED_S: Final = 0.05
"""Longest disturbance of a burst, in seconds, that counts as noise (cold caches, page faults, other processes)."""
_RANKS_MAX: Final = 256
"""Number of ranks that are compared: enough to estimate the machine's spread."""
_ROUNDS: Final = 64
"""Number of rounds kept per line: ranks further apart are not compared."""
_SMALLEST: Final = 1e-3
_BINS_PER_OCTAVE: Final = 8
_N_BINS: Final = 1 + 11 * _BINS_PER_OCTAVE  # up to 2, the largest relative difference


class Spread(NamedTuple):
    """Spread of equal bursts.

    Parameters
    ----------
    relative : float
        Difference of two equal bursts over their mean that 95 % of pairs stay below; mean over the lines, weighted by
        their time.
    n_pairs : int
        Pairs that were compared.
    largest_s : float
        The largest difference of two equal bursts, in seconds: at most the time for which a machine disturbs one.
    """

    relative: float
    n_pairs: int
    largest_s: float = 0.0


class _Differences:
    """Relative differences of pairs of durations, counted in bins."""

    def __init__(self) -> None:
        self.n = 0
        self.largest_s = 0.0
        self._counts: Final = [0] * _N_BINS

    def add(self, one_s: float, other_s: float) -> None:
        relative = 2 * abs(one_s - other_s) / (one_s + other_s)
        number = 0 if relative <= _SMALLEST else 1 + int(_BINS_PER_OCTAVE * log2(relative / _SMALLEST))
        self._counts[min(number, _N_BINS - 1)] += 1
        self.largest_s = max(self.largest_s, abs(one_s - other_s))
        self.n += 1

    def quantile(self) -> float:
        """Upper end of the bin with the quantile `_PART`."""
        left = _PART * self.n
        for number, count in enumerate(self._counts):
            left -= count
            if left <= 0:
                return min(_SMALLEST * 2 ** (number / _BINS_PER_OCTAVE), 2.0)
        return 0.0


class _Line:
    """Bursts that end in one line."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.of_ranks: Final = _Differences()
        self.of_rounds: Final = _Differences()
        self._last: Final[dict[int, tuple[int, float]]] = {}
        self._in_round: Final[dict[int, tuple[int, float]]] = {}

    def take(self, rank: int, seconds: float) -> None:
        self.seconds += seconds
        n_round, before_s = self._last.get(rank, (0, 0.0))
        if n_round:
            self.of_rounds.add(before_s, seconds)
        n_round += 1
        self._last[rank] = n_round, seconds
        slot = n_round % _ROUNDS
        same_round, other_s = self._in_round.get(slot, (0, 0.0))
        if same_round == n_round:
            self.of_ranks.add(other_s, seconds)
        self._in_round[slot] = n_round, seconds

    def relative(self) -> float | None:
        quantiles = [
            differences.quantile() for differences in (self.of_ranks, self.of_rounds) if differences.n >= _LEAST_PAIRS
        ]
        return min(quantiles, default=None)

    def largest_s(self) -> float:
        return min(self.of_ranks.largest_s, self.of_rounds.largest_s, _DISTURBED_S)


class BurstSpread:
    """Compares measured bursts as they end; keeps a few kilobytes a line, whatever the number of ranks."""

    def __init__(self) -> None:
        self._lines: Final[dict[Hashable, _Line]] = {}

    def take(self, rank: int, line: Hashable, seconds: float) -> None:
        """Note a burst.

        Parameters
        ----------
        rank : int
            Rank that computed.
        line : hashable
            Line of the call that ended the burst.
        seconds : float
            Length of the burst; positive.
        """
        if rank < _RANKS_MAX:
            known = self._lines.get(line)
            if known is None:
                known = self._lines[line] = _Line()
            known.take(rank, seconds)

    def spread(self) -> Spread | None:
        """Spread of equal bursts; None where too few were compared.

        Examples
        --------
        >>> bursts = BurstSpread()
        >>> for n_round in range(10):
        ...     for rank in range(4):
        ...         bursts.take(rank, "heat.py:55", 1.0 + 0.05 * (rank % 2))
        >>> bursts.spread().n_pairs
        66
        """
        compared = [(line, relative) for line in self._lines.values() if (relative := line.relative()) is not None]
        whole_s = sum(line.seconds for line, _ in compared)
        if not compared:
            return None
        return Spread(
            relative=sum(line.seconds * relative for line, relative in compared) / whole_s,
            n_pairs=sum(line.of_ranks.n + line.of_rounds.n for line, _ in compared),
            largest_s=max(line.largest_s() for line, _ in compared),
        )
