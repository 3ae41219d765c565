"""The memory of a host: bandwidths of its cores together, alone, in their caches, and at random addresses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf
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
    """

    bandwidth_bytes_per_s: float = 0.0
    core_bandwidth_bytes_per_s: float = 0.0
    caches: tuple[Cache, ...] = ()
    measured_messages_bytes_per_s: float = 0.0
    random_access: tuple[RandomAccess, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether moving bytes of main memory takes time: its bandwidth, or that of one core, is known."""
        return bool(self.bandwidth_bytes_per_s or self.core_bandwidth_bytes_per_s)

    @property
    def alone_bytes_per_s(self) -> float:
        """Bandwidth of main memory for one core while the others do not use it; 0 if unknown."""
        return self.core_bandwidth_bytes_per_s or self.bandwidth_bytes_per_s

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
        for cache in self.caches:
            if not (0 < cache.size_bytes < inf and 0 < cache.core_bandwidth_bytes_per_s < inf):
                raise PlatformError(
                    f"a cache of {cache.size_bytes:g} bytes at {cache.core_bandwidth_bytes_per_s:g} bytes/s: both must "
                    "be above 0 and finite"
                )
        for below, above in pairwise(self.caches):
            if not below.size_bytes < above.size_bytes:
                raise PlatformError(
                    f"a cache of {format_bytes(above.size_bytes)} follows one of {format_bytes(below.size_bytes)}: "
                    "list each size once, the smallest first"
                )
        for point in self.random_access:
            if not (0 < point.working_set_bytes < inf and 0 < point.core_bytes_per_s < inf):
                raise PlatformError(
                    f"random access to {point.working_set_bytes:g} bytes at {point.core_bytes_per_s:g} bytes/s: both "
                    "must be above 0 and finite"
                )
        for less, more in pairwise(self.random_access):
            if not less.working_set_bytes < more.working_set_bytes:
                raise PlatformError(
                    f"random access to {format_bytes(more.working_set_bytes)} follows that to "
                    f"{format_bytes(less.working_set_bytes)}: list each working set once, the smallest first"
                )
