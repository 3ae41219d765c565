"""Costs of kernels from samples: the fit, its error on held-out sizes, and the noise of single calls."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from smpy.calibrate.regression import Fit, screen
from smpy.calibrate.samples import KernelSample
from smpy.calibrate.terms import evaluate
from smpy.errors import UsageError

NoiseModel = Literal["empirical", "half-normal", "none"]
_QUANTILES: Final = 51
_GRID_POINTS: Final = 1000
_ITERATIONS: Final = 4
_STEPS: Final = 10_000  # steps of an integral

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Terms:
    """Candidate terms of a kernel's cost; the fields are those of `smpy.calibrate.kernels.Kernel`."""

    sizes: tuple[str, ...]
    candidates: tuple[str, ...]
    leading: tuple[str, ...]
    signed: tuple[str, ...] = ()
    combined: Mapping[str, float] = field(default_factory=dict)
    is_tall: bool = False


@dataclass(frozen=True, slots=True)
class Points:
    """Measured sizes of a kernel, and the time at each.

    Parameters
    ----------
    sizes : dict of str to (n,) ndarray
        Values of each size.
    time_s : (n,) ndarray
        Median over the repetitions, in seconds; with half-normal noise, the time of a call without it.
    """

    sizes: dict[str, Vector]
    time_s: Vector


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a kernel, with its quality.

    Parameters
    ----------
    name : str
        Name of the kernel.
    sizes : tuple of str
        Names of its sizes.
    fit : Fit
        The polynomial.
    fitted, held_out : Points
        Sizes that it was fitted to, and those that were kept out.
    noise : dict
        Noise in the form of a machine file; empty: none.
    cold_over_warm : float
        Median ratio of the times of cold and warm calls; NaN if none was cold.
    is_tall : bool
        Whether it was measured where m >= n alone.
    """

    name: str
    sizes: tuple[str, ...]
    fit: Fit
    fitted: Points
    held_out: Points
    noise: dict[str, object]
    cold_over_warm: float
    is_tall: bool = False

    @property
    def held_out_errors(self) -> Vector:
        """Measured over predicted time at the held-out sizes, minus 1."""
        if not len(self.held_out.time_s):
            return np.empty(0)
        return np.asarray(self.held_out.time_s / self.fit.predict_s(self.held_out.sizes) - 1)

    @property
    def total_error(self) -> float:
        """Predicted over measured total time of the held-out sizes, minus 1; NaN without such sizes."""
        if not len(self.held_out.time_s):
            return float("nan")
        return float(self.fit.predict_s(self.held_out.sizes).sum() / self.held_out.time_s.sum()) - 1

    @property
    def smallest(self) -> tuple[int, ...]:
        return tuple(int(self.fitted.sizes[name].min()) for name in self.sizes)

    @property
    def largest(self) -> tuple[int, ...]:
        return tuple(int(self.fitted.sizes[name].max()) for name in self.sizes)


def cost_of(
    name: str,
    terms: Terms,
    samples: Sequence[KernelSample],
    held_out: Collection[tuple[int, ...]] = (),
    *,
    noise_model: NoiseModel = "empirical",
) -> Cost:
    """Fit a kernel's cost to the times of its warm calls.

    Parameters
    ----------
    name : str
        Name of the kernel.
    terms : Terms
        Terms that its cost may consist of.
    samples : sequence of KernelSample
        All of this kernel.
    held_out : collection of tuple of int
        Sizes to keep out of the fit.
    noise_model : {"empirical", "half-normal", "none"}
        The residuals of single calls, as quantiles, about a cost that is fitted to medians; or the standard deviation
        of the normal whose magnitude is how much longer a call takes than one without noise, which is fitted then.

    Returns
    -------
    Cost

    Raises
    ------
    UsageError
        If no cost describes the samples; with the kernel's name.
    """
    warm = _by_sizes(sample for sample in samples if sample.cache == "warm")
    cold = _by_sizes(sample for sample in samples if sample.cache == "cold")
    fitted = {sizes: times for sizes, times in warm.items() if sizes not in held_out}
    if not fitted:
        raise UsageError(f"{name}: it was not measured in time")
    sigma = _half_normal_sigma(list(fitted.values())) if noise_model == "half-normal" else None
    points = _points(terms.sizes, fitted, sigma)
    try:
        screened = _screened(terms, points)
    except UsageError as wrong:
        raise UsageError(f"{name}: {wrong}") from wrong
    ratios = [np.median(cold[sizes]) / np.median(times) for sizes, times in warm.items() if sizes in cold]
    return Cost(
        name=name,
        sizes=terms.sizes,
        fit=screened,
        fitted=points,
        held_out=_points(terms.sizes, {sizes: times for sizes, times in warm.items() if sizes in held_out}, sigma),
        noise=_noise(noise_model, screened, points, list(fitted.values()), sigma),
        cold_over_warm=float(np.median(ratios)) if ratios else float("nan"),
        is_tall=terms.is_tall,
    )


def _screened(terms: Terms, points: Points) -> Fit:
    """The fit; the coefficient of a combined term is split among its parts."""
    grid = _grid(points, is_tall=terms.is_tall)
    if not terms.combined:
        return screen(
            *(points.sizes, points.time_s, terms.candidates),
            leading=terms.leading,
            signed=terms.signed,
            positive_at=grid,
        )
    work = "_work"  # stands for the combined term, as if it were a size
    candidates = [work, *(term for term in terms.candidates if term not in terms.combined)]
    at, at_grid = (
        sizes | {work: np.asarray(sum(part * evaluate(term, sizes) for term, part in terms.combined.items()))}
        for sizes in (points.sizes, grid)
    )
    screened = screen(at, points.time_s, candidates, leading=[work], positive_at=at_grid)
    return _expanded(screened, work, terms.combined) if work in screened.seconds else screened


def _expanded(screened: Fit, work: str, parts: Mapping[str, float]) -> Fit:
    """The fit with one term replaced by its parts, whose coefficients are fully correlated: one was fitted."""
    made_of = {term: (work, part) for term, part in parts.items()}
    made_of |= {term: (term, 1.0) for term in screened.seconds if term != work}
    fitted = list(screened.seconds)
    places = [fitted.index(term) for term, _ in made_of.values()]
    signs = np.sign([part for _, part in made_of.values()])
    return replace(
        screened,
        seconds={term: part * screened.seconds[whole] for term, (whole, part) in made_of.items()},
        half_widths_s={term: abs(part) * screened.half_widths_s[whole] for term, (whole, part) in made_of.items()},
        correlations=screened.correlations[np.ix_(places, places)] * np.outer(signs, signs),
    )


def _by_sizes(samples: Iterable[KernelSample]) -> dict[tuple[int, ...], list[float]]:
    times: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for sample in samples:
        times[tuple(size for _, size in sample.sizes)].append(sample.processor_s)
    return dict(times)


def _points(
    names: Sequence[str], times: Mapping[tuple[int, ...], Sequence[float]], sigma: float | None = None
) -> Points:
    """Median time per size; with half-normal noise of calls, the time without noise."""
    rows = np.array(list(times), dtype=float).reshape(-1, len(names))
    middles = [
        np.median(of_size) if sigma is None else min(of_size) / (1 + sigma * _least_of(len(of_size))[0])
        for of_size in times.values()
    ]
    return Points(dict(zip(names, rows.T, strict=True)), np.array(middles, dtype=float))


def _grid(points: Points, *, is_tall: bool) -> dict[str, Vector]:
    """Sizes across the whole box that the measured sizes span."""
    n_steps = math.ceil(_GRID_POINTS ** (1 / len(points.sizes)))
    axes = [np.geomspace(values.min(), values.max(), n_steps) for values in points.sizes.values()]
    sizes = dict(zip(points.sizes, (axis.ravel() for axis in np.meshgrid(*axes)), strict=True))
    if is_tall:
        keep = sizes["m"] >= sizes["n"]
        sizes = {name: values[keep] for name, values in sizes.items()}
    return sizes


# ---- noise ----


def _noise(
    model: NoiseModel, fit: Fit, points: Points, times: Sequence[Sequence[float]], sigma: float | None
) -> dict[str, object]:
    if model == "none":
        return {}
    if sigma is not None:
        return {"kind": "half-normal", "sigma": _rounded(sigma)}
    predicted = fit.predict_s(points.sizes)
    residuals = np.concatenate([np.asarray(of_size) / at - 1 for of_size, at in zip(times, predicted, strict=True)])
    return {
        "kind": "empirical",
        "residuals": [_rounded(float(q)) for q in np.quantile(residuals, np.linspace(0, 1, _QUANTILES))],
    }


def _half_normal_sigma(times: Sequence[Sequence[float]]) -> float:
    """Sigma of times t (1 + sigma |z|), z normal, with another t for each sequence.

    The mean excess of calls over the shortest one is made equal to its expectation: the squares, which are more likely
    for a true half-normal, would mostly be those of the few disturbed calls. A call takes longer by a part of t,
    which is less than the shortest: the sigma that takes this into account is found by iteration.
    """
    repeated = [(np.asarray(of_size) / min(of_size) - 1, *_least_of(len(of_size))) for of_size in times]
    expected = sum(len(slowdowns) * distance for slowdowns, _, distance in repeated)
    sigma = 0.0
    for _ in range(_ITERATIONS if expected else 0):
        sigma = sum(float(slowdowns.sum()) * (1 + sigma * least) for slowdowns, least, _ in repeated) / expected
    return sigma


@cache
def _least_of(n: int) -> tuple[float, float]:
    """Mean of the least magnitude of n normals, and the mean distance of all magnitudes from it."""
    from scipy.special import ndtri

    beyond = ((np.arange(_STEPS) + 0.5) / _STEPS) ** (1 / n)  # probability that a magnitude is larger than the least
    least = float(-ndtri(beyond / 2).mean())
    return least, math.sqrt(2 / math.pi) - least if n > 1 else 0.0


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
