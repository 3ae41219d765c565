"""The roofline of a core: its bandwidth for a working set, in its caches or in the memory of its host.

The bandwidth of a working set is a table of measured points, interpolated on logarithmic axes, and a second one is of
random addresses (machine profiles of Carrington, Snavely & Wolter 2006; the roofline itself is Williams, Waterman &
Patterson's, 2009).
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
    return _between(low, high, below.size_bytes, caches[above].size_bytes, working_set_bytes)


def random_access_bytes_per_s(memory: Memory, working_set_bytes: float) -> float:
    """Rate of a core at random addresses of a working set; 0 if it is not known.

    Up to the smallest working set it is that one's rate, beyond the largest one, or for a set of 0 bytes, which is one
    of unknown size, the last; between two it is interpolated, linear in logarithms.

    Parameters
    ----------
    memory : Memory
        Memory of the core's host.
    working_set_bytes : float
        Size of the memory in which the addresses are.

    Examples
    --------
    >>> from smpy.platforms import RandomAccess
    >>> memory = Memory(random_access=(RandomAccess(1e4, 4e9), RandomAccess(1e6, 1e9)))
    >>> [round(random_access_bytes_per_s(memory, size) / 1e9, 3) for size in (1e3, 1e5, 1e6, 2e6, 0)]
    [4.0, 2.0, 1.0, 1.0, 1.0]
    """
    points = memory.random_access
    if not points:
        return 0.0
    above = bisect_left(points, working_set_bytes, key=lambda point: point.working_set_bytes)
    if working_set_bytes == 0 or above == len(points):
        return points[-1].core_bytes_per_s
    high = points[above]
    if above == 0:
        return high.core_bytes_per_s
    low = points[above - 1]
    return _between(
        *(low.core_bytes_per_s, high.core_bytes_per_s),
        *(low.working_set_bytes, high.working_set_bytes, working_set_bytes),
    )


def main_memory_bytes_per_s(memory: Memory, n_threads: int) -> float:
    """Bandwidth of main memory for threads on cores of their own while no other core uses it; 0 if not known."""
    bytes_per_s, host_bytes_per_s = n_threads * memory.alone_bytes_per_s, memory.bandwidth_bytes_per_s
    return min(bytes_per_s, host_bytes_per_s) if host_bytes_per_s else bytes_per_s


def _between(low: float, high: float, below_bytes: float, above_bytes: float, size_bytes: float) -> float:
    """Rate at a size between two sizes with the rates `low` and `high`, linear in logarithms."""
    way = log(size_bytes / below_bytes) / log(above_bytes / below_bytes)
    return float(low * (high / low) ** way)
