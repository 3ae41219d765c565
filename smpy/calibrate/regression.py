"""Linear regression of times on terms of sizes: least squares, screening of terms, and quality.

Times of one kernel span decades, and their errors are relative: least is the sum of measured over predicted time plus
predicted over measured, so that twice and half as long count alike (least squares with weights that are repeated
until they are those of the fit). In plain seconds the largest sizes decide alone.

Screening goes backward from the least squares without negative coefficients (Lawson and Hanson 1974), for work takes
time; only terms that the caller names may have one. The term with the largest p-value of its F test leaves while that
is not significant after Bonferroni's adjustment for the terms that might stand in its place. The errors' variance in
the test is that of the first fit: the share that dropped terms leave unexplained is no error. The weights are those of
the first fit, too: there a prediction that is far too short counts as one error of 100 %. Therefore a term also stays
if the least sum of ratios without it is significantly larger, and by more than twice what these weights say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smpy.calibrate.terms import evaluate
from smpy.errors import UsageError

CONFIDENCE: Final = 0.95
SIGNIFICANCE: Final = 0.05
_REWEIGHTINGS: Final = 20
_REWEIGHTED: Final = 1e-9
_HALVINGS: Final = 10
_POINTS_PER_TERM: Final = 3
_RATIO_MAX: Final = 100.0  # of measured over predicted time
_ROUNDING: Final = 1e-12  # relative to a time: a smaller contribution explains only rounding errors


Vector = NDArray[np.float64]
Weighting = Literal["relative", "none"]


@dataclass(frozen=True, slots=True)
class Fit:
    """A cost as a sum of terms.

    Parameters
    ----------
    seconds : dict of str to float
        Coefficient of each term, in seconds.
    half_widths_s : dict of str to float
        Half of each coefficient's 95 % interval, in seconds: Student's t, as if errors were normal.
    correlations : (n_terms, n_terms) ndarray
        Correlations of the coefficients' errors, in the order of `seconds`.
    r_squared : float
        Share of the variance of the times, in seconds squared, that the fit explains.
    relative_residuals : (n,) ndarray
        Measured time over predicted time, minus 1.
    breusch_pagan_p : float
        p-value of Koenker's studentized Breusch-Pagan test of the weighted residuals: small where their variance still
        depends on the terms. NaN if there is nothing to test.
    """

    seconds: dict[str, float]
    half_widths_s: dict[str, float]
    correlations: Vector
    r_squared: float
    relative_residuals: Vector
    breusch_pagan_p: float

    def predict_s(self, sizes: Mapping[str, Any]) -> Vector:
        """Times at sizes, in seconds.

        Parameters
        ----------
        sizes : mapping of str to (n,) array_like
            Values of each size.
        """
        return np.asarray(sum(value * evaluate(term, sizes) for term, value in self.seconds.items()), dtype=float)


def fit(
    sizes: Mapping[str, ArrayLike], time_s: ArrayLike, terms: Sequence[str], weighting: Weighting = "relative"
) -> Fit:
    """Least squares on given terms.

    Parameters
    ----------
    sizes : mapping of str to (n,) array_like
        Values of each size.
    time_s : (n,) array_like
        Measured times, in seconds.
    terms : sequence of str
        Terms in the language of `smpy.calibrate.terms.evaluate`.
    weighting : {"relative", "none"}
        Whether residuals count as shares of the prediction, or in seconds.

    Returns
    -------
    Fit

    Raises
    ------
    UsageError
        If there are fewer than two more times than terms, a time is not positive, or terms cannot be told apart at
        these sizes.
    """
    times = _times(time_s)
    if len(times) < len(terms) + 2:
        raise UsageError(f"{len(times)} sizes are too few to fit {len(terms)} terms: measure more")
    columns = _columns(sizes, terms)
    if len(times) != len(columns):
        raise UsageError(f"{len(times)} times do not belong to {len(columns)} sizes")
    weights = _weights(times, weighting, lambda weights: columns @ _solve(columns, times, weights).coefficients)
    solved = _solve(columns, times, weights)
    predicted = columns @ solved.coefficients
    residuals = times - predicted
    spread = float(((times - times.mean()) ** 2).sum())
    half_widths = _t_quantile(len(times) - len(terms)) * solved.standard_errors
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = residuals / predicted
    return Fit(
        seconds=dict(zip(terms, solved.coefficients.tolist(), strict=True)),
        half_widths_s=dict(zip(terms, half_widths.tolist(), strict=True)),
        correlations=solved.correlations,
        r_squared=1 - float(residuals @ residuals) / spread if spread else 1.0,
        relative_residuals=relative,
        breusch_pagan_p=_breusch_pagan_p(columns * weights[:, None], residuals * weights),
    )


def screen(
    sizes: Mapping[str, ArrayLike],
    time_s: ArrayLike,
    candidates: Sequence[str],
    *,
    leading: Sequence[str] = (),
    signed: Collection[str] = (),
    positive_at: Mapping[str, ArrayLike] | None = None,
    weighting: Weighting = "relative",
) -> Fit:
    """Least squares on the significant candidates.

    Parameters
    ----------
    sizes, time_s, weighting
        Arguments of `fit`.
    candidates : sequence of str
        Terms that may enter.
    leading : sequence of str
        Terms that stay whatever the tests say: those of the kernel's count of operations.
    signed : collection of str
        Terms whose coefficient may be negative.
    positive_at : mapping of str to array_like, optional
        Sizes at which the predicted time has to be positive, besides the measured ones. If negative coefficients break
        that, none is taken.

    Returns
    -------
    Fit

    Raises
    ------
    UsageError
        For the reasons of `fit`; or if no term is significant.
    """
    times = _times(time_s)
    chosen = _Screening(sizes, times, weighting, candidates, frozenset(leading), frozenset(signed)).run()
    if not chosen:
        raise UsageError("no term of the cost is significant: the times have more noise than trend; measure more")
    screened = fit(sizes, times, chosen, weighting)
    if _has_fault(screened, sizes, signed, positive_at):
        return _without_negative(sizes, times, screened, candidates, leading, signed, weighting)
    return screened


def _has_fault(
    screened: Fit, sizes: Mapping[str, ArrayLike], signed: Collection[str], positive_at: Mapping[str, ArrayLike] | None
) -> bool:
    """Whether a coefficient that must not be negative is, or a time that must be positive is not."""
    places = [sizes] if positive_at is None else [sizes, positive_at]
    return any(screened.predict_s(place).min(initial=np.inf) <= 0 for place in places) or any(
        value < 0 for term, value in screened.seconds.items() if term not in signed
    )


def _without_negative(
    sizes: Mapping[str, ArrayLike],
    times: Vector,
    screened: Fit,
    candidates: Sequence[str],
    leading: Sequence[str],
    signed: Collection[str],
    weighting: Weighting,
) -> Fit:
    """The same screening without negative coefficients; in the end also without their terms."""
    if signed:
        return screen(sizes, times, candidates, leading=leading, weighting=weighting)
    while negative := [term for term, value in screened.seconds.items() if value < 0]:
        rest = [term for term in screened.seconds if term != min(negative, key=lambda term: screened.seconds[term])]
        if not rest:
            raise UsageError("the times fall as the sizes grow: no cost describes them")
        screened = fit(sizes, times, rest, weighting)
    return screened


class _Screening:
    """Backward elimination, starting from the non-negative least squares and their weights."""

    def __init__(
        self,
        sizes: Mapping[str, ArrayLike],
        times: Vector,
        weighting: Weighting,
        candidates: Sequence[str],
        leading: frozenset[str],
        signed: frozenset[str],
    ) -> None:
        self._order: Final = tuple(dict.fromkeys([*leading, *candidates]))
        columns = _columns(sizes, self._order)
        self._unweighted: Final = columns
        self._times: Final = times
        self._weighting: Final = weighting
        self._leading: Final = leading
        self._mirrored: Final = [at for at, term in enumerate(self._order) if term in signed]
        self._weights: Final = _weights(times, weighting, lambda weights: columns @ self._nnls(columns, times, weights))
        weighted = columns * self._weights[:, None]
        scales = np.linalg.norm(weighted, axis=0)
        self._columns: Final = weighted / np.where(scales > 0, scales, 1)
        self._target: Final = times * self._weights

    def run(self) -> tuple[str, ...]:
        chosen = self._active(range(len(self._order)))
        n_free = len(self._target) - len(chosen)
        rounding = _ROUNDING**2 * float(np.mean(self._target**2))
        variance = max(self._squares(chosen) / n_free, rounding) if chosen and n_free > 0 else np.nan
        while (leaving := self._leaving(chosen, variance, n_free)) is not None:
            chosen = self._active([at for at in chosen if at != leaving])
        return tuple(self._order[at] for at in chosen)

    def _active(self, places: Sequence[int]) -> list[int]:
        """Terms of the non-negative least squares, and the leading terms."""
        columns = np.zeros_like(self._columns)
        columns[:, list(places)] = self._columns[:, list(places)]
        coefficients = self._nnls(columns, self._target, np.ones_like(self._target))
        return [at for at in places if coefficients[at] or self._order[at] in self._leading]

    def _nnls(self, columns: Vector, times: Vector, weights: Vector) -> Vector:
        """Coefficients, negative only where allowed."""
        from scipy.optimize import nnls

        weighted = columns * weights[:, None]
        scales = np.linalg.norm(weighted, axis=0)
        scaled = weighted / np.where(scales > 0, scales, 1)
        solution, _ = nnls(np.hstack([scaled, -scaled[:, self._mirrored]]), times * weights)
        solution[self._mirrored] -= solution[len(self._order) :]
        coefficients: Vector = solution[: len(self._order)] / np.where(scales > 0, scales, 1)
        return coefficients

    def _leaving(self, chosen: Sequence[int], variance: float, n_free: int) -> int | None:
        """Least significant removable term, if it is insignificant or there are too many; else None."""
        free = [at for at in chosen if self._order[at] not in self._leading]
        if len(chosen) < 2 or not free:
            return None
        added = {at: self._squares([other for other in chosen if other != at]) - self._squares(chosen) for at in free}
        least = min(free, key=lambda at: added[at])
        n_alternatives = len(self._order) - len(chosen) + 1
        if len(self._target) < _POINTS_PER_TERM * len(chosen):
            return least
        if _p_of_f(added[least], variance, n_free) * n_alternatives <= SIGNIFICANCE:
            return None
        worse = self._misfit([at for at in chosen if at != least]) - self._misfit(chosen)
        is_hidden = worse > 2 * added[least]  # from the weights of the first fit
        return None if is_hidden and _p_of_f(worse, variance, n_free) * n_alternatives <= SIGNIFICANCE else least

    def _misfit(self, chosen: Sequence[int]) -> float:
        """Sum of t / p + p / t - 2 with weights of its own: about `_squares` of a good fit."""
        if self._weighting == "none":
            return self._squares(chosen)
        columns = np.zeros_like(self._unweighted)
        columns[:, list(chosen)] = self._unweighted[:, list(chosen)]

        def predict_s(weights: Vector) -> Vector:
            return columns @ self._nnls(columns, self._times, weights)

        predicted = predict_s(_weights(self._times, self._weighting, predict_s))
        return _sum_of_ratios(_reached(predicted, self._times), self._times) - 2 * len(self._times)

    def _squares(self, chosen: Sequence[int]) -> float:
        """The weighted sum of squared residuals."""
        columns = self._columns[:, list(chosen)]
        coefficients, *_ = np.linalg.lstsq(columns, self._target, rcond=None)
        residuals = self._target - columns @ coefficients
        return float(residuals @ residuals)


# ---- one solution ----


@dataclass(frozen=True, slots=True)
class _Solution:
    coefficients: Vector
    standard_errors: Vector
    correlations: Vector


def _times(time_s: ArrayLike) -> Vector:
    times = np.asarray(time_s, dtype=float)
    if not ((times > 0) & np.isfinite(times)).all():
        raise UsageError("a measured time is not positive: it cannot be fitted")
    return times


def _weights(times: Vector, weighting: Weighting, predict_s: Callable[[Vector], Vector]) -> Vector:
    """Weights with which least squares minimise the sum of t / p + p / t, of measured and predicted times."""
    if weighting == "none":
        return np.ones_like(times)
    weights = 1 / times
    predicted = _reached(predict_s(weights), times)
    for _ in range(_REWEIGHTINGS):
        before, weights = weights, np.sqrt((times + predicted) / (2 * times)) / predicted
        if np.allclose(weights, before, rtol=_REWEIGHTED, atol=0):
            break
        predicted = _improved(predicted, predict_s(weights), times)
    return weights


def _improved(before: Vector, after: Vector, times: Vector) -> Vector:
    """Predictions on the way from some to others: halfway, and so on, while the sum of ratios is larger."""
    reached, least = _reached(after, times), _sum_of_ratios(before, times) * (1 + _ROUNDING)
    for halvings in range(1, _HALVINGS):
        if _sum_of_ratios(reached, times) <= least:
            break
        reached = _reached(before + (after - before) / 2**halvings, times)
    return reached


def _sum_of_ratios(predicted: Vector, times: Vector) -> float:
    return float((times / predicted + predicted / times).sum())


def _reached(predicted: Vector, times: Vector) -> Vector:
    """Predictions, which on the way to a fit may be negative, and then count as far too short."""
    return np.maximum(predicted, times / _RATIO_MAX)


def _columns(sizes: Mapping[str, ArrayLike], terms: Sequence[str]) -> Vector:
    if not terms:
        raise UsageError("a cost has at least one term")
    return np.column_stack([evaluate(term, sizes) for term in terms])


def _solve(columns: Vector, times: Vector, weights: Vector) -> _Solution:
    """Weighted least squares by QR of columns scaled to the same norm."""
    weighted = columns * weights[:, None]
    scales = np.linalg.norm(weighted, axis=0)
    if (scales == 0).any():
        raise UsageError("a term of the cost is 0 at all measured sizes")
    q, r = np.linalg.qr(weighted / scales)
    if np.abs(np.diag(r)).min() < 1e-10:
        raise UsageError("terms of the cost cannot be told apart at the measured sizes: measure other ones")
    scaled = np.linalg.solve(r, q.T @ (times * weights))
    residuals = times * weights - weighted @ (scaled / scales)
    variance = float(residuals @ residuals) / (len(times) - columns.shape[1])
    inverse = np.linalg.inv(r)
    norms = np.linalg.norm(inverse, axis=1)  # times the standard deviation of a residual: standard errors
    directions = inverse / norms[:, None]
    return _Solution(scaled / scales, np.sqrt(variance) * norms / scales, directions @ directions.T)


# ---- distributions ----


def _t_quantile(n_free: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n_free, (1 + CONFIDENCE) / 2))


def _p_of_f(added: float, variance: float, n_free: int) -> float:
    """p-value of a term whose removal increases the sum of squares by this much."""
    from scipy.special import fdtrc

    if variance <= 0:
        return 0.0 if added > 0 else 1.0
    return float(fdtrc(1, n_free, max(added, 0.0) / variance))


def _breusch_pagan_p(columns: Vector, residuals: Vector) -> float:
    """Koenker 1981: n R^2 of the squared residuals on the terms is chi-squared."""
    squares = residuals**2
    spread = ((squares - squares.mean()) ** 2).sum()
    explaining = np.column_stack([np.ones(len(columns)), columns / np.abs(columns).max(axis=0)])
    n_free = int(np.linalg.matrix_rank(explaining)) - 1
    if n_free < 1 or spread <= 0:
        return float("nan")
    from scipy.special import chdtrc

    coefficients, *_ = np.linalg.lstsq(explaining, squares, rcond=None)
    unexplained = ((squares - explaining @ coefficients) ** 2).sum()
    return float(chdtrc(n_free, len(squares) * max(1 - unexplained / spread, 0.0)))
