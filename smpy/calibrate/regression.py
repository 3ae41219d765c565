"""Linear regression of times on terms of sizes: least squares, screening of terms, and how good it is.

Times of one kernel span decades, and their errors are relative: a residual counts as a share of the predicted time
(weights 1 / prediction^2, repeated until they are those of the fit). Without weights the largest sizes decide alone.

Screening goes forward and backward (Efroymson 1960): the term with the smallest p-value of its F test enters while that
is significant after Bonferroni's adjustment for the terms that might have entered instead; a term that is no longer
significant leaves. Work takes time, so no coefficient is negative but those that the caller names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smpy.calibrate.terms import evaluate
from smpy.errors import UsageError

CONFIDENCE: Final = 0.95
SIGNIFICANCE: Final = 0.01
_REWEIGHTINGS: Final = 20
_REWEIGHTED: Final = 1e-9
_STEPS_MAX: Final = 64
_POINTS_PER_TERM: Final = 3

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
        As `smpy.calibrate.terms.evaluate` takes them.
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
    weights = 1 / times if weighting == "relative" else np.ones_like(times)
    solved = _solve(columns, times, weights)
    for _ in range(_REWEIGHTINGS if weighting == "relative" else 0):
        predicted = columns @ solved.coefficients
        if (predicted <= 0).any() or np.allclose(predicted * weights, 1, rtol=_REWEIGHTED, atol=0):
            break
        weights = 1 / predicted
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
    """Least squares on the candidates that are significant.

    Parameters
    ----------
    sizes, time_s, weighting
        As `fit` takes them.
    candidates : sequence of str
        Terms that may enter.
    leading : sequence of str
        Terms that stay whatever the tests say: those of the kernel's count of operations.
    signed : collection of str
        Terms whose coefficient may be negative.
    positive_at : mapping of str to array_like, optional
        Sizes at which the predicted time has to be positive, besides the measured ones. Where negative coefficients
        break that, none is taken.

    Returns
    -------
    Fit

    Raises
    ------
    UsageError
        As `fit`; or if no term is significant.
    """
    times = _times(time_s)
    weights = 1 / times if weighting == "relative" else np.ones_like(times)
    found = _screen_once(sizes, times, weights, candidates, leading, signed, weighting)
    if weighting == "relative" and not _has_fault(found, sizes, signed, positive_at):  # with the weights of this fit
        weights = 1 / found.predict_s(sizes)
        found = _screen_once(sizes, times, weights, candidates, leading, signed, weighting)
    if _has_fault(found, sizes, signed, positive_at):
        return _without_negative(sizes, times, found, candidates, leading, signed, weighting)
    return found


def _screen_once(
    sizes: Mapping[str, ArrayLike],
    times: Vector,
    weights: Vector,
    candidates: Sequence[str],
    leading: Sequence[str],
    signed: Collection[str],
    weighting: Weighting,
) -> Fit:
    chosen = _Screening(sizes, times, weights, candidates, frozenset(leading), frozenset(signed)).run()
    if not chosen:
        raise UsageError("no term of the cost is significant: the times have more noise than trend; measure more")
    return fit(sizes, times, chosen, weighting)


def _has_fault(
    found: Fit, sizes: Mapping[str, ArrayLike], signed: Collection[str], positive_at: Mapping[str, ArrayLike] | None
) -> bool:
    """Whether a coefficient is negative that must not be, or a time that has to be positive is not."""
    places = [sizes] if positive_at is None else [sizes, positive_at]
    return any(found.predict_s(place).min(initial=np.inf) <= 0 for place in places) or any(
        value < 0 for term, value in found.seconds.items() if term not in signed
    )


def _without_negative(
    sizes: Mapping[str, ArrayLike],
    times: Vector,
    found: Fit,
    candidates: Sequence[str],
    leading: Sequence[str],
    signed: Collection[str],
    weighting: Weighting,
) -> Fit:
    """The same screening without negative coefficients; at last without the terms that have them."""
    if signed:
        return screen(sizes, times, candidates, leading=leading, weighting=weighting)
    while negative := [term for term, value in found.seconds.items() if value < 0]:
        rest = [term for term in found.seconds if term != min(negative, key=lambda term: found.seconds[term])]
        if not rest:
            raise UsageError("the times fall as the sizes grow: no cost describes them")
        found = fit(sizes, times, rest, weighting)
    return found


class _Screening:
    """Forward and backward steps with fixed weights."""

    def __init__(
        self,
        sizes: Mapping[str, ArrayLike],
        times: Vector,
        weights: Vector,
        candidates: Sequence[str],
        leading: frozenset[str],
        signed: frozenset[str],
    ) -> None:
        self._order: Final = tuple(dict.fromkeys([*leading, *candidates]))
        columns = _columns(sizes, self._order) * weights[:, None]
        scales = np.abs(columns).max(axis=0)
        self._columns: Final = dict(zip(self._order, (columns / np.where(scales > 0, scales, 1)).T, strict=True))
        self._target: Final = times * weights
        self._leading: Final = leading
        self._signed: Final = signed

    def run(self) -> tuple[str, ...]:
        chosen = [term for term in self._order if term in self._leading]
        seen: set[frozenset[str]] = set()
        for _ in range(_STEPS_MAX):
            entering = self._entering(chosen)
            if entering is not None:
                chosen.append(entering)
            leaving = self._leaving(chosen)
            if leaving is not None:
                chosen.remove(leaving)
            state = frozenset(chosen)
            if (entering is None and leaving is None) or state in seen:
                break
            seen.add(state)
        return tuple(term for term in self._order if term in chosen)

    def _entering(self, chosen: list[str]) -> str | None:
        """The most significant term that is not yet in, if it is significant."""
        n_free = len(self._target) - len(chosen) - 1
        outside = [term for term in self._order if term not in chosen]
        if not outside or len(self._target) < _POINTS_PER_TERM * (len(chosen) + 1):
            return None
        before, _ = self._squares(chosen)
        best, best_squares = None, before
        for term in outside:
            squares, coefficients = self._squares([*chosen, term])
            if squares < best_squares and self._is_possible([*chosen, term], coefficients):
                best, best_squares = term, squares
        if best is None or _p_of_f(before, best_squares, n_free) * len(outside) > SIGNIFICANCE:
            return None
        return best

    def _leaving(self, chosen: list[str]) -> str | None:
        """The least significant term that may leave, if it is not significant."""
        free = [term for term in chosen if term not in self._leading]
        if len(chosen) < 2 or not free:
            return None
        full, _ = self._squares(chosen)
        n_free = len(self._target) - len(chosen)
        p = {term: _p_of_f(self._squares([t for t in chosen if t != term])[0], full, n_free) for term in free}
        worst = max(free, key=lambda term: p[term])
        n_outside = len(self._order) - len(chosen) + 1
        return worst if p[worst] * n_outside > SIGNIFICANCE else None

    def _squares(self, chosen: Sequence[str]) -> tuple[float, Vector]:
        """The weighted sum of squared residuals, and the scaled coefficients."""
        if not chosen:
            return float(self._target @ self._target), np.empty(0)
        columns = np.column_stack([self._columns[term] for term in chosen])
        coefficients, _, rank, _ = np.linalg.lstsq(columns, self._target, rcond=None)
        if rank < len(chosen):
            return np.inf, coefficients
        residuals = self._target - columns @ coefficients
        return float(residuals @ residuals), coefficients

    def _is_possible(self, chosen: Sequence[str], coefficients: Vector) -> bool:
        return all(value >= 0 or term in self._signed for term, value in zip(chosen, coefficients, strict=True))


# ---- one solution ----


@dataclass(frozen=True, slots=True)
class _Solution:
    coefficients: Vector
    standard_errors: Vector


def _times(time_s: ArrayLike) -> Vector:
    times = np.asarray(time_s, dtype=float)
    if not ((times > 0) & np.isfinite(times)).all():
        raise UsageError("a measured time is not positive: it cannot be fitted")
    return times


def _columns(sizes: Mapping[str, ArrayLike], terms: Sequence[str]) -> Vector:
    if not terms:
        raise UsageError("a cost has at least one term")
    return np.column_stack([evaluate(term, sizes) for term in terms])


def _solve(columns: Vector, times: Vector, weights: Vector) -> _Solution:
    """Weighted least squares by QR of columns that are scaled to the same norm."""
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
    return _Solution(scaled / scales, np.sqrt(variance * (inverse**2).sum(axis=1)) / scales)


# ---- distributions ----


def _t_quantile(n_free: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n_free, (1 + CONFIDENCE) / 2))


def _p_of_f(before: float, after: float, n_free: int) -> float:
    """p-value of the term that lowers the squares from `before` to `after`."""
    if n_free < 1:
        return 1.0
    if after <= 0:
        return 0.0 if before > 0 else 1.0
    from scipy.special import fdtrc

    return float(fdtrc(1, n_free, max(before - after, 0.0) / (after / n_free)))


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
