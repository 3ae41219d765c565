"""Universal kriging: estimates a quantity between points where it is known, and the error of the estimate [1]_.

The quantity is a linear trend in the first coordinate plus a Gaussian process, whose correlation at a distance d is
Matérn's with smoothness 5/2; a part of its variance, the nugget, is each point's own. Trend and variance are
integrated out, and length scales and nugget are averaged over a grid by their likelihood [2]_, so that few points give
large errors.

References
----------
.. [1] Sacks, Welch, Mitchell, Wynn: "Design and Analysis of Computer Experiments", Statistical Science 4 (4), 1989.
.. [2] Handcock, Stein: "A Bayesian Analysis of Kriging", Technometrics 35 (4), 1993.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

_LENGTHS: Final = (0.3, 1.5, 8.0)
_NUGGETS: Final = (1e-8, 1e-3, 0.1)
_LEAST_VARIANCE: Final = 1e-24  # of a quantity that is the same everywhere
_LEAST_WEIGHT: Final = 1e-3  # of scales, relative to the likeliest ones


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """Process with given scales that is fitted to known points.

    Attributes
    ----------
    lengths : ndarray of float, [dimensions]
        Length scale of each coordinate.
    nugget : float
        Part of the variance that is each point's own.
    lower : ndarray of float, [points, points]
        Cholesky factor of the correlations.
    basis : ndarray of float, [points, terms]
        Terms of the trend, solved by `lower`.
    trend : ndarray of float, [terms]
        Coefficients of the trend.
    weights : ndarray of float, [points]
        Correlations' inverse times what the trend leaves.
    variance : float
        Variance of the process, that of its Student's t distribution.
    log_likelihood : float
        Logarithm of the likelihood of the scales, but for a constant.
    """

    lengths: Floats
    nugget: float
    lower: Floats
    basis: Floats
    trend: Floats
    weights: Floats
    variance: float
    log_likelihood: float


def krige(known: Floats, values: Floats, others: Floats, groups: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Estimates at other points, and their standard errors.

    Parameters
    ----------
    known : (n, d) ndarray of float
        Coordinates of the known points.
    values : (n,) ndarray of float
        The quantity there.
    others : (m, d) ndarray of float
        Coordinates of the other points.
    groups : (d,) ndarray of int
        Group of each coordinate, from 0 on: those of a group have one length scale.

    Returns
    -------
    (m,) ndarray of float, (m,) ndarray of float
        Estimates and standard errors; errors are infinite where the trend alone takes up all known points.

    Examples
    --------
    >>> at = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> estimates, errors = krige(at, 3 + 2 * at[:, 0], np.array([[3.0]]), np.array([0]))
    >>> float(estimates[0].round(6)), bool(errors[0] < 1e-6)
    (9.0, True)
    """
    if len(known) <= _trend(known, known).shape[1]:
        return np.full(len(others), values.mean()), np.full(len(others), np.inf)
    scales = np.array(list(product(_LENGTHS, repeat=int(groups.max(initial=-1)) + 1)))
    fits = [_fitted(known, values, lengths[groups], nugget) for lengths, nugget in product(scales, _NUGGETS)]
    likeliest = max(fit.log_likelihood for fit in fits)
    weights = np.array([math.exp(fit.log_likelihood - likeliest) for fit in fits])
    likely = weights >= _LEAST_WEIGHT
    weights = weights[likely] / weights[likely].sum()
    estimates, variances = np.array(
        [_estimated(fit, known, others) for fit, is_likely in zip(fits, likely, strict=True) if is_likely]
    ).swapaxes(0, 1)
    mean = weights @ estimates
    return mean, np.sqrt(weights @ (variances + np.square(estimates - mean)))


def _fitted(known: Floats, values: Floats, lengths: Floats, nugget: float) -> _Fit:
    n = len(known)
    correlation = _correlation(known, known, lengths) * (1 - nugget) + nugget * np.eye(n)
    lower = np.linalg.cholesky(correlation)
    basis, right = np.linalg.solve(lower, _trend(known, known)), np.linalg.solve(lower, values)
    trend = np.linalg.lstsq(basis, right, rcond=None)[0]
    left = right - basis @ trend
    n_free = n - basis.shape[1]
    variance = max(float(left @ left), _LEAST_VARIANCE) / max(n_free - 2, 0.5)  # of two or less it has none
    log_likelihood = (
        -0.5 * n_free * math.log(max(float(left @ left), _LEAST_VARIANCE))
        - float(np.log(np.diag(lower)).sum())
        - 0.5 * float(np.linalg.slogdet(basis.T @ basis)[1])
    )
    weights = np.linalg.solve(lower.T, left)
    return _Fit(lengths, nugget, lower, basis, trend, weights, variance, log_likelihood)


def _estimated(fit: _Fit, known: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Estimates at other points, and their variances."""
    near = _correlation(others, known, fit.lengths) * (1 - fit.nugget)
    trend = _trend(others, known)
    solved = np.linalg.solve(fit.lower, near.T)
    left = np.linalg.solve(fit.basis.T @ fit.basis, trend.T - fit.basis.T @ solved)
    of_trend = np.square(fit.basis @ left).sum(axis=0)
    share = np.maximum(1 - np.square(solved).sum(axis=0) + of_trend, 0.0)
    return trend @ fit.trend + near @ fit.weights, fit.variance * share


def _trend(points: Floats, known: Floats) -> Floats:
    """A constant, and the first coordinate if known points differ in it."""
    one = np.ones((len(points), 1))
    return np.hstack([one, points[:, :1]]) if known.shape[1] and np.ptp(known[:, 0]) > 0 else one


def _correlation(some: Floats, others: Floats, lengths: Floats) -> Floats:
    distance = np.sqrt(5 * np.square((some[:, None, :] - others[None, :, :]) / lengths).sum(axis=2))
    result: Floats = (1 + distance + np.square(distance) / 3) * np.exp(-distance)
    return result
