"""Fits curves to the efficiencies of some numbers of ranks, and predicts others.

The family is that of [1]_, with x = P^(1/d), the side of a grid of P ranks in d = 1, 2 or 3 dimensions:

    constant   y(P) = a
    Amdahl     y(P) = a / (f + (1 - f) x)                  0 <= f <= 1
    pipeline   y(P) = a x / ((1 - f) + f (2 x - 1))      1/2 <= f <= 1

f is the share that scales in Amdahl's curve; in a pipeline's, 2 f - 1 is the share that fills stages one after the
other (below 1/2 efficiencies would grow). The published text has x = P; published tables need the side of a grid.

References
----------
.. [1] Rosas, Giménez, Labarta: "Scalability prediction for fundamental performance factors", Supercomputing Frontiers
   and Innovations 1 (2), 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from smpy.analysis.result import import_optional
from smpy.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Family = Literal["constant", "amdahl", "pipeline"]

POINTS_MIN: Final = 3  # two parameters, and one point to judge the fit
_FLAT: Final = 0.02
_SIGNIFICANT_T: Final = 2.0
_TIE: Final = 1.1
_NO_ERROR: Final = 1e-9
_DIMENSIONS: Final = (1, 2, 3)
_CONFIDENCE: Final = 0.975
_ZOOMS: Final = 14


def jackknife_error(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard error of a prediction from its values when each group of points is left out, [n_groups, ...]."""
    return np.asarray(np.sqrt((len(values) - 1) * values.var(axis=0)), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """The chosen curve, and the curves chosen when each point is left out.

    Parameters
    ----------
    curve : Curve
        Through all points.
    others : sequence of Curve
        Without each.
    """

    curve: Curve
    others: Sequence[Curve]

    def jackknife(self, ranks: ArrayLike) -> NDArray[np.float64]:
        """Standard error by leaving out one point at a time, with the choice of the curve repeated.

        Parameters
        ----------
        ranks : array_like
            Numbers of ranks.
        """
        return jackknife_error(np.stack([curve.at(np.atleast_1d(ranks)) for curve in self.others]))


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A curve through points.

    Parameters
    ----------
    family : {"constant", "amdahl", "pipeline"}
        Family of the curve.
    dimension : int
        d.
    a, f : float
        Parameters; f of a constant is 1.
    ranks, measured : (n,) array of float
        The points.
    """

    family: Family
    dimension: int
    a: float
    f: float
    ranks: NDArray[np.float64]
    measured: NDArray[np.float64]

    @property
    def text(self) -> str:
        """Text such as "Amdahl, d = 2: a = 0.98, f = 0.999"."""
        if self.family == "constant":
            return f"constant: {self.a:.4g}"
        name = {"amdahl": "Amdahl", "pipeline": "pipeline"}[self.family]
        return f"{name}, d = {self.dimension}: a = {self.a:.4g}, f = {self.f:.6g}"

    def at(self, ranks: ArrayLike) -> NDArray[np.float64]:
        """Values of the curve, between 0 and 1.

        Parameters
        ----------
        ranks : array_like
            Numbers of ranks.
        """
        return np.clip(self.a * _shape(self.family, self.f, self.dimension, ranks), 0.0, 1.0)

    def half_width(self, ranks: ArrayLike) -> NDArray[np.float64]:
        """Half the width of the 95 % interval from the scatter of the points around the curve (delta method).

        Parameters
        ----------
        ranks : array_like
            Numbers of ranks.
        """
        slopes = self._slopes(self.ranks)
        n_free = len(self.measured) - slopes.shape[1]
        if n_free < 1:
            return np.full(np.shape(np.atleast_1d(ranks)), np.nan)
        rest = self.measured - self.a * _shape(self.family, self.f, self.dimension, self.ranks)
        covariance = (rest @ rest) / n_free * np.linalg.pinv(slopes.T @ slopes)
        there = self._slopes(ranks)
        t = float(import_optional("scipy.stats").t.ppf(_CONFIDENCE, n_free))
        return np.asarray(t * np.sqrt(np.einsum("ij,jk,ik->i", there, covariance, there)), np.float64)

    def _slopes(self, ranks: ArrayLike) -> NDArray[np.float64]:
        """Derivatives by the parameters."""
        x = np.atleast_1d(np.asarray(ranks, np.float64)) ** (1 / self.dimension)
        shape = _shape(self.family, self.f, self.dimension, np.atleast_1d(ranks))
        if self.family == "constant":
            return shape[:, None]
        growth = 1 - x if self.family == "amdahl" else (2 * x - 2) / x  # growth of the denominator with f
        return np.stack([shape, -self.a * growth * shape**2], axis=1)


def _shape(family: Family, f: float | NDArray[np.float64], dimension: int, ranks: ArrayLike) -> NDArray[np.float64]:
    """The curve for a = 1."""
    x = np.asarray(ranks, np.float64) ** (1 / dimension)
    if family == "constant":
        return np.ones_like(x)
    return 1 / (f + (1 - f) * x) if family == "amdahl" else x / ((1 - f) + f * (2 * x - 1))


def fit_curve(family: Family, dimension: int, ranks: NDArray[np.float64], measured: NDArray[np.float64]) -> Curve:
    """The least-squares curve of a kind, with a <= 1: no value is above 1, as a = y(1).

    For each f the best a is known, so that f alone is searched: over a grid, then ever closer around its best.

    Parameters
    ----------
    family, dimension
        The kind.
    ranks, measured : (n,) array of float
        Points.
    """
    if family == "constant":
        return Curve(family, 1, float(min(measured.mean(), 1.0)), 1.0, ranks, measured)
    low, high = lower, upper = (0.0 if family == "amdahl" else 0.5), 1.0
    f = a = 1.0
    for _ in range(_ZOOMS):
        tried = np.linspace(low, high, 101)
        shapes = _shape(family, tried[:, None], dimension, ranks)
        best_a = np.minimum((shapes @ measured) / (shapes**2).sum(axis=1), 1.0)
        rest = ((best_a[:, None] * shapes - measured) ** 2).sum(axis=1)
        best = int(rest.argmin())
        f, a = float(tried[best]), float(best_a[best])
        reach = (high - low) / 20
        low, high = max(lower, f - reach), min(upper, f + reach)
    return Curve(family, dimension, a, f, ranks, measured)


def predict(ranks: Sequence[int], measured: Sequence[float], *, can_be_pipeline: bool) -> Prediction:
    """Choose a curve: a constant if values hardly change, else the one that best predicts the largest number of ranks.

    It predicts that from the others; of curves that do it equally well, Amdahl's with d = 1 is taken.

    Parameters
    ----------
    ranks : sequence of int
        Numbers of ranks, different ones.
    measured : sequence of float
        An efficiency of each.
    can_be_pipeline : bool
        Whether a pipeline is among the candidates.

    Raises
    ------
    UsageError
        If there are fewer than three numbers of ranks, or one is there twice.
    """
    order = np.argsort(ranks)
    x, y = np.asarray(ranks, np.float64)[order], np.asarray(measured, np.float64)[order]
    if len(np.unique(x)) < max(POINTS_MIN, len(x)):
        raise UsageError(
            f"a prediction needs at least {POINTS_MIN} different numbers of ranks, one run of each: these are "
            f"of {', '.join(f'{int(n)}' for n in x[:20])}"
        )
    curve = _chosen(x, y, can_be_pipeline=can_be_pipeline)
    subsets = [np.arange(len(x)) != i for i in range(len(x))]
    if len(x) > POINTS_MIN:
        return Prediction(curve, [_chosen(x[subset], y[subset], can_be_pipeline=can_be_pipeline) for subset in subsets])
    return Prediction(curve, [fit_curve(curve.family, curve.dimension, x[subset], y[subset]) for subset in subsets])


def _chosen(x: NDArray[np.float64], y: NDArray[np.float64], *, can_be_pipeline: bool) -> Curve:
    spread = float(np.ptp(y))
    if spread < _NO_ERROR or (spread < _FLAT and _slope_t(x, y) < _SIGNIFICANT_T):
        return fit_curve("constant", 1, x, y)
    families: tuple[Family, ...] = ("amdahl", "pipeline") if can_be_pipeline else ("amdahl",)
    kinds = [(family, dimension) for family in families for dimension in _DIMENSIONS]
    errors = [abs(float(fit_curve(*kind, x[:-1], y[:-1]).at(x[-1])) - y[-1]) for kind in kinds]
    first_is_good = errors[0] <= max(_TIE * min(errors), _NO_ERROR)
    return fit_curve(*kinds[0 if first_is_good else int(np.argmin(errors))], x, y)


def _slope_t(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Distance of a straight line's slope from 0, in standard errors."""
    from_mean = x - x.mean()
    slope = (from_mean @ y) / (from_mean @ from_mean)
    rest = y - y.mean() - slope * from_mean
    error = np.sqrt((rest @ rest) / (len(x) - 2) / (from_mean @ from_mean))
    return float(abs(slope) / error) if error > 0 else (np.inf if abs(slope) > 0 else 0.0)
