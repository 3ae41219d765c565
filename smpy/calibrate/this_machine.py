"""The measured machine: its facts, whether it is quiet, and a core reserved for the measurement."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from smpy import __version__
from smpy.errors import UsageError

_LOOK_S: Final = 0.5
_BUSY_CORES_MAX: Final = 0.25
_PROBES: Final = 40
_PROBE_ORDER: Final = 256
_PROBE_SPREAD_MAX: Final = 1.25
_TAKEN_AWAY_MAX: Final = 0.05


def facts() -> dict[str, str | int]:
    """Versions, processor, BLAS and date, for the reader of the result."""
    import scipy.linalg.blas  # loads numpy's BLAS, which threadpoolctl then lists
    from threadpoolctl import threadpool_info

    blas = sorted(
        {
            f"{library['internal_api']} {library['version']} {library.get('architecture', '')}".strip()
            for library in _blas(threadpool_info())
        }
    )
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "smpy": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": "; ".join(blas),
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "kernel": f"{platform.system()} {platform.release()}",
    }


def _blas(libraries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [library for library in libraries if library["user_api"] == "blas"]


def _cpu() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def free_memory_bytes() -> int:
    """Bytes of memory that can be allocated without swapping."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def caches() -> list[tuple[int, int]]:
    """Sizes of a core's data caches in bytes, the smallest first, and of the core's part of each.

    Sizes of a usual core if the machine tells none.
    """
    sizes = set()
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        with suppress(OSError, ValueError):
            if (index / "type").read_text().strip() != "Instruction":
                size_bytes = int((index / "size").read_text().strip().removesuffix("K")) << 10
                cores = (index / "shared_cpu_map").read_text().replace(",", "")
                sizes.add((size_bytes, size_bytes // max(int(cores, 16).bit_count(), 1)))
    return sorted(sizes) or [(32 << 10, 32 << 10), (1 << 20, 1 << 20), (32 << 20, 2 << 20)]


@contextmanager
def one_core() -> Iterator[tuple[int, ...]]:
    """Keep this thread on one core, and BLAS off the others; return the cores that it might use before."""
    from threadpoolctl import threadpool_limits

    if not hasattr(os, "sched_setaffinity"):
        with threadpool_limits(1):
            yield tuple(range(os.cpu_count() or 1))
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})  # interrupts go to the first core more often
    try:
        with threadpool_limits(1):
            yield tuple(sorted(before))
    finally:
        os.sched_setaffinity(0, before)


# ---- a quiet machine ----


def check_quiet(*, may_be_loaded: bool) -> list[str]:
    """Refuse a busy machine; return the disturbance if a busy one is allowed.

    Returns
    -------
    list of str
        Warnings for readers of the result.

    Raises
    ------
    UsageError
        If other processes run, or a probe's times differ more than a quiet machine's do.
    """
    a = np.full((_PROBE_ORDER, _PROBE_ORDER), 0.5)
    with one_core():
        complaint = disturbance(lambda: a @ a)
    if complaint and may_be_loaded:
        return [f"measured all the same: {complaint}"]
    if complaint:
        raise UsageError(
            f"this machine is not quiet: {complaint}. Times taken now would be too long; wait, or say --loaded to take "
            "them all the same"
        )
    return []


def disturbance(
    probe: Callable[[], object],
    *,
    busy_cores: Callable[[], float] | None = None,
    wall_s: Callable[[], float] = time.perf_counter,
    processor_s: Callable[[], float] = time.thread_time,
) -> str:
    """Name a disturbance of measurements, or "". The probe takes some milliseconds of this thread."""
    busy = (busy_cores or _busy_cores)()
    if busy > _BUSY_CORES_MAX:
        load = f" (load {os.getloadavg()[0]:.2f})" if hasattr(os, "getloadavg") else ""
        return f"other processes keep {busy:.1f} of its {os.cpu_count()} cores busy{load}"
    probe()
    walls, processors = [], []
    for _ in range(_PROBES):
        wall_0_s, processor_0_s = wall_s(), processor_s()
        probe()
        processors.append(processor_s() - processor_0_s)
        walls.append(wall_s() - wall_0_s)
    away = 1 - sum(processors) / sum(walls)
    if away > _TAKEN_AWAY_MAX:
        return f"its processor was taken away for {away:.0%} of the time of a probe"
    spread = float(np.quantile(walls, 0.9) / np.median(walls))
    if spread > _PROBE_SPREAD_MAX:
        return f"a tenth of the calls of a probe took over {spread:.2f} times their median"
    return ""


def _busy_cores() -> float:
    """Number of cores in use by others while this process sleeps."""
    before = _processor_ticks()
    time.sleep(_LOOK_S)
    after = _processor_ticks()
    if before is None or after is None or after[1] <= before[1]:
        return 0.0
    return (after[0] - before[0]) / (after[1] - before[1]) * (os.cpu_count() or 1)


def stolen_ticks() -> tuple[int, int] | None:
    """Ticks that other virtual machines had of these processors, and of all time; None if the system has none."""
    ticks = _ticks()
    return (ticks[7], sum(ticks)) if len(ticks) > 7 else None


def stolen_share(before: tuple[int, int] | None, after: tuple[int, int] | None) -> float:
    """Part of the processors that other virtual machines had between two readings of `stolen_ticks`."""
    if before is None or after is None or after[1] <= before[1]:
        return 0.0
    return (after[0] - before[0]) / (after[1] - before[1])


def _processor_ticks() -> tuple[int, int] | None:
    """Ticks of work, and of all time, since the machine started, over all cores."""
    ticks = _ticks()
    return (sum(ticks) - ticks[3] - ticks[4], sum(ticks)) if ticks else None  # less idle time and waiting for input


def _ticks() -> list[int]:
    """Ticks of all processors by kind; empty if the system has none."""
    if sys.platform.startswith("linux"):
        with suppress(OSError, ValueError):
            line = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0]
            return [int(field) for field in line.split()[1:9]]
    return []
