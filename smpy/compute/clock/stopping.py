"""Rules that decide when a sampled region has enough samples, from their count, sum and sum of squares."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Final, Literal, Protocol

__all__ = ["ConfidenceInterval", "SmpiRule", "StoppingRule", "relative_half_width", "student_t"]

# Student's t for 95 % on both sides, with 1, 2, ... degrees of freedom (Abramowitz & Stegun 1964, table 26.10).
_T: Final = (
    *(12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216, 2.22814),
    *(2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596),
)
_NORMAL: Final = 1.959964


class StoppingRule(Protocol):
    """Rule that decides when there are enough samples."""

    @property
    def is_injected_whole(self) -> bool:
        """Whether a loop takes its number of iterations times the mean, executed iterations included."""

    def is_enough(self, n: int, sum_s: float, squares_s2: float) -> bool:
        """Whether the mean is known precisely enough."""


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """Stop when the 95 % confidence interval of the mean is narrow.

    The interval is Student's. It is looked at after every run, and runs end when it happens to be narrow: the mean is
    within the bound a little less often than in 95 % of cases.

    Parameters
    ----------
    half_width : float
        Bound on half the interval, as a part of the mean.
    least : int
        Runs that there are at least.

    Raises
    ------
    ValueError
        If the bound is not positive, or there would be fewer than 2 runs.
    """

    half_width: float = 0.05
    least: int = 5
    is_injected_whole = False

    def __post_init__(self) -> None:
        if not (self.half_width > 0 and isfinite(self.half_width)):
            raise ValueError(f"half_width = {self.half_width}: give a part of the mean, above 0")
        if self.least < 2:
            raise ValueError(f"least = {self.least}: an interval needs at least 2 runs")

    def is_enough(self, n: int, sum_s: float, squares_s2: float) -> bool:
        """Whether the interval is narrow."""
        return n >= self.least and relative_half_width(n, sum_s, squares_s2) <= self.half_width


@dataclass(frozen=True, slots=True)
class SmpiRule:
    """SMPI's rule, that of SMPI_SAMPLE_LOCAL and SMPI_SAMPLE_GLOBAL.

    Run `iters` times at most; fewer, from 2 on, when the relative error is below `thres`.

    Parameters
    ----------
    iters : int
        Most runs. There is always one.
    thres : float
        Relative error; negative: none is small enough.
    version : {"3.32", "4"}
        SimGrid's: which error it means, that of the mean, or the deviation of single runs.

    Raises
    ------
    ValueError
        If neither number is positive, or the version is none of these.
    """

    iters: int
    thres: float
    version: Literal["3.32", "4"] = "3.32"
    is_injected_whole = True

    def __post_init__(self) -> None:
        if not (self.iters > 0 or self.thres > 0):
            raise ValueError(f"iters = {self.iters}, thres = {self.thres}: one of them must be positive")
        if self.version not in ("3.32", "4"):
            raise ValueError(f"version = {self.version!r}: the rules known are those of 3.32 and 4")

    def is_enough(self, n: int, sum_s: float, squares_s2: float) -> bool:
        """Whether SMPI would stop here."""
        if n == 0:
            return False
        return not (n < self.iters and (self.thres < 0 or n < 2 or self._error(n, sum_s, squares_s2) >= self.thres))

    def _error(self, n: int, sum_s: float, squares_s2: float) -> float:
        mean_s = sum_s / n
        variance_s2 = max(squares_s2 / n - mean_s * mean_s, 0.0)
        if self.version == "3.32":
            variance_s2 /= n
        return sqrt(variance_s2) / mean_s if mean_s else 0.0


def relative_half_width(n: int, sum_s: float, squares_s2: float) -> float:
    """Half of the 95 % confidence interval of a mean, divided by the mean; infinite for fewer than 2 samples.

    Parameters
    ----------
    n : int
        Number of samples.
    sum_s, squares_s2 : float
        Their sum, and that of their squares.

    Examples
    --------
    >>> relative_half_width(3, 1 + 2 + 3, 1 + 4 + 9)  # 4.30265 / sqrt(3) / 2
    1.242...
    """
    if n < 2:
        return inf
    mean_s = sum_s / n
    variance_s2 = max(squares_s2 - n * mean_s * mean_s, 0.0) / (n - 1)
    return student_t(n - 1) * sqrt(variance_s2 / n) / mean_s if mean_s else 0.0


def student_t(n_free: int) -> float:
    """Quantile at 97.5 %; beyond the table an expansion around the normal one's (ibid., 26.7.5), to 1e-5."""
    if n_free <= len(_T):
        return _T[n_free - 1]
    x, v = _NORMAL, n_free
    return (
        x
        + (x**3 + x) / (4 * v)
        + (5 * x**5 + 16 * x**3 + 3 * x) / (96 * v**2)
        + (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / (384 * v**3)
    )
