"""Piecewise linear times by message size; the break points are found from the times.

For each number of pieces, dynamic programming finds those with the least squares of relative errors (Bellman 1961,
"On the approximation of curves by line segments using dynamic programming"); their number has the least Bayesian
information criterion (Schwarz 1978), in which a piece counts as three parameters: its constant, its slope, its
beginning. Departure from both: neither constant nor slope is negative, and errors that are smaller than `RESOLUTION`
of a time count as that, so that times without noise make no pieces of rounding errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESOLUTION: Final = 1e-3
SMALLEST_S: Final = 1e-8  # shorter times have the weight of this one: clocks resolve no less
POINTS_MIN: Final = 4  # minimum number of sizes per piece
_CONFIDENCE: Final = 0.95

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinearPiece:
    """Times of `constant_s + n * per_byte_s` for sizes n above the piece's begin, up to the next piece.

    Parameters
    ----------
    above_bytes : float
        Size at which it begins; the first piece of all holds for every smaller size.
    constant_s, per_byte_s : float
        Intercept and slope of the line.
    constant_half_width_s, per_byte_half_width_s : float
        Half of their 95 % intervals (Student's t), each with the other one free; NaN where there are too few sizes for
        one, and for coefficients that are not fitted: at their bounds, or a neighbour's.
    begins_after_bytes, begins_by_bytes : float
        The measured sizes between which it begins.
    n_sizes : int
        Number of sizes that it was fitted to.
    """

    above_bytes: float
    constant_s: float
    per_byte_s: float
    constant_half_width_s: float = math.nan
    per_byte_half_width_s: float = math.nan
    begins_after_bytes: float = 0.0
    begins_by_bytes: float = 0.0
    n_sizes: int = 0


def predict_s(pieces: Sequence[LinearPiece], sizes: ArrayLike) -> Vector:
    """Times at sizes, in seconds; 0 if there are no pieces.

    Parameters
    ----------
    pieces : sequence of LinearPiece
        By rising `above_bytes`.
    sizes : (n,) array_like
        In bytes.

    Returns
    -------
    (n,) ndarray

    Examples
    --------
    >>> predict_s([LinearPiece(0, 1.0, 0.5), LinearPiece(10, 9.0, 0.0)], [4, 10, 11]).tolist()
    [3.0, 6.0, 9.0]
    """
    at = np.asarray(sizes, dtype=float)
    if not pieces:
        return np.zeros_like(at)
    beginnings = np.array([piece.above_bytes for piece in pieces[1:]])
    which = np.searchsorted(beginnings, at, side="left")
    constants = np.array([piece.constant_s for piece in pieces])
    slopes = np.array([piece.per_byte_s for piece in pieces])
    return np.asarray(constants[which] + slopes[which] * at)


def fit_pieces(
    sizes: ArrayLike,
    time_s: ArrayLike,
    *,
    above_bytes: float = 0.0,
    envelope_bytes: float = 0.0,
    slope_min_s_per_byte: float = 0.0,
    relative_to_s: ArrayLike | None = None,
    pieces_max: int = 7,
) -> tuple[LinearPiece, ...]:
    """Lines by size, no more of them than the times distinguish.

    Parameters
    ----------
    sizes : (n,) array_like
        In bytes, each once.
    time_s : (n,) array_like
        In seconds.
    above_bytes : float
        Size at which the first piece begins; without the envelope.
    envelope_bytes : float
        Added to each size: the pieces are lines of the sum, and begin at sums.
    slope_min_s_per_byte : float
        No slope is less.
    relative_to_s : (n,) array_like, optional
        Times that errors are shares of; the measured ones by default.
    pieces_max : int
        No more pieces.

    Returns
    -------
    tuple of LinearPiece
        By rising `above_bytes`; none, if there are no sizes.
    """
    at, times, weights = _points(sizes, time_s, envelope_bytes, relative_to_s)
    if not len(at):
        return ()
    pieces = []
    for first, end in _chosen(_errors(at, times, weights, slope_min_s_per_byte), pieces_max):
        line = _line(_Points(at[first:end], times[first:end], weights[first:end]), slope_min_s_per_byte)
        before, after = (float(at[first - 1]), float(at[first])) if first else (above_bytes + envelope_bytes,) * 2
        begins = _between(before - envelope_bytes, after - envelope_bytes) + envelope_bytes if first else before
        pieces.append(replace(line, above_bytes=begins, begins_after_bytes=before, begins_by_bytes=after))
    if not above_bytes:
        pieces[0] = replace(pieces[0], above_bytes=0.0)
    return tuple(pieces)


def with_told_slopes(
    pieces: Sequence[LinearPiece],
    sizes: ArrayLike,
    time_s: ArrayLike,
    *,
    envelope_bytes: float = 0.0,
    relative_to_s: ArrayLike | None = None,
) -> tuple[LinearPiece, ...]:
    """Pieces without insignificant slopes.

    A piece of few sizes may fit well with any slope: the interval is wider than the slope itself. Such a piece gets
    the slope of the nearest piece with a significant one, unless an F test at 5 % rejects it.

    Parameters
    ----------
    pieces : sequence of LinearPiece
        By rising `above_bytes`, as `fit_pieces` made them of these sizes and times.
    sizes, time_s, envelope_bytes, relative_to_s
        Arguments of `fit_pieces`.
    """
    whole = _points(sizes, time_s, envelope_bytes, relative_to_s)
    which = np.searchsorted([piece.above_bytes for piece in pieces[1:]], whole.x, side="left")
    is_told = [piece.per_byte_half_width_s < piece.per_byte_s for piece in pieces]
    sloped = list(pieces)
    for place, piece in enumerate(pieces):
        points = _Points(*(column[which == place] for column in whole))
        n_free = len(points.x) - 2
        if is_told[place] or n_free < 1:
            continue
        most = points.squares(piece) * (1 + _t_quantile(n_free) ** 2 / n_free)  # F with 1 is the square of t
        below = [at for at in range(place) if is_told[at]][-1:]
        above = [at for at in range(place + 1, len(pieces)) if is_told[at]][:1]
        lines = [_line(points, 0.0, pieces[at].per_byte_s) for at in below + above]
        best = min(lines, key=points.squares, default=piece)
        if points.squares(best) <= most:
            sloped[place] = replace(
                piece,
                constant_s=best.constant_s,
                per_byte_s=best.per_byte_s,
                constant_half_width_s=best.constant_half_width_s,
                per_byte_half_width_s=math.nan,
            )
    return tuple(sloped)


def _between(before: float, after: float) -> float:
    """Size at which a piece begins: a power of two if one lies between the sizes, because libraries switch there."""
    power = 2.0 ** math.floor(math.log2(after))
    power = power / 2 if power == after else power
    return power if before <= power else float(math.floor(math.sqrt(max(before, 1.0) * after)))


# ---- one line ----


class _Points(NamedTuple):
    """Sizes, times and weights, by rising size."""

    x: Vector
    times: Vector
    weights: Vector

    def squares(self, line: LinearPiece) -> float:
        """Weighted residuals of the line."""
        return float((self.weights * (self.times - line.constant_s - line.per_byte_s * self.x) ** 2).sum())


def _points(sizes: ArrayLike, time_s: ArrayLike, envelope_bytes: float, relative_to_s: ArrayLike | None) -> _Points:
    order = np.argsort(np.asarray(sizes, dtype=float))
    times = np.asarray(time_s, dtype=float)[order]
    whole = times if relative_to_s is None else np.asarray(relative_to_s, dtype=float)[order]
    return _Points(np.asarray(sizes, dtype=float)[order] + envelope_bytes, times, np.maximum(whole, SMALLEST_S) ** -2.0)


def _errors(at: Vector, times: Vector, weight: Vector, slope_min: float) -> Vector:
    """Sum of squared relative errors of the best line through sizes i to j, inclusive, at [i, j]."""
    n = len(at)
    table = np.full((n, n), np.inf)
    for first in range(n):
        x, y = at[first:], times[first:] - slope_min * at[first:]
        weights = weight[first:]
        w, wx, wxx = (np.cumsum(weights * x**power) for power in (0, 1, 2))
        wy, wxy, wyy = np.cumsum(weights * y), np.cumsum(weights * x * y), np.cumsum(weights * y * y)
        constant, slope = _solved(w, wx, wxx, wy, wxy)
        squares = wyy - 2 * (constant * wy + slope * wxy) + constant**2 * w + 2 * constant * slope * wx + slope**2 * wxx
        count = np.arange(1, n - first + 1)
        table[first, first:] = np.where(count >= min(POINTS_MIN, n), np.maximum(squares, 0.0), np.inf)
    return table


def _solved(w: Vector, wx: Vector, wxx: Vector, wy: Vector, wxy: Vector) -> tuple[Vector, Vector]:
    """Least squares of many lines at once, with neither constant nor slope below 0."""
    determinant = w * wxx - wx * wx
    is_line = determinant > 1e-12 * w * wxx
    with np.errstate(divide="ignore", invalid="ignore"):
        constant = np.where(is_line, (wxx * wy - wx * wxy) / determinant, wy / w)
        slope = np.where(is_line, (w * wxy - wx * wy) / determinant, 0.0)
        only_slope = np.where(wxx > 0, wxy / wxx, 0.0)
    falls = slope < 0
    begins_below = ~falls & (constant < 0)
    constant = np.where(falls, wy / w, np.where(begins_below, 0.0, constant))
    slope = np.where(falls, 0.0, np.where(begins_below, only_slope, slope))
    return np.maximum(constant, 0.0), np.maximum(slope, 0.0)


def _line(points: _Points, slope_min: float, slope: float | None = None) -> LinearPiece:
    """The best line; with a fixed slope if one is passed."""
    x, y, weights = points.x, points.times - slope_min * points.x, points.weights
    sums = [np.array([np.sum(term)]) for term in (weights, weights * x, weights * x * x, weights * y, weights * x * y)]
    (constant,), (above_min,) = _solved(*sums)
    if slope is not None:
        above_min = slope - slope_min
        constant = max(float((weights * (y - above_min * x)).sum() / weights.sum()), 0.0)
    line = LinearPiece(0.0, float(constant), float(above_min) + slope_min, n_sizes=len(x))
    has_constant, has_slope = bool(constant > 0), bool(above_min > 0 and slope is None)
    columns = np.stack([np.ones_like(x), x])[[has_constant, has_slope]]
    n_free = len(x) - len(columns)
    curvature = (columns * weights) @ columns.T
    if n_free < 1 or not len(columns) or np.linalg.det(curvature) <= 0:
        return line
    variance = points.squares(line) / n_free
    half_widths = iter(_t_quantile(n_free) * np.sqrt(variance * np.diag(np.linalg.inv(curvature))))
    return replace(
        line,
        constant_half_width_s=float(next(half_widths)) if has_constant else math.nan,
        per_byte_half_width_s=float(next(half_widths)) if has_slope else math.nan,
    )


def _t_quantile(n_free: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n_free, (1 + _CONFIDENCE) / 2))


# ---- number and positions ----


def _chosen(errors: Vector, pieces_max: int) -> list[tuple[int, int]]:
    """First and last index of each piece."""
    n = len(errors)
    n_pieces_max = max(1, min(pieces_max, n // POINTS_MIN))
    best, before = [errors[0]], []
    for _ in range(n_pieces_max - 1):
        ways = best[-1][:-1, None] + errors[1:, :]  # the last piece begins at 1 + row
        before.append(np.argmin(ways, axis=0) + 1)
        best.append(np.min(ways, axis=0))
    criteria = [
        n * math.log(float(total[-1]) / n + RESOLUTION**2) + 3 * (k + 1) * math.log(n)
        if np.isfinite(total[-1])
        else np.inf
        for k, total in enumerate(best)
    ]
    k, end = int(np.argmin(criteria)), n
    ranges = []
    while k:
        first = int(before[k - 1][end - 1])
        ranges.append((first, end))
        k, end = k - 1, first
    return [(0, end), *reversed(ranges)]
