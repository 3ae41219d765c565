"""Spread of repeated measurements, in which a single one cannot be predicted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def relative_spread(repetitions: Iterable[Sequence[float]]) -> float:
    """Median over measurements of half the interquartile range of their repetitions, over their median.

    Parameters
    ----------
    repetitions : iterable of sequence of float
        Times of the repetitions of each measurement, in seconds.

    Returns
    -------
    float
        NaN if nothing was repeated.

    Examples
    --------
    >>> round(relative_spread([(1.0, 1.1, 1.2), (2.0, 2.0, 2.0), (3.0, 4.0, 5.0), (7.0,)]), 4)
    0.0455
    """
    shares = []
    for times_s in repetitions:
        low, middle, high = np.quantile(times_s, (0.25, 0.5, 0.75))
        if len(times_s) > 1 and middle > 0:
            shares.append((high - low) / 2 / middle)
    return float(np.median(shares)) if shares else float("nan")
