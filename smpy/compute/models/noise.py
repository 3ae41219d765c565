"""Draws the deviation of single calls of a kernel from the time of their model."""

from __future__ import annotations

from itertools import pairwise
from math import pi, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

from smpy.platforms.models.kernel_costs import HalfNormalNoise, Noise

_NORMAL: Final = NormalDist()
_WORD: Final = 2**64 - 1
_MOST_DRAWS: Final = 100
"""Above this number of calls at once, one normal number is drawn: the sum of so many draws is close to normal."""


class Moments(NamedTuple):
    """Mean and variance of a call's deviation, relative to its model."""

    mean: float
    variance: float


def moments(noise: Noise) -> Moments:
    """Mean and variance of a draw less 1.

    Examples
    --------
    >>> from smpy.platforms import EmpiricalNoise
    >>> moments(EmpiricalNoise((-0.1, 0.1)))  # uniform between them
    Moments(mean=0.0, variance=0.00333...)
    """
    if isinstance(noise, HalfNormalNoise):
        return Moments(noise.sigma * sqrt(2 / pi), noise.sigma**2 * (1 - 2 / pi))
    points = noise.residuals if len(noise.residuals) > 1 else 2 * noise.residuals
    steps = list(pairwise(points))
    mean = sum(low + high for low, high in steps) / (2 * len(steps))
    square = sum(low * low + low * high + high * high for low, high in steps) / (3 * len(steps))
    return Moments(mean, max(0.0, square - mean * mean))


def quantile(noise: Noise, part: float) -> float:
    """Quantile of the factor on a call's time, for a probability from 0 to 1 (excluded)."""
    if isinstance(noise, HalfNormalNoise):
        return 1 + noise.sigma * _NORMAL.inv_cdf((1 + part) / 2)
    place = part * (len(noise.residuals) - 1)
    below = int(place)
    low, high = noise.residuals[below], noise.residuals[min(below + 1, len(noise.residuals) - 1)]
    return 1 + low + (place - below) * (high - low)


class NoiseDraws:
    """A stream of draws per rank: the n-th draw of a rank does not depend on the order of the ranks.

    Parameters
    ----------
    seed : int
        Seed of all streams.
    """

    def __init__(self, seed: int) -> None:
        self._seed: Final = seed
        self._n_drawn: Final[dict[int, int]] = {}

    @property
    def n_drawn(self) -> int:
        """Number of draws of all ranks."""
        return sum(self._n_drawn.values())

    def sum_of_factors(self, noise: Noise, rank: int, n_calls: int) -> float:
        """Sum of the next factors on a rank's calls; of many, a normal draw with their moments."""
        if n_calls <= _MOST_DRAWS:
            return sum(self.factor(noise, rank) for _ in range(n_calls))
        mean, variance = moments(noise)
        part = min(max(self._next_part(rank), 2.0**-53), 1 - 2.0**-53)
        return n_calls * (1 + mean) + sqrt(n_calls * variance) * _NORMAL.inv_cdf(part)

    def factor(self, noise: Noise, rank: int) -> float:
        """Next factor on the time of a rank's call."""
        return quantile(noise, self._next_part(rank))

    def _next_part(self, rank: int) -> float:
        """Next number of a rank's stream, uniform from 0 to 1."""
        n = self._n_drawn[rank] = self._n_drawn.get(rank, 0) + 1
        return (_mixed(_mixed(_mixed(self._seed) ^ rank) ^ n) >> 11) * 2.0**-53


def _mixed(word: int) -> int:
    """SplitMix64 (Steele, Lea & Flood, 2014): neighbouring words give unrelated words."""
    word = (word + 0x9E3779B97F4A7C15) & _WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)
