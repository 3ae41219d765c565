"""Speed of memory: streams and random reads by working set on one core, and streams of all cores at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smpy.calibrate.kernels import Kernel, Pools, Sizes, TimedKernel
from smpy.calibrate.samples import KernelSample
from smpy.platforms.models.memory import core_part_bytes

WORKING_SET: Final = "working_set"
RANDOM_READS: Final = "random_reads"
ALL_CORES: Final = "all_cores"
WORDS_MOVED: Final = 3  # y += x reads two and writes one, of the two that the working set has
_ARRAYS: Final = 2
_GATHER_ARRAYS: Final = 3  # y = x[order]: x is read at random, the others one word after the other
_PASSES_TO_SETTLE: Final = 4  # caches that take what others evict serve a working set at their full rate only then
_IN_CACHE: Final = 0.75  # share of the last cache that surely holds the working set: others use the rest
_STRAIGHT: Final = 0.05  # largest relative error of the bandwidth between the points that are kept
_ALL_CORES_S: Final = 0.2
_ALL_CORES_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class CallRate:
    """Rate at which a core has called a function.

    Parameters
    ----------
    calls_per_s : float
        Calls a second of the clock on the wall.
    processor_share : float
        Part of that time that the thread ran.
    """

    calls_per_s: float
    processor_share: float


@dataclass(frozen=True, slots=True)
class MemorySpeed:
    """Bandwidth of one core by working set.

    Parameters
    ----------
    working_sets_bytes, bandwidths_bytes_per_s : tuple of float
        Points of the curve: bytes moved to and from memory a second, which fall as the working set grows.
    caches : tuple of (int, float)
        The points between which the curve is straight on logarithmic axes, as far as caches reach: a working set, of
        which a shared cache holds a core's part, and its bandwidth.
    core_bytes_per_s : float
        Bandwidth at the largest working set.
    is_beyond_caches : bool
        Whether the largest working set is larger than the last cache.
    """

    working_sets_bytes: tuple[float, ...]
    bandwidths_bytes_per_s: tuple[float, ...]
    caches: tuple[tuple[int, float], ...]
    core_bytes_per_s: float
    is_beyond_caches: bool


def working_set_kernel() -> Kernel:
    """Sum y += x of two arrays that together take this many bytes.

    Arrays are allocated anew each time, as a program's are: the location of their pages decides how much of them a
    cache can hold.
    """

    def prepare(_pools: Pools, sizes: Sizes) -> TimedKernel:
        return TimedKernel(sum_of_arrays(sizes["bytes"] // _ARRAYS // 8))

    return Kernel(WORKING_SET, ("bytes",), ("bytes",), {"bytes": 1 / 8}, (), prepare, n_warming=_PASSES_TO_SETTLE)


def random_reads_kernel(rng: np.random.Generator) -> Kernel:
    """Gather y = x[order] of three arrays that together take this many bytes; the order is random.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the order.
    """

    def prepare(_pools: Pools, sizes: Sizes) -> TimedKernel:
        n = sizes["bytes"] // _GATHER_ARRAYS // 8
        x, y, order = np.full(n, 1.0), np.full(n, 0.0), rng.integers(0, n, n, dtype=np.intp)
        return TimedKernel(lambda: np.take(x, order, out=y, mode="clip"))  # other modes copy y

    return Kernel(RANDOM_READS, ("bytes",), ("bytes",), {"bytes": 1 / 24}, (), prepare, n_warming=_PASSES_TO_SETTLE)


def random_access(
    samples: Sequence[KernelSample], memory: MemorySpeed, caches: Sequence[tuple[int, int]]
) -> tuple[tuple[int, float], ...]:
    """Working sets and a core's rates at random addresses of them, as far as the curve is not straight.

    A gather takes the time of two streams at the bandwidth of its working set, and of as many bytes at random.

    Parameters
    ----------
    samples : sequence of KernelSample
        Samples of `random_reads_kernel`, at least one; the median of several of a working set counts.
    memory : MemorySpeed
        Bandwidths of streams.
    caches : sequence of (int, int)
        Sizes of the machine's caches, rising, and of a core's part of each.
    """
    sets, seconds = _medians(samples)
    streams = np.exp(np.interp(np.log(sets), np.log(memory.working_sets_bytes), np.log(memory.bandwidths_bytes_per_s)))
    each_bytes = sets / _GATHER_ARRAYS
    random_s = seconds - (_GATHER_ARRAYS - 1) * each_bytes / streams
    rates = _falling(each_bytes / np.maximum(random_s, seconds / _GATHER_ARRAYS))  # at least as long as a stream
    bends = _bends(np.log(sets), np.log(rates))
    points: dict[int, float] = {}
    for i in bends:
        part = int(core_part_bytes(float(sets[i]), caches))
        if part > max(points, default=0):  # a core's part of a shared cache may be smaller than its own one
            points[part] = float(rates[i])
    return tuple(points.items())


def memory_speed(samples: Sequence[KernelSample], caches: Sequence[tuple[int, int]]) -> MemorySpeed:
    """Curve of one core, from samples of `working_set_kernel`.

    Parameters
    ----------
    samples : sequence of KernelSample
        At least one; warm. The median of several of a working set counts.
    caches : sequence of (int, int)
        Sizes of the machine's caches, rising, and of a core's part of each.
    """
    sets, seconds = _medians(samples)
    rates = _falling(sets * WORDS_MOVED / _ARRAYS / seconds)
    n_cached = int(np.searchsorted(sets, _IN_CACHE * caches[-1][0], side="right"))
    bends = _bends(np.log(sets[:n_cached]), np.log(rates[:n_cached])) if n_cached else []
    return MemorySpeed(
        tuple(sets.tolist()),
        tuple(rates.tolist()),
        tuple((int(core_part_bytes(float(sets[i]), caches)), float(rates[i])) for i in bends),
        float(rates[-1]),
        bool(sets[-1] > caches[-1][0]),
    )


def _medians(samples: Sequence[KernelSample]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Working sets, rising, and the median time of a pass over each."""
    times_s: dict[int, list[float]] = {}
    for sample in samples:
        ((_, size_bytes),) = sample.sizes
        times_s.setdefault(size_bytes, []).append(sample.processor_s)
    sets = sorted(times_s)
    return np.array(sets, dtype=float), np.array([np.median(times_s[size]) for size in sets])


