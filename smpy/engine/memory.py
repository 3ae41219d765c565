"""Memory of this machine and of this process."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final

from smpy.errors import UsageError
from smpy.units import format_bytes

_PROCESS: Final = "/proc/self/"
_M_TRIM_THRESHOLD: Final = -1  # from <malloc.h>
_M_MMAP_MAX: Final = -4
_CONTAINER_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def limit_bytes() -> int | None:
    """Maximum memory of the process: this machine's, or its own limit if that is lower; None if unknown."""
    limits = []
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError), open(path, encoding="ascii") as file:  # "max" is no number
            limits.append(int(file.read()))
    with suppress(ImportError):
        import resource

        limits.append(resource.getrlimit(resource.RLIMIT_AS)[0])
    return min((limit for limit in limits if limit > 0), default=None)


def check_fits(need_bytes: int, what: str, remedy: str, error: type[UsageError] = UsageError) -> None:
    """Refuse an object larger than this machine's memory before any of it is created.

    Parameters
    ----------
    need_bytes : int
        Least memory that it takes, in bytes.
    what, remedy : str
        Name of the thing that takes it, and advice for the user.
    error : type
        Type of the exception to raise.

    Raises
    ------
    UsageError
        If it does not fit; or the type `error`.
    """
    limit = limit_bytes()
    if limit is not None and need_bytes > limit:
        raise error(
            f"{what} would take {format_bytes(need_bytes)} of memory at least, and there are {format_bytes(limit)} "
            f"here: {remedy}"
        )


def peak_rss_bytes() -> int:
    """Peak memory of the process; 0 if unknown.

    The value is this program's alone, where the system tells: that of getrusage includes the program that the process
    ran before.
    """
    with suppress(OSError), open(_PROCESS + "status", encoding="ascii", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name == "VmHWM":
                return int(value.split()[0]) * 1024
    with suppress(ImportError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return 0


def keep_freed_memory() -> None:
    """Keep freed memory of any size in this process instead of returning it to the system.

    Without it the C library maps blocks above 128 KiB, later up to 32 MiB, one by one, and trims its heap: an array
    that is made and dropped again and again costs page faults each time.

    Raises
    ------
    UsageError
        If this system's C library cannot be told (mallopt, of glibc).
    """
    import ctypes  # imported late: it takes longer to import than most runs need it

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        raise UsageError("--keep-memory: this system's C library has no mallopt; leave it out") from None
    if not (mallopt(_M_MMAP_MAX, 0) and mallopt(_M_TRIM_THRESHOLD, -1)):
        raise UsageError("--keep-memory: this system's C library refuses; leave it out")


def rss_bytes() -> int:
    """Memory of the process now; its peak if the system does not have it."""
    with suppress(OSError), open(_PROCESS + "statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return peak_rss_bytes()
