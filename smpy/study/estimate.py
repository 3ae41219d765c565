"""Estimates of points' real time from points that have ended: products of powers of the varied quantities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from smpy.study.levels import numbers_of, text_of
from smpy.study.points import Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RIDGE: Final = 0.5  # keeps exponents near 0 where points are few
_SHORTEST_S: Final = 1e-3
_TEXTS_MAX: Final = 32  # values of an axis that has a fitted factor for each of them


def seconds_of(points: Sequence[Point], ended: Sequence[tuple[Point, float]]) -> NDArray[np.float64] | None:
    """Real time that each point will take, in seconds.

    Ridge regression of the logarithm of the time on the logarithms of the ranks and of axes of positive numbers, with
    or without a unit, and on the values of other axes that have few.

    Parameters
    ----------
    points : sequence of Point
        Points to estimate.
    ended : sequence of (Point, float)
        Points that have ended, and the real time of each.

    Returns
    -------
    array of float, [points], or None
        None: nothing has ended.
    """
    if not ended:
        return None
    features = _features([*(point for point, _ in ended), *points])
    known, others = features[: len(ended)], features[len(ended) :]
    log_s = np.log([max(wall_s, _SHORTEST_S) for _, wall_s in ended])
    mean = known.mean(axis=0)
    known, others = known - mean, others - mean
    ridge = _RIDGE * np.eye(known.shape[1])
    slopes = np.linalg.solve(known.T @ known + ridge, known.T @ (log_s - log_s.mean()))
    lowest, highest = log_s.min() - math.log(100), log_s.max() + math.log(100)  # stays near known times
    estimates_s: NDArray[np.float64] = np.exp(np.clip(log_s.mean() + others @ slopes, lowest, highest))
    residual = log_s - log_s.mean() - known @ slopes
    return estimates_s * float(np.mean(np.exp(residual)))  # scales medians to means: times are skewed


def _features(points: Sequence[Point]) -> NDArray[np.float64]:
    columns = [np.log([float(point.ranks) for point in points])]
    for values in zip(*(point.values for point in points), strict=True):
        texts = list(map(text_of, values))
        labels = list(dict.fromkeys(texts))
        numbers, _ = numbers_of(labels)
        if numbers and min(numbers) > 0:
            logarithms = dict(zip(labels, np.log(numbers), strict=True))
            columns.append(np.array([logarithms[text] for text in texts]))
        elif len(labels) <= _TEXTS_MAX:
            columns += [np.array([float(text == label) for text in texts]) for label in labels]
    return np.stack(columns, axis=1)


def seconds_left(points: Sequence[Point], ended: Sequence[tuple[Point, float]], n_workers: int) -> float | None:
    """Real time until these points have ended, in seconds; None: nothing has ended yet."""
    point_s = seconds_of(points, ended)
    if point_s is None:
        return None
    return max(float(point_s.sum()) / n_workers, float(point_s.max(initial=0.0)))
