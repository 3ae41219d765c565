"""The time that ranks spend in a region of a program, with their threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smpy.analysis.spans import merge_spans
from smpy.analysis.timeline import WORK, Timeline, floats, words_by_number
from smpy.analysis.windows import Windows, pieces_of
from smpy.errors import UsageError, meant
from smpy.records.threads import locations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.records.trace import Trace


def computing_in_region(trace: Trace, timeline: Timeline, region: str) -> tuple[NDArray[np.float64], float]:
    """Time that each rank computes in a region, and the longest time that a rank was in it, by any of its threads.

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
        Time that each rank computed in it, or waited there for its device.
    time_s : float
        Longest time of a rank in it.

    Raises
    ------
    UsageError
        If the trace has no such region.
    """
    visits = _visits(trace)
    if region not in visits:
        known = list(visits)
        there = f"; it has {', '.join(known)}" if known else ": its program names none"
        raise UsageError(f"{trace.folder} has no region {region!r}{meant(region, known)}{there}")
    location, start_s, end_s = visits[region]
    rank = timeline.rank_of[location]
    computing_s, inside_s = np.zeros(timeline.n_ranks), np.zeros(timeline.n_ranks)
    for r in np.unique(rank).tolist():
        spans = merge_spans(start_s[rank == r], end_s[rank == r])
        inside_s[r] = float((spans[:, 1] - spans[:, 0]).sum())
        its_locations = np.unique(location[rank == r]).tolist()
        parts = [
            _computing(timeline, o, merge_spans(start_s[location == o], end_s[location == o])) for o in its_locations
        ]
        computing = parts[0] if len(parts) == 1 else merge_spans(*np.concatenate(parts).T)
        computing_s[r] = float((computing[:, 1] - computing[:, 0]).sum())
    return computing_s, float(inside_s.max())


_Visits = tuple["NDArray[np.int64]", "NDArray[np.float64]", "NDArray[np.float64]"]


def _visits(trace: Trace) -> dict[str, _Visits]:
    """Locations (`threads`) that were in each region, and the dates of begin and end."""
    visits: dict[str, list[_Visits]] = {}
    for table in (trace.table(name) for name in ("regions", "thread_regions") if trace.n_rows(name)):
        numbers, names = words_by_number(table["name"])
        location, start_s, end_s = locations(trace, table), floats(table["start_s"]), floats(table["end_s"])
        for number, name in enumerate(names):
            mine = numbers == number
            visits.setdefault(name, []).append((location[mine], start_s[mine], end_s[mine]))
    return {
        name: (np.concatenate(location), np.concatenate(start_s), np.concatenate(end_s))
        for name, (location, start_s, end_s) in ((name, zip(*parts, strict=True)) for name, parts in visits.items())
    }


def _computing(timeline: Timeline, location: int, spans: NDArray[np.float64]) -> NDArray[np.float64]:
    """[n_parts, 2] dates between which a location computes or waits for its device in spans that do not overlap."""
    first, last = int(timeline.first[location]), int(timeline.first[location + 1])
    low = first + np.searchsorted(timeline.end_s[first:last], spans[:, 0], side="right")
    high = first + np.searchsorted(timeline.start_s[first:last], spans[:, 1], side="left")
    windows = Windows(np.arange(len(spans)), low, np.maximum(low, high), spans[:, 0], spans[:, 1])
    parts = pieces_of(timeline, windows)
    computes = np.isin(timeline.kind[parts.what], WORK)
    start_s = np.maximum(timeline.start_s[parts.what], spans[parts.location, 0])[computes]
    return np.stack([start_s, start_s + parts.seconds[computes]], axis=1)
