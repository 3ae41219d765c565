"""The roofline of a core: its bandwidth for a working set, in its caches or in the memory of its host.

The bandwidth of a working set is a table of measured points, interpolated on logarithmic axes (machine profiles of
Carrington, Snavely & Wolter 2006; the roofline itself is Williams, Waterman & Patterson's, 2009).
"""

from __future__ import annotations

from bisect import bisect_left
from math import log

from smpy.platforms.models.memory import Memory


def cache_bandwidth_bytes_per_s(memory: Memory, working_set_bytes: float) -> float:
    """Bandwidth of a core for a working set within its caches; 0 if the set is larger, or no bandwidth is known.

    Up to the size of the smallest cache it is that cache's bandwidth; between two sizes it is interpolated, linear in
    logarithms, and never rises. A working set of 0 bytes is one of unknown size: it is in memory.

    Parameters
    ----------
    memory : Memory
        Memory of the core's host.
    working_set_bytes : float
        Size of the memory that is read and written again and again.

    Examples
    --------
    >>> from smpy.platforms import Cache
    >>> memory = Memory(caches=(Cache(1e4, 4e11), Cache(1e6, 1e11)))
    >>> [round(cache_bandwidth_bytes_per_s(memory, size) / 1e11, 3) for size in (1e3, 1e4, 1e5, 1e6, 2e6)]
    [4.0, 4.0, 2.0, 1.0, 0.0]
    """
    caches = memory.caches
    if not caches or not 0 < working_set_bytes <= caches[-1].size_bytes:
        return 0.0
    above = bisect_left(caches, working_set_bytes, key=lambda cache: cache.size_bytes)
    bandwidths = [cache.core_bandwidth_bytes_per_s for cache in caches[: above + 1]]
    high = min(bandwidths)
    if above == 0 or caches[above].size_bytes == working_set_bytes:
        return high
    low, below = min(bandwidths[:-1]), caches[above - 1]
    way = log(working_set_bytes / below.size_bytes) / log(caches[above].size_bytes / below.size_bytes)
    return float(low * (high / low) ** way)
