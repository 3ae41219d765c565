"""Time of ranks by label within windows: interval by interval, or from running sums for wide windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.analysis.timeline import Timeline


class Windows(NamedTuple):
    """Windows: intervals low to high - 1 of a rank or thread, cut at the dates where the window begins and ends.

    Parameters
    ----------
    location : (n_windows,) array of int
        Item that each window is for.
    low, high : (n_windows,) array of int
        Intervals.
    since_s, until_s : (n_windows,) array of float
        Dates.
    """

    location: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    since_s: NDArray[np.float64]
    until_s: NDArray[np.float64]

    def where(self, mask: NDArray[np.bool_]) -> Windows:
        """A selection of the windows."""
        low, high = self.low[mask], self.high[mask]
        return Windows(self.location[mask], low, high, self.since_s[mask], self.until_s[mask])


class Pieces(NamedTuple):
    """Parts of windows.

    Parameters
    ----------
    location : (n_pieces,) array of int
        Item that the window is for.
    what : (n_pieces,) array of int
        An interval; or a label of time.
    seconds : (n_pieces,) array of float
        Part of it that lies in the window.
    """

    location: NDArray[np.int64]
    what: NDArray[np.int64]
    seconds: NDArray[np.float64]


def pieces_of(timeline: Timeline, windows: Windows) -> Pieces:
    """Every pair of an interval and a window that contains it.

    Parameters
    ----------
    timeline : Timeline
        Intervals of all ranks.
    windows : Windows
        Windows to cut; takes time in proportion to their intervals.
    """
    n = windows.high - windows.low
    interval = np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n - windows.low, n)
    start_s = np.maximum(timeline.start_s[interval], np.repeat(windows.since_s, n))
    end_s = np.minimum(timeline.end_s[interval], np.repeat(windows.until_s, n))
    return Pieces(np.repeat(windows.location, n), interval, np.maximum(end_s - start_s, 0.0))


def sums_of(timeline: Timeline, windows: Windows, label: NDArray[np.int64]) -> Pieces:
    """Time of each label in each window.

    Parameters
    ----------
    timeline : Timeline
        Intervals of all ranks.
    windows : Windows
        Windows, none without an interval; takes time in proportion to these and all their ranks' intervals, times the
        labels of a rank.
    label : (n_intervals,) array of int
        Label of each interval.
    """
    location = np.searchsorted(timeline.first, windows.low, side="right") - 1
    order = np.argsort(location, kind="stable")
    pieces: list[Pieces] = []
    for mine in np.split(order, np.flatnonzero(np.diff(location[order])) + 1) if len(order) else []:
        first, last = int(timeline.first[location[mine[0]]]), int(timeline.first[location[mine[0]] + 1])
        low, high = windows.low[mine] - first, windows.high[mine] - first
        its_label = label[first:last]
        duration_s = timeline.end_s[first:last] - timeline.start_s[first:last]
        before_s = np.maximum(windows.since_s[mine] - timeline.start_s[first:last][low], 0.0)
        after_s = np.maximum(timeline.end_s[first:last][high - 1] - windows.until_s[mine], 0.0)
        for each in np.unique(its_label).tolist():
            has_it = its_label == each
            until_s = np.concatenate([[0.0], np.cumsum(np.where(has_it, duration_s, 0.0))])
            cut_s = np.where(has_it[low], before_s, 0.0) + np.where(has_it[high - 1], after_s, 0.0)
            seconds = until_s[high] - until_s[low] - cut_s
            pieces.append(Pieces(windows.location[mine], np.full(len(mine), each), np.maximum(seconds, 0.0)))
    return concatenate_pieces(pieces)


def concatenate_pieces(pieces: list[Pieces]) -> Pieces:
    """Concatenation of pieces.

    Parameters
    ----------
    pieces : list of Pieces
        Pieces to put together.
    """
    if not pieces:
        return Pieces(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return Pieces(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))
