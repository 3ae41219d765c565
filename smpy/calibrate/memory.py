"""How fast memory is read and written: by working set on one core, and on all cores at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from smpy.calibrate.kernels import Call, Kernel, Pools, Sizes
from smpy.calibrate.samples import Sample

WORKING_SET: Final = "working_set"
ALL_CORES: Final = "all_cores"
_WORDS_MOVED: Final = 3  # y += x reads two and writes one, of the two that the working set has
_ARRAYS: Final = 2
_IN_CACHE: Final = 0.75  # of a cache's size is surely in it: the rest is others'
_ALL_CORES_S: Final = 0.5
_ALL_CORES_BYTES: Final = 64 << 20  # of each core


@dataclass(frozen=True, slots=True)
class MemorySpeed:
    """What one core moves.

    Parameters
    ----------
    working_sets_bytes, bandwidths_bytes_per_s : tuple of float
        Points of the curve: bytes moved to and from memory a second, which fall as the working set grows.
    caches : tuple of (int, float)
        A core's part of each cache that was measured, and its bandwidth.
    core_bytes_per_s : float
        Of the largest working set.
    is_beyond_caches : bool
        Whether the largest working set is larger than the last cache.
    """

    working_sets_bytes: tuple[float, ...]
    bandwidths_bytes_per_s: tuple[float, ...]
    caches: tuple[tuple[int, float], ...]
    core_bytes_per_s: float
    is_beyond_caches: bool


def working_set_kernel(largest_bytes: int) -> Kernel:
    """A sum, y += x, in two arrays of together so many bytes.

    Parameters
    ----------
    largest_bytes : int
        The largest working set that it will be asked for.
    """
    arrays: list[NDArray[Any]] = []

    def prepare(_pools: Pools, sizes: Sizes) -> Call:
        if not arrays:
            arrays.extend(np.full(largest_bytes // _ARRAYS // 8, value) for value in (0.0, 1.0))
        n = sizes["bytes"] // _ARRAYS // 8
        x, y = arrays[0][:n], arrays[1][:n]
        return Call(lambda: np.add(y, x, out=y))

    return Kernel(WORKING_SET, ("bytes",), ("bytes",), {"bytes": 1 / 8}, (), prepare)


def memory_speed(samples: Sequence[Sample], caches: Sequence[tuple[int, int]]) -> MemorySpeed:
    """The curve of one core, from samples of `working_set_kernel`.

    Parameters
    ----------
    samples : sequence of Sample
        At least one; warm.
    caches : sequence of (int, int)
        Sizes of the machine's caches, rising, and of a core's part of each.
    """
    best: dict[int, float] = {}
    for sample in samples:
        ((_, size_bytes),) = sample.sizes
        rate = size_bytes * _WORDS_MOVED / _ARRAYS / sample.processor_s
        best[size_bytes] = max(best.get(size_bytes, 0.0), rate)
    sets = np.array(sorted(best), dtype=float)
    rates = _falling(np.array([best[int(size)] for size in sets]))
    caches_found = [
        (part, float(np.exp(np.interp(np.log(_IN_CACHE * size), np.log(sets), np.log(rates)))))
        for size, part in caches
        if sets[0] <= _IN_CACHE * size <= sets[-1]
    ]
    return MemorySpeed(
        tuple(sets.tolist()),
        tuple(rates.tolist()),
        tuple(caches_found),
        float(rates[-1]),
        bool(sets[-1] > caches[-1][0]),
    )


def _falling(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """The closest sequence that does not rise, in squares of logarithms (pool adjacent violators, Ayer et al. 1955)."""
    levels: list[tuple[float, int]] = []
    for rate in np.log(rates):
        levels.append((float(rate), 1))
        while len(levels) > 1 and levels[-2][0] < levels[-1][0]:
            (one, n_one), (other, n_other) = levels[-2:]
            levels[-2:] = [((one * n_one + other * n_other) / (n_one + n_other), n_one + n_other)]
    fallen: NDArray[np.float64] = np.exp([level for level, count in levels for _ in range(count)])
    return fallen


def all_cores(cores: Sequence[int], memory_bytes: int) -> Sample:
    """How many bytes cores move together, each in memory of its own, and in which time.

    Parameters
    ----------
    cores : sequence of int
        Their numbers.
    memory_bytes : int
        Memory that may be taken.
    """
    n_words = min(_ALL_CORES_BYTES, memory_bytes // len(cores)) // _ARRAYS // 8
    rates_bytes_per_s = [0.0] * len(cores)
    ready = threading.Barrier(len(cores))

    def move(at: int) -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {cores[at]})
        x, y = np.zeros(n_words), np.ones(n_words)
        np.add(y, x, out=y)
        ready.wait()
        started_s, n_calls = time.perf_counter(), 0
        while (taken_s := time.perf_counter() - started_s) < _ALL_CORES_S:
            np.add(y, x, out=y)
            n_calls += 1
        rates_bytes_per_s[at] = n_calls * n_words * 8 * _WORDS_MOVED / taken_s

    threads = [threading.Thread(target=move, args=(at,)) for at in range(len(cores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    moved_bytes = int(sum(rates_bytes_per_s) * _ALL_CORES_S)
    return Sample(ALL_CORES, (("bytes", moved_bytes),), "warm", 0, _ALL_CORES_S * len(cores), _ALL_CORES_S)
