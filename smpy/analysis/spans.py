"""Spans of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def merge_spans(start_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same time as spans that do not overlap.

    Parameters
    ----------
    start_s, end_s : (n_spans,) array of float
        Dates; at least one span.

    Returns
    -------
    (n_spans, 2) array of float
        Dates, in order.
    """
    order = np.argsort(start_s, kind="stable")
    start_s, until_s = start_s[order], np.maximum.accumulate(end_s[order])
    begins = np.flatnonzero(np.append(True, start_s[1:] > until_s[:-1]))
    ends = np.append(begins[1:] - 1, len(start_s) - 1)
    return np.stack([start_s[begins], until_s[ends]], axis=1)