def _bends(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[int]:
    """Points at which straight lines approximate the curve (Ramer 1972; Douglas and Peucker 1973).

    The first point is left out if the second has the same value.
    """
    kept, parts = {0, len(x) - 1}, [(0, len(x) - 1)]
    while parts:
        first, last = parts.pop()
        away = np.abs(y[first : last + 1] - np.interp(x[first : last + 1], x[[first, last]], y[[first, last]]))
        worst = first + int(away.argmax())
        if away.max() > _STRAIGHT:
            kept.add(worst)
            parts += [(first, worst), (worst, last)]
    bends = sorted(kept)
    return bends[1:] if len(bends) > 1 and abs(y[bends[0]] - y[bends[1]]) <= _STRAIGHT else bends


def _falling(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """The closest sequence that does not rise, in squares of logarithms (pool adjacent violators, Ayer et al. 1955).

    Up to the fastest set it is that one's rate: the overhead of calls, not the caches, slows down smaller ones.
    """
    rates = rates.copy()
    fastest = int(rates.argmax())
    rates[:fastest] = rates[fastest]
    levels: list[tuple[float, int]] = []
    for rate in np.log(rates):
        levels.append((float(rate), 1))
        while len(levels) > 1 and levels[-2][0] < levels[-1][0]:
            (one, n_one), (other, n_other) = levels[-2:]
            levels[-2:] = [((one * n_one + other * n_other) / (n_one + n_other), n_one + n_other)]
    fallen: NDArray[np.float64] = np.exp([level for level, count in levels for _ in range(count)])
    return fallen


def all_cores(cores: Sequence[int], memory_bytes: int) -> list[KernelSample]:
    """Measure the bytes that all cores move at once, each in memory of its own, and the time they take, several times.

    Parameters
    ----------
    cores : sequence of int
        Their numbers.
    memory_bytes : int
        Memory that all of them work in: more than caches hold.

    Raises
    ------
    Exception
        The first that a thread raises: the others then end, too.
    """
    n_words = memory_bytes // len(cores) // _ARRAYS // 8
    samples = []
    for number in range(_ALL_CORES_ROUNDS):
        rates = rates_together(cores, lambda: sum_of_arrays(n_words), _ALL_CORES_S)
        moved_bytes = int(sum(rate.calls_per_s for rate in rates) * n_words * 8 * WORDS_MOVED * _ALL_CORES_S)
        times_s = _ALL_CORES_S * len(cores), _ALL_CORES_S
        samples.append(KernelSample(ALL_CORES, (("bytes", moved_bytes),), "warm", number, *times_s))
    return samples


def sum_of_arrays(n_words: int) -> Callable[[], object]:
    """Function that adds one array to another, y += x, both with pages of their own.

    Pages that nothing has written are one page of zeros for the system: reading them loads no memory.
    """
    x, y = np.full(n_words, 0.0), np.full(n_words, 1.0)
    return lambda: np.add(y, x, out=y)


def rates_together(
    cores: Sequence[int], prepare: Callable[[], Callable[[], object]], duration_s: float
) -> list[CallRate]:
    """Rate of calls of each core, while all of them call at once.

    Parameters
    ----------
    cores : sequence of int
        Their numbers.
    prepare : callable
        Makes the function that a core calls again and again, with memory of its own.
    duration_s : float
        Time that they do, in seconds.

    Raises
    ------
    Exception
        The first that a thread raises: the others then end, too.
    """
    rates: list[CallRate] = []
    errors: list[Exception] = []
    ready = threading.Barrier(len(cores))

    def call(core: int) -> None:
        try:
            rates.append(_rate(core, prepare, duration_s, ready))
        except Exception as error:  # noqa: BLE001  # raised below, of the first thread
            errors.append(error)
            ready.abort()

    threads = [threading.Thread(target=call, args=(core,)) for core in cores]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError:  # the system allows no more threads: the started ones wait for the others
        ready.abort()
        raise
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return rates


def _rate(
    core: int, prepare: Callable[[], Callable[[], object]], duration_s: float, ready: threading.Barrier
) -> CallRate:
    """Rate at which this thread calls on a core, once all threads are ready."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    run = prepare()
    run()
    ready.wait()
    began_s, began_processor_s, n_calls = time.perf_counter(), time.thread_time(), 0
    while (taken_s := time.perf_counter() - began_s) < duration_s:
        run()
        n_calls += 1
    return CallRate(n_calls / taken_s, (time.thread_time() - began_processor_s) / taken_s)
