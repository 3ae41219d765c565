"""The time that ranks spend in a region of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smpy.analysis.timeline import COMPUTE, Timeline, floats, integers, words_by_number
from smpy.errors import UsageError, meant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.records.trace import Trace


def computing_in_region(trace: Trace, timeline: Timeline, region: str) -> tuple[NDArray[np.float64], float]:
    """Time that each rank computes in a region, and the longest time that a rank was in it.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    timeline : Timeline
        Intervals of the trace.
    region : str
        Name that the program gave it.

    Returns
    -------
    computing_s : (n_ranks,) array of float
        Time that each rank computed in it.
    time_s : float
        Longest time of a rank in it.

    Raises
    ------
    UsageError
        If the trace has no such region.
    """
    table = trace.table("regions") if trace.n_rows("regions") else None
    numbers, known = words_by_number(table["name"]) if table is not None else (np.empty(0, np.int64), [])
    if table is None or region not in known:
        there = f"; it has {', '.join(known)}" if known else ": its program names none"
        raise UsageError(f"{trace.folder} has no region {region!r}{meant(region, known)}{there}")
    mine = numbers == known.index(region)
    rank = integers(table["rank"], np.int32, -1)[mine]
    start_s, end_s = floats(table["start_s"])[mine], floats(table["end_s"])[mine]
    end_s = np.where(np.isnan(end_s), trace.makespan_s, end_s)  # left open by a run that did not end
    computing_s, inside_s = np.zeros(timeline.n_ranks), np.zeros(timeline.n_ranks)
    for r in np.unique(rank).tolist():
        spans = _merged(start_s[rank == r], end_s[rank == r])
        its = slice(int(timeline.first[r]), int(timeline.first[r + 1]))
        dates_s = np.append(timeline.start_s[its], timeline.end_s[its][-1:])
        spent_s = np.where(timeline.kind[its] == COMPUTE, np.diff(dates_s), 0.0)
        until_s = np.concatenate([[0.0], np.cumsum(spent_s)])  # computing time until each date
        at_start, at_end = np.interp(spans[:, 0], dates_s, until_s), np.interp(spans[:, 1], dates_s, until_s)
        computing_s[r], inside_s[r] = float((at_end - at_start).sum()), float((spans[:, 1] - spans[:, 0]).sum())
    return computing_s, float(inside_s.max())


def _merged(start_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spans of time without overlap: a region may be nested in itself."""
    order = np.argsort(start_s, kind="stable")
    start_s, until_s = start_s[order], np.maximum.accumulate(end_s[order])
    begins = np.flatnonzero(np.append(True, start_s[1:] > until_s[:-1]))
    ends = np.append(begins[1:] - 1, len(start_s) - 1)
    return np.stack([start_s[begins], until_s[ends]], axis=1)
