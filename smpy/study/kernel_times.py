"""Kernels of a study's points: the time of a mean rank in each, and the counters of the processor there.

Times are those of profiles, or of traces where there are no profiles; counters are those of imported traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from smpy.analysis.timeline import COMPUTE, read_timeline
from smpy.errors import UsageError
from smpy.records.time_words import KIND_WORDS
from smpy.records.trace import Trace
from smpy.records.whole_runs import check_performed
from smpy.study.export import profile_times
from smpy.study.model_points import ModelPoints

if TYPE_CHECKING:
    from numpy.typing import NDArray

Counters = Mapping[tuple[str, str], float]
"""Growth of counters in a mean rank, by kernel and counter."""

_MISSES_AND_ACCESSES: Final = (("PAPI_L3_TCM", "PAPI_L3_TCA"), ("PAPI_L2_TCM", "PAPI_L2_TCA"))
_SAME_REGIME: Final = 1e-4


def kernel_times(points: ModelPoints) -> list[list[dict[str, float]]]:
    """Seconds that a mean rank computes in each kernel, of each repetition of each point.

    Raises
    ------
    UsageError
        If a point has neither a profile nor a trace, or its iterations were skipped.
    """
    if not points.keep("profile") and points.keep("trace"):
        return [[_traced(trace) for trace in traces] for traces in points.traces()]
    records = points.records("profile", 'write keep = ["profile"] in its file')
    if any(record.get("skipped_s") for runs in records for record in runs):
        raise UsageError("kernels of skipped iterations have no time: run the study without its option iterations")
    times = []
    for rows in points.rows:
        runs = zip(rows["profile"], rows["ranks"], strict=True)
        times.append([_profiled(points.table.folder / name, n_ranks) for name, n_ranks in runs])
    return times


def kernel_counters(points: ModelPoints) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Growth of counters in a mean rank at each point, by kernel and counter, of those that all traces have."""
    runs = [[_counted(trace) for trace in traces] for traces in points.traces()]
    every = [counts for of_point in runs for counts in of_point]
    keys = [key for key in every[0] if all(key in counts for counts in every)] if every else []
    return {key: np.array([float(np.mean([counts[key] for counts in of_point])) for of_point in runs]) for key in keys}


def _profiled(path: Path, n_ranks: int) -> dict[str, float]:
    prefix = f"{KIND_WORDS['compute']}->"
    times_s = profile_times(path, n_ranks)
    return {name.removeprefix(prefix): s for name, s in times_s.items() if name.startswith(prefix)}


def _traced(trace: Trace) -> dict[str, float]:
    """Seconds that a mean rank computes in each kernel, or in each region of an imported trace."""
    check_performed(trace, "have the time of its kernels")
    timeline = read_timeline(trace, with_messages=False)
    is_computing = timeline.kind == COMPUTE
    seconds = np.bincount(
        timeline.place[is_computing], timeline.duration_s()[is_computing], minlength=len(timeline.places)
    )
    times_s: dict[str, float] = {}
    for place, spent_s in zip(timeline.places, (seconds / trace.n_ranks).tolist(), strict=True):
        if place.is_kernel and spent_s:
            times_s[place.call] = times_s.get(place.call, 0.0) + spent_s
    return times_s


def _counted(trace: Trace) -> Counters:
    """Growth of each counter while a mean rank computes in each kernel; empty: the trace has none."""
    counts: dict[tuple[str, str], float] = {}
    if trace.n_rows("counters"):
        for row in trace.table("counters").to_pylist():
            if row["region"]:
                key = row["region"], row["name"]
                counts[key] = counts.get(key, 0.0) + row["value"] / trace.n_ranks
    return counts


def cache_flags(counters: Mapping[tuple[str, str], NDArray[np.float64]]) -> list[str]:
    """Sentences on kernels whose share of cache misses differs between points: no formula goes from one to the other.

    Parameters
    ----------
    counters : mapping of (str, str) to array of float
        Counters of each point, as of `kernel_counters`.
    """
    flags = []
    for kernel in dict.fromkeys(kernel for kernel, _ in counters):
        for misses, accesses in _MISSES_AND_ACCESSES:
            missed, accessed = counters.get((kernel, misses)), counters.get((kernel, accesses))
            if missed is None or accessed is None or not accessed.all():
                continue
            shares = missed / accessed
            if np.ptp(shares) > _SAME_REGIME:
                flags.append(
                    f"{kernel} has another cache regime at some points: {shares.min():.2%} to {shares.max():.2%} of "
                    "its accesses miss."
                )
            break
    return flags
