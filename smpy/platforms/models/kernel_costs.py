"""Costs of kernels on a machine: polynomials of the sizes of a call, fitted by a calibration."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from math import inf, log2, sqrt
from typing import Final

from smpy.platforms.models.correlations import check_correlations

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_FACTOR: Final = re.compile(rf"1|log2\(({_NAME})\)|max\(({_NAME})-([0-9]+),0\)|({_NAME})(?:\^([1-9]))?")
_FUNCTIONS: Final = {"__builtins__": {}, "log2": log2, "max": max, "sqrt": sqrt}


@dataclass(frozen=True, slots=True)
class HalfNormalNoise:
    """Noise of calls that take longer than their cost, never less: factor 1 + abs(z), z normal around 0.

    Parameters
    ----------
    sigma : float
        Standard deviation of z, not of abs(z), which is 0.603 of it.

    Raises
    ------
    ValueError
        If it is negative or not finite.
    """

    sigma: float

    def __post_init__(self) -> None:
        if not 0 <= self.sigma < inf:
            raise ValueError(f"sigma is {self.sigma:g}: it is finite and at least 0")


@dataclass(frozen=True, slots=True)
class EmpiricalNoise:
    """Noise of calls with a factor 1 + e, where e is drawn from the residuals of a calibration.

    Parameters
    ----------
    residuals : tuple of float
        Relative residuals, rising: quantiles at equal steps from the smallest to the largest. Between two of them a
        draw is interpolated.

    Raises
    ------
    ValueError
        If there are none, if they do not rise, or one is not finite or leaves no time.
    """

    residuals: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.residuals or not all(-1 <= residual < inf for residual in self.residuals):
            raise ValueError("residuals are finite numbers from -1 upwards, and at least one")
        if list(self.residuals) != sorted(self.residuals):
            raise ValueError("residuals are quantiles: they rise")


Noise = HalfNormalNoise | EmpiricalNoise


@dataclass(frozen=True, slots=True)
class KernelCost:
    """Time of a call of a kernel on one core, as a polynomial of its sizes.

    Parameters
    ----------
    name : str
        Name of the kernel: "dgemm".
    sizes : tuple of str
        Names of a call's sizes, in order.
    terms : tuple of (str, float)
        Terms and their coefficients in seconds. A term is a product of factors ``NAME``, ``NAME^2``,
        ``log2(NAME)``, ``max(NAME-65536,0)`` and ``1``; the logarithm of a size below 1 is 0.
    half_widths_s : tuple of float
        Half-widths of the coefficients' 95 % intervals, in the order of the terms; empty: not known.
    noise : HalfNormalNoise or EmpiricalNoise or None
        Deviation of single calls from the polynomial.
    smallest, largest : tuple of int
        Sizes that were measured, in the order of `sizes`; empty: they are not known.
    quality : mapping of str to float or str
        Quality of the fit ("r_squared"), for people; costs that differ in nothing else are equal.
    correlations : tuple of tuple of float
        Correlations of the coefficients, a row for each term, in their order; empty: they are independent.

    Raises
    ------
    ValueError
        If these do not fit together, or a number is out of range.

    Examples
    --------
    >>> dgemm = KernelCost("dgemm", ("m", "n", "k"), (("m*n*k", 5e-11), ("1", 1e-6)), largest=(4000, 4000, 4000))
    >>> dgemm.estimate((1000, 1000, 100))
    (0.005001, 0.0)
    >>> dgemm.is_measured_at((1000, 5000, 100))
    False
    """

    name: str
    sizes: tuple[str, ...]
    terms: tuple[tuple[str, float], ...]
    half_widths_s: tuple[float, ...] = ()
    noise: Noise | None = None
    smallest: tuple[int, ...] = ()
    largest: tuple[int, ...] = ()
    quality: Mapping[str, float | str] = field(default_factory=dict, compare=False)
    correlations: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(_NAME, self.name):
            raise ValueError(f"{self.name!r} is no name of a kernel: write it such as dgemm")
        if not self.sizes or len(set(self.sizes)) < len(self.sizes):
            raise ValueError("sizes are one name or several, each once")
        for size in self.sizes:
            if not re.fullmatch(_NAME, size):
                raise ValueError(f"{size!r} is no name of a size: write it such as m")
        if not self.terms or not all(-inf < seconds < inf for _, seconds in self.terms):
            raise ValueError("a cost is one term or several, each with a finite number of seconds")
        _polynomial(self.sizes, tuple(term for term, _ in self.terms))
        if len(self.half_widths_s) not in (0, len(self.terms)):
            raise ValueError("half widths are as many as terms, or none")
        if not all(0 <= width_s < inf for width_s in self.half_widths_s):
            raise ValueError("a half width is a finite number of seconds, at least 0")
        if self.correlations:
            if not self.half_widths_s:
                raise ValueError("correlations are of half widths, and there are none")
            check_correlations(self.correlations, len(self.terms))
        for bounds in (self.smallest, self.largest):
            if len(bounds) not in (0, len(self.sizes)) or min(bounds, default=0) < 0:
                raise ValueError("the smallest and the largest that was measured are a number for each size, or none")

    def estimate(self, sizes: tuple[float, ...]) -> tuple[float, float]:
        """Time of a call, 0 where the polynomial is negative, and half the 95 % interval of its mean, in seconds.

        Raises
        ------
        ValueError
            If it has another number of sizes.
        """
        if len(sizes) != len(self.sizes):
            raise ValueError(f"{self.name} has {len(self.sizes)} sizes ({', '.join(self.sizes)}), not {len(sizes)}")
        return self.estimator()(*sizes)

    def estimator(self) -> Callable[..., tuple[float, float]]:
        """Function of the sizes that returns what `estimate` returns: faster when called often."""
        products = _polynomial(self.sizes, tuple(term for term, _ in self.terms))
        costs = zip((each for _, each in self.terms), products, strict=True)
        summands = (f"{each!r} * (t{at} := {product})" for at, (each, product) in enumerate(costs))
        names = ", ".join(f"s{at}" for at in range(len(self.sizes)))
        source = f"lambda {names}: (max(0.0, {' + '.join(summands)}), sqrt(max(0.0, {self._square()})))"
        estimate: Callable[..., tuple[float, float]] = eval(source, dict(_FUNCTIONS))  # noqa: S307  # of checked terms
        return estimate

    def _square(self) -> str:
        """Python text of the squared half width: a quadratic form of terms t0, t1, ..."""
        widths_s = self.half_widths_s
        parts = [f"({each!r} * t{at}) ** 2" for at, each in enumerate(widths_s)]
        for one, other in combinations(range(len(self.correlations)), 2):
            product = 2 * self.correlations[one][other] * widths_s[one] * widths_s[other]
            parts += [f"{product!r} * t{one} * t{other}"] if product else []
        return " + ".join(parts) or "0.0"

    def is_measured_at(self, sizes: Sequence[float]) -> bool:
        """Whether each size is within the measured ones, as far as these are known."""
        return all(least <= size for least, size in zip(self.smallest, sizes, strict=False)) and all(
            size <= most for size, most in zip(sizes, self.largest, strict=False)
        )


@cache
def _polynomial(sizes: tuple[str, ...], terms: tuple[str, ...]) -> tuple[str, ...]:
    """Python text of each term's product, of sizes s0, s1, ...

    Raises
    ------
    ValueError
        If a term is none, or two are the same.
    """
    powers = [_powers(sizes, term) for term in terms]
    if any(powers.count(term) > 1 for term in powers):
        raise ValueError("two terms are the same: give each once")
    return tuple(
        "(" + " * ".join(f"{factor} ** {power}" if power > 1 else factor for factor, power in term.items()) + ")"
        if term
        else "1.0"
        for term in powers
    )


def _powers(sizes: tuple[str, ...], term: str) -> dict[str, int]:
    """The factors of a term, and the power of each."""
    powers: dict[str, int] = {}
    for text in term.replace(" ", "").split("*"):
        match = _FACTOR.fullmatch(text)
        if match is None:
            raise ValueError(
                f"{term!r} is no term: it is a product of {sizes[0]}, {sizes[0]}^2, log2({sizes[0]}) and the like, or 1"
            )
        logarithm, hinge, knot, name, power = match.groups()
        if (used := logarithm or hinge or name) is None:
            continue
        if used not in sizes:
            raise ValueError(f"{term!r} has {used!r}, which is none of the sizes {', '.join(sizes)}")
        size = f"s{sizes.index(used)}"
        factor = f"log2(max({size}, 1))" if logarithm else f"max({size} - {int(knot)}, 0)" if hinge else size
        powers[factor] = powers.get(factor, 0) + int(power or 1)
    return powers


@dataclass(frozen=True, slots=True)
class KernelCosts:
    """Kernels of a machine with known costs.

    Parameters
    ----------
    reference_flop_per_s : float
        Speed of the core that was measured. On a core of that speed a kernel takes the seconds of its cost; on
        another one in proportion.
    costs : tuple of KernelCost
        In the order of their names.

    Raises
    ------
    ValueError
        If two kernels have one name, or the speed is none.
    """

    reference_flop_per_s: float
    costs: tuple[KernelCost, ...]

    def __post_init__(self) -> None:
        if not 0 < self.reference_flop_per_s < inf:
            raise ValueError(f"the reference speed is {self.reference_flop_per_s:g}: it is finite and above 0")
        names = [cost.name for cost in self.costs]
        if names != sorted(set(names)):
            raise ValueError("costs stand in the order of their names, each kernel once")
