"""Costs of a rank's own work on the data of its messages: copies, reductions, page faults, blocks of a datatype."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from smpy.calibrate.network.samples import Samples
from smpy.units import rounded_bandwidth, rounded_time

_PAGE_BYTES: Final = 4096
_HUGE_PAGE_BYTES: Final = 2 << 20
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class OwnDataCosts:
    """Costs that were measured; None for one that was not.

    Parameters
    ----------
    reduction_byte_s, own_copy_byte_s : float or None
        Time of a byte.
    block_s, page_fault_s, huge_page_fault_s : float or None
        Time of a block, of a page of 4 KiB and of a huge one of 2 MiB.
    """

    reduction_byte_s: float | None
    own_copy_byte_s: float | None
    block_s: float | None
    page_fault_s: float | None
    huge_page_fault_s: float | None

    def keys(self) -> dict[str, str]:
        """Keys of [mpi] in a machine file."""
        bandwidths = {"reduction_bandwidth": self.reduction_byte_s, "own_copy_bandwidth": self.own_copy_byte_s}
        times = {"block": self.block_s, "page_fault": self.page_fault_s, "huge_page_fault": self.huge_page_fault_s}
        written = {key: rounded_bandwidth(1 / byte_s, _DIGITS) for key, byte_s in bandwidths.items() if byte_s}
        return written | {key: rounded_time(time_s, "us", _DIGITS) for key, time_s in times.items() if time_s}


def fit_own_data(samples: Samples) -> OwnDataCosts:
    """Costs from samples, each of medians over the repetitions.

    The time of a byte is the slope between the smallest and the largest size that caches may hold, which leaves out the
    cost of a call. The time of a page is the difference of copies into untouched and touched memory.
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
    _, blocks = samples.medians("blocks")
    return OwnDataCosts(
        reduction_byte_s=_byte_s(*samples.medians("reduce")),
        own_copy_byte_s=_byte_s(*(each[copy_sizes < max(cold, default=np.inf)] for each in (copy_sizes, copy_times))),
        block_s=float(blocks[0]) if len(blocks) else None,
        page_fault_s=page_fault_s,
        huge_page_fault_s=huge_page_fault_s,
    )


def _byte_s(sizes: np.ndarray, times: np.ndarray) -> float | None:
    """Time of a byte: the slope between the smallest and the largest size."""
    if len(sizes) < 2:  # the points of a line
        return None
    slope = (times[-1] - times[0]) / (sizes[-1] - sizes[0])
    return float(slope) if slope > 0 else None
