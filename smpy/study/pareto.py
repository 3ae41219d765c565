"""The Pareto front: points that no other point beats in one respect and at least matches in the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pareto_front(x: ArrayLike, y: ArrayLike) -> NDArray[np.bool_]:
    """Whether each point is on the Pareto front, where less is better in both respects [1]_.

    A point is on the front unless another point has one smaller number and the other at most equal. So equal points
    are all on it, or none is. A point without a number (NaN) is on no front.

    Parameters
    ----------
    x, y : (n,) array_like
        The two numbers of each point.

    Returns
    -------
    (n,) ndarray of bool
        Whether each point is on it.

    References
    ----------
    .. [1] H. T. Kung, F. Luccio, F. P. Preparata, "On finding the maxima of a set of vectors", JACM 22 (4), 1975.

    Examples
    --------
    >>> pareto_front([1, 2, 3, 3], [9, 4, 4, 1]).tolist()
    [True, True, False, True]
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    is_known = ~(np.isnan(x) | np.isnan(y))
    order = np.flatnonzero(is_known)[np.lexsort((y[is_known], x[is_known]))]
    on_front = np.zeros(len(x), dtype=bool)
    if not len(order):
        return on_front
    xs, ys = x[order], y[order]
    is_first = np.concatenate(([True], xs[1:] != xs[:-1]))  # among points of equal x: has the least y
    first = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    least_before = np.concatenate(([np.inf], np.minimum.accumulate(ys)[:-1]))[first]  # least y where x is smaller
    has_none_before = first == 0
    on_front[order] = (ys == ys[first]) & (has_none_before | (ys < least_before))
    return on_front
