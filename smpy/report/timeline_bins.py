"""Bins of a timeline: the kind of time, and the call, that took most of each, for bins of several widths.

Intervals of a block of rows are added tile by tile, in order of time. Bins that a later tile may still touch are
carried over, so that what is held does not grow with the trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOTHING: Final = 255  # kind of a bin in which nothing was recorded


_PART: Final = np.dtype([("row", "i8"), ("bin", "i8"), ("state", "i8"), ("spent", "f8")])


class BlockBins:
    """Bins of a block of rows.

    Parameters
    ----------
    n_rows : int
        Rows of the block.
    n_bins : int
        Number of the narrowest bins; those of each further level are twice as wide.
    n_levels : int
        Levels.
    window_s : tuple of float
        First and last date of the timeline.
    n_labels : int
        Number of labels of intervals.

    Attributes
    ----------
    kinds : list of ndarray of uint8
        [rows, bins] by level, the narrowest bins first: the kind with most time; `NOTHING`: there is none.
    labels : list of ndarray of int32
        The same: of this kind's intervals, the label with most time.
    """

    def __init__(self, n_rows: int, n_bins: int, n_levels: int, window_s: tuple[float, float], n_labels: int) -> None:
        self._n_bins, self._n_labels = n_bins, n_labels
        self._first_s = window_s[0]
        self._per_s = n_bins / (window_s[1] - window_s[0])
        shapes = [(n_rows, n_bins >> level) for level in range(n_levels)]
        self.kinds: Final = [np.full(shape, NOTHING, dtype=np.uint8) for shape in shapes]
        self.labels: Final = [np.zeros(shape, dtype=np.int32) for shape in shapes]
        self._parts = np.empty(0, dtype=_PART)

    def add(
        self,
        row: NDArray[np.int64],
        intervals: NDArray[Any],
        from_s: float,
        to_s: float,
        *,
        is_last: bool,
    ) -> None:
        """Add the parts of a tile's intervals that lie within its time; tiles come in order."""
        ends = [np.clip(intervals[name], from_s, to_s) - self._first_s for name in ("start_s", "end_s")]
        begin, end = (np.clip(dates_s * self._per_s, 0, self._n_bins) for dates_s in ends)
        first = np.minimum(begin.astype(np.int64), self._n_bins - 1)
        last = np.minimum(np.ceil(end).astype(np.int64), self._n_bins)
        count = np.maximum(last - first, 0)
        whose = np.repeat(np.arange(len(first)), count)
        at = first[whose] + np.arange(len(whose)) - np.repeat(np.cumsum(count) - count, count)
        spent = np.minimum(end[whose], at + 1) - np.maximum(begin[whose], at)
        is_some = spent > 0
        whose, at, spent = whose[is_some], at[is_some], spent[is_some]
        state = intervals["kind"].astype(np.int64) * self._n_labels + intervals["label"]
        parts = np.empty(len(whose), dtype=_PART)
        parts["row"], parts["bin"], parts["state"], parts["spent"] = row[whose], at, state[whose], spent
        self._parts = np.concatenate([self._parts, parts])
        widest = 1 << (len(self.kinds) - 1)
        n_complete = self._n_bins if is_last else int((to_s - self._first_s) * self._per_s) // widest * widest
        self._settle(n_complete)

    def _settle(self, n_complete: int) -> None:
        """Decide the bins before the given one, and carry the others over."""
        is_done = self._parts["bin"] < n_complete
        done, self._parts = self._parts[is_done], self._parts[~is_done]
        n_labels, n_states = self._n_labels, 256 * self._n_labels
        key, sums = _added_up((done["row"] * self._n_bins + done["bin"]) * n_states + done["state"], done["spent"])
        for level, (kinds, labels) in enumerate(zip(self.kinds, self.labels, strict=True)):
            if level:  # bins are twice as wide
                key, sums = _added_up((key // n_states >> 1) * n_states + key % n_states, sums)
            of_kind = _begins(key // n_labels)
            kind_key, kind_sums = key[of_kind] // n_labels, np.add.reduceat(sums, of_kind) if len(key) else sums
            most = _largest(_begins(kind_key // 256), kind_sums)
            kinds.reshape(-1)[kind_key[most] // 256] = kind_key[most] % 256
            is_most = np.zeros(len(of_kind), dtype=np.bool_)
            is_most[most] = True
            is_of_most = np.repeat(is_most, np.diff(of_kind, append=len(key)))
            chosen, its = key[is_of_most], sums[is_of_most]
            most = _largest(_begins(chosen // n_states), its)
            labels.reshape(-1)[chosen[most] // n_states] = chosen[most] % n_labels


def _added_up(key: NDArray[np.int64], values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Distinct keys in order, and the sum of each one's values."""
    order = np.argsort(key, kind="stable")
    key, values = key[order], values[order]
    begins = _begins(key)
    return key[begins], np.add.reduceat(values, begins) if len(begins) else values


def _begins(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices at which another group begins."""
    return np.flatnonzero(np.diff(group, prepend=-1))


def _largest(begins: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Index of the first largest value of each group, given where groups begin."""
    if not len(begins):
        return begins
    counts = np.diff(begins, append=len(values))
    is_largest = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, begins), counts))
    group = np.repeat(np.arange(len(begins)), counts)[is_largest]
    return is_largest[_begins(group)]
