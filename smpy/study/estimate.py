"""How long points will take, from those that have ended: products of powers of what was varied."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from smpy.study.points import Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RIDGE: Final = 1e-2  # where points are few, exponents stay near 0
_SHORTEST_S: Final = 1e-3


def seconds_of(points: Sequence[Point], ended: Sequence[tuple[Point, float]]) -> NDArray[np.float64] | None:
    """Real time that each point will take, in seconds.

    Ridge regression of the logarithm of the time on the logarithms of the ranks and of axes of positive numbers, and on
    the values of all other axes.

    Parameters
    ----------
    points : sequence of Point
        Those to tell of.
    ended : sequence of (Point, float)
        Those that have ended, and how long each took.

    Returns
    -------
    array of float, [points], or None
        None: nothing has ended.
    """
    if not ended:
        return None
    features = _features([*(point for point, _ in ended), *points])
    known, wanted = features[: len(ended)], features[len(ended) :]
    log_s = np.log([max(wall_s, _SHORTEST_S) for _, wall_s in ended])
    mean = known.mean(axis=0)
    known, wanted = known - mean, wanted - mean
    ridge = _RIDGE * len(ended) * np.eye(known.shape[1])
    slopes = np.linalg.solve(known.T @ known + ridge, known.T @ (log_s - log_s.mean()))
    lowest, highest = log_s.min() - math.log(100), log_s.max() + math.log(100)  # beyond, nobody knows
    found: NDArray[np.float64] = np.exp(np.clip(log_s.mean() + wanted @ slopes, lowest, highest))
    residual = log_s - log_s.mean() - known @ slopes
    return found * float(np.mean(np.exp(residual)))  # the mean of what is not symmetric


def _features(points: Sequence[Point]) -> NDArray[np.float64]:
    columns = [np.log([float(point.ranks) for point in points])]
    for values in zip(*(point.values for point in points), strict=True):
        numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
        if len(numbers) == len(values) and min(numbers) > 0:
            columns.append(np.log([float(number) for number in numbers]))
        else:
            texts = [str(value) for value in values]
            columns += [np.array([float(text == one) for text in texts]) for one in dict.fromkeys(texts)]
    return np.stack(columns, axis=1)


def seconds_left(points: Sequence[Point], ended: Sequence[tuple[Point, float]], n_workers: int) -> float | None:
    """Real time until these points have ended, in seconds; None: nothing has ended yet."""
    found = seconds_of(points, ended)
    if found is None:
        return None
    return max(float(found.sum()) / n_workers, float(found.max(initial=0.0)))
