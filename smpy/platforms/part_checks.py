"""Checks of the numbers of a host and of a link; a wrong one raises a `PlatformError` that names it."""

from __future__ import annotations

from typing import Final

from smpy.errors import PlatformError
from smpy.platforms.memory import Memory
from smpy.units import LARGEST, SMALLEST

COUNT_MAX: Final = 2**31 - 1  # of hosts, of cores a host, of links
_TOO_SMALL: Final = f"it must be at least {SMALLEST:g}"


def check_host(name: str, speed_flop_per_s: float, cores: int, sockets: int, memory: Memory) -> None:
    """Refuse a host that cannot be."""
    if not speed_flop_per_s > 0:
        raise PlatformError(f"host {name!r} has a speed of {speed_flop_per_s:g} flop/s: it must be above 0")
    if speed_flop_per_s < SMALLEST:
        raise PlatformError(f"host {name!r} has a speed of {speed_flop_per_s:g} flop/s: {_TOO_SMALL}")
    if not 1 <= cores <= COUNT_MAX:
        raise PlatformError(f"host {name!r} has {cores} cores: it needs at least 1, and has room for {COUNT_MAX:,}")
    if not 1 <= sockets <= cores or cores % sockets:
        raise PlatformError(f"host {name!r} has {cores} cores on {sockets} sockets: each has the same number")
    try:
        memory.check()
    except PlatformError as wrong:
        raise PlatformError(f"host {name!r}: {wrong}") from None


def check_link(name: str, bandwidth_bytes_per_s: float, latency_s: float) -> None:
    """Refuse a link that cannot be."""
    if not bandwidth_bytes_per_s > 0:
        raise PlatformError(f"link {name!r} has a bandwidth of {bandwidth_bytes_per_s:g} bytes/s: it must be above 0")
    if bandwidth_bytes_per_s < SMALLEST:
        raise PlatformError(f"link {name!r} has a bandwidth of {bandwidth_bytes_per_s:g} bytes/s: {_TOO_SMALL}")
    if not latency_s >= 0:
        raise PlatformError(f"link {name!r} has a latency of {latency_s:g} s: it cannot be negative")
    if latency_s > LARGEST:
        raise PlatformError(f"link {name!r} has a latency of {latency_s:g} s: it can be {LARGEST:g} s")
