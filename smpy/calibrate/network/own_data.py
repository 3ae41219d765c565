"""Costs of a rank's own work on the data of its messages: copies, reductions, page faults, blocks of a datatype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from smpy.calibrate.network.samples import Samples
from smpy.units import exact_size, rounded_bandwidth, rounded_time

_PAGE_BYTES: Final = 4096
_HUGE_PAGE_BYTES: Final = 2 << 20
_DIGITS: Final = 4
_SAME: Final = 1.05  # ratio of costs that count as one


@dataclass(frozen=True, slots=True)
class OwnDataCosts:
    """Costs that were measured; None, or empty, for one that was not.

    Parameters
    ----------
    reduction_byte_s : float or None
        Time of a byte.
    own_copy_byte_s, block_s : dict of float to float
        Time of a byte by the size of the copy, and of a block by the memory that the blocks span, from these sizes on.
    page_fault_s, huge_page_fault_s : float or None
        Time of a page of 4 KiB and of a huge one of 2 MiB.
    """

    reduction_byte_s: float | None
    own_copy_byte_s: Mapping[float, float]
    block_s: Mapping[float, float]
    page_fault_s: float | None
    huge_page_fault_s: float | None

    def keys(self) -> dict[str, object]:
        """Keys of [mpi] in a machine file."""
        written: dict[str, object] = {}
        if self.reduction_byte_s:
            written["reduction_bandwidth"] = rounded_bandwidth(1 / self.reduction_byte_s, _DIGITS)
        if self.own_copy_byte_s:
            written["own_copy_bandwidth"] = _by_size(
                {size: rounded_bandwidth(1 / byte_s, _DIGITS) for size, byte_s in self.own_copy_byte_s.items()}
            )
        if self.block_s:
            written["block"] = _by_size(
                {size: rounded_time(time_s, "us", _DIGITS) for size, time_s in self.block_s.items()}
            )
        times = {"page_fault": self.page_fault_s, "huge_page_fault": self.huge_page_fault_s}
        return written | {key: rounded_time(time_s, "us", _DIGITS) for key, time_s in times.items() if time_s}


def fit_own_data(samples: Samples) -> OwnDataCosts:
    """Costs from samples, each of medians over the repetitions.

    The time of a byte of a reduction is the slope between the smallest and the largest size, which leaves out the cost
    of a call. The time of a page is the difference of copies into untouched and touched memory.
    """
    cold = dict(zip(*samples.medians("cold"), strict=True))
    copy_sizes, copy_times = samples.medians("copy")
    warm = dict(zip(copy_sizes, copy_times, strict=True))
    longer = {int(size): max(time_s - warm[size], 0.0) for size, time_s in sorted(cold.items()) if size in warm}
    page_fault_s = huge_page_fault_s = None
    if longer:
        small, large = min(longer), max(longer)
        page_fault_s = longer[small] / (small / _PAGE_BYTES)
        huge_page_fault_s = longer[large] / (large / _HUGE_PAGE_BYTES) if large > small else None
    return OwnDataCosts(
        reduction_byte_s=_byte_s(*samples.medians("reduce")),
        own_copy_byte_s=_rising_steps(copy_sizes, copy_times / copy_sizes),
        block_s=_rising_steps(*samples.medians("blocks")),
        page_fault_s=page_fault_s,
        huge_page_fault_s=huge_page_fault_s,
    )


def _by_size(texts: Mapping[float, str]) -> object:
    """Value of a key: the text of each size from which it holds, or the only text."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return {exact_size(size) if size else "0": text for size, text in texts.items()}


def _rising_steps(sizes: np.ndarray, costs: np.ndarray) -> dict[float, float]:
    """Costs that rise with the size, each from the geometric mean of two sizes on.

    A small size with a higher cost than a larger one has the latter: the cost of the call is part of its time.
    """
    steps: dict[float, float] = {}
    rising = np.minimum.accumulate(costs[::-1])[::-1]
    for i, cost in enumerate(rising):
        if cost > _SAME * next(reversed(steps.values()), 0.0):
            steps[float(round(np.sqrt(sizes[i - 1] * sizes[i]))) if steps else 0.0] = float(cost)
    return steps


def _byte_s(sizes: np.ndarray, times: np.ndarray) -> float | None:
    """Time of a byte: the slope between the smallest and the largest size."""
    if len(sizes) < 2:  # the points of a line
        return None
    slope = (times[-1] - times[0]) / (sizes[-1] - sizes[0])
    return float(slope) if slope > 0 else None
