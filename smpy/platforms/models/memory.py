"""The memory of a host: bandwidths of its cores together, alone, in their caches, and at random addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, log
from typing import Final

from smpy.errors import PlatformError
from smpy.units import format_bytes

USUAL_BANDWIDTH_BYTES_PER_S: Final = 2 * 378e9  # of two sockets of DDR5-4800: see default_cluster.py
COPY_BANDWIDTH_BYTES_PER_S: Final = 10e9
"""Bandwidth at which a core copies if its memory bandwidth is unknown: MPICH 5.0 reaches 10.8 GB/s between two cores.
"""

ACCESSES_OF_A_MESSAGE: Final = 4  # memory accesses per byte: two copies, each with a read and a write


@dataclass(frozen=True, slots=True)
class Cache:
    """A level of a core's caches.

    Parameters
    ----------
    size_bytes : float
        The largest working set of a core that stays in it: of a cache that cores share, a core's part.
    core_bandwidth_bytes_per_s : float
        Bandwidth of one core from and to the cache, whatever the other cores do.
    """

    size_bytes: float
    core_bandwidth_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """A cache of the hardware.

    Parameters
    ----------
    size_bytes : float
        Its whole size.
    n_cores : int
        Number of cores that share it.
    """

    size_bytes: float
    n_cores: int


@dataclass(frozen=True, slots=True)
class RandomAccess:
    """Rate at which one core reads words of 8 bytes at random addresses of a working set.

    Parameters
    ----------
    working_set_bytes : float
        Size of the memory in which the addresses are.
    core_bytes_per_s : float
        Bytes of the words that a core reads a second.
    """

    working_set_bytes: float
    core_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory bandwidths of a host and of its cores; 0 if unknown.

    Parameters
    ----------
    bandwidth_bytes_per_s : float
        Bandwidth of its main memory, which all its cores share.
    core_bandwidth_bytes_per_s : float
        Largest bandwidth of main memory that one core gets, even alone.
    caches : tuple of Cache
        Caches by rising size; a working set larger than the last one is in main memory.
    measured_messages_bytes_per_s : float
        Bandwidth of all messages inside the host together, if it was measured.
    random_access : tuple of RandomAccess
        Rates of a core at random addresses, by rising working set; a larger set than the last has its rate.
    cache_levels : tuple of CacheLevel
        Caches of the hardware, by rising size: how much more of them a core has while others are idle.
    """

    bandwidth_bytes_per_s: float = 0.0
    core_bandwidth_bytes_per_s: float = 0.0
    caches: tuple[Cache, ...] = ()
    measured_messages_bytes_per_s: float = 0.0
    random_access: tuple[RandomAccess, ...] = ()
    cache_levels: tuple[CacheLevel, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether moving bytes of main memory takes time: its bandwidth, or that of one core, is known."""
        return bool(self.bandwidth_bytes_per_s or self.core_bandwidth_bytes_per_s)

    @property
    def alone_bytes_per_s(self) -> float:
        """Bandwidth of main memory for one core while the others do not use it; 0 if unknown."""
        return self.core_bandwidth_bytes_per_s or self.bandwidth_bytes_per_s

    def crowded_bytes(self, working_set_bytes: float, n_busy_cores: int) -> float:
        """Working set that caches hold as well while all cores are busy: `caches` and `random_access` tell its rate.

        Busy cores fill one shared cache after the other. A cache that four cores share serves a set of 8 MiB while two
        of them are busy as it serves one of 4 MiB while all are.

        Examples
        --------
        >>> memory = Memory(cache_levels=(CacheLevel(2.0**20, 1), CacheLevel(2.0**25, 2)))
        >>> [memory.crowded_bytes(size * 2.0**20, n) / 2**20 for size, n in ((1, 1), (32, 1), (16, 2), (64, 1))]
        [1.0, 16.0, 16.0, 64.0]
        """
        parts = [(level.size_bytes / min(level.n_cores, n_busy_cores), level) for level in self.cache_levels]
        return core_part_bytes(working_set_bytes, [(part, level.size_bytes / level.n_cores) for part, level in parts])

    @property
    def messages_bytes_per_s(self) -> float:
        """Bandwidth of all messages inside the host together; if it was not measured, what its memory carries.

        The sender copies a message into memory that both ranks share, and the receiver copies it out [1]_. Each copy
        reads a byte and writes one, as in STREAM, which measures bandwidths of memory [2]_.

        References
        ----------
        .. [1] Buntinas, Mercier, Gropp, "Implementation and evaluation of shared-memory communication and
           synchronization operations in MPICH2 using the Nemesis communication subsystem", Parallel Computing 33, 2007.
        .. [2] McCalpin, "Memory bandwidth and machine balance in current high performance computers", 1995.

        Examples
        --------
        >>> Memory(400e9).messages_bytes_per_s
        100000000000.0
        """
        if self.measured_messages_bytes_per_s:
            return self.measured_messages_bytes_per_s
        return (self.bandwidth_bytes_per_s or USUAL_BANDWIDTH_BYTES_PER_S) / ACCESSES_OF_A_MESSAGE

    def check(self) -> None:
        """Refuse impossible numbers.

        Raises
        ------
        PlatformError
            If one is out of range, or caches do not grow.
        """
        for what, bandwidth in (
            ("memory", self.bandwidth_bytes_per_s),
            ("memory of a core", self.core_bandwidth_bytes_per_s),
            ("messages of a host", self.measured_messages_bytes_per_s),
        ):
            if not 0 <= bandwidth < inf:
                raise PlatformError(
                    f"{what} has a bandwidth of {bandwidth:g} bytes/s: give one, or 0 if it is not known"
                )
        if 0 < self.bandwidth_bytes_per_s < self.core_bandwidth_bytes_per_s:
            raise PlatformError(
                f"one core has a memory bandwidth of {format_bytes(self.core_bandwidth_bytes_per_s)}/s, and all cores "
                f"of the host have {format_bytes(self.bandwidth_bytes_per_s)}/s together: it cannot be more"
            )
        _check_rising(
            [(cache.size_bytes, cache.core_bandwidth_bytes_per_s) for cache in self.caches],
            "a cache of {:g} bytes at {:g} bytes/s",
            "a cache of {} follows one of {}: list each size once, the smallest first",
        )
        _check_rising(
            [(point.working_set_bytes, point.core_bytes_per_s) for point in self.random_access],
            "random access to {:g} bytes at {:g} bytes/s",
            "random access to {} follows that to {}: list each working set once, the smallest first",
        )
        _check_rising(
            [(level.size_bytes, level.n_cores) for level in self.cache_levels],
            "a cache of {:g} bytes that {} cores share",
            "a cache of {} follows one of {}: list each size once, the smallest first",
        )


def _check_rising(points: Sequence[tuple[float, float]], point_text: str, order_text: str) -> None:
    """Refuse sizes that do not rise, and numbers that are not above 0 and finite."""
    for size_bytes, number in points:
        if not (0 < size_bytes < inf and 0 < number < inf):
            raise PlatformError(f"{point_text.format(size_bytes, number)}: both must be above 0 and finite")
    for (below_bytes, _), (above_bytes, _) in pairwise(points):
        if not below_bytes < above_bytes:
            raise PlatformError(order_text.format(format_bytes(above_bytes), format_bytes(below_bytes)))


def core_part_bytes(size_bytes: float, caches: Sequence[tuple[float, float]]) -> float:
    """A core's part of a working set; between two caches interpolated, linear in logarithms; beyond them all of it.

    Parameters
    ----------
    size_bytes : float
        The working set.
    caches : sequence of (float, float)
        Sizes of caches, rising, and of a core's part of each.
    """
    i = next((i for i, (whole, _) in enumerate(caches) if size_bytes <= whole), None)
    if i is None:
        return size_bytes
    (whole, part), below = caches[i], caches[i - 1][1] if i else 0.0
    if size_bytes == whole:
        return part
    if whole == part or part <= below:
        return min(size_bytes, part)
    if not below:
        return size_bytes * part / whole
    return float(below * (size_bytes / below) ** (log(part / below) / log(whole / below)))
