"""Slow-down of a core by its neighbours: while 1 to all cores are busy, and beside a load of memory on another core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from time import perf_counter, thread_time
from typing import Final

import numpy as np

from smpy.calibrate.memory import WORDS_MOVED, rates_together, sum_of_arrays
from smpy.calibrate.samples import KernelSample
from smpy.calibrate.this_machine import stolen_share, stolen_ticks
from smpy.compute.clock.learnt_memory import BackgroundLoad, NeighbourLoad
from smpy.engine.processors import siblings_of
from smpy.engine.surface import surface

BUSY_CORES: Final = "busy_cores"
BUSY_MEMORY: Final = "busy_memory"
_BESIDE: Final = ("core_alone", "core_beside", "memory_alone", "memory_beside")
NEIGHBOUR_KERNELS: Final = frozenset((BUSY_CORES, BUSY_MEMORY, *_BESIDE))
_LEFT_OUT: Final = "host.busy_speed and [calibration.load] are left out"
_NO_LOAD: Final = "[calibration.load] is left out"
_ORDER: Final = 512  # of matrices whose product is bound by the core, and long enough for threads to wait for no lock
_PRODUCTS: Final = 3
_ROUNDS: Final = 5
_BESIDE_ROUNDS: Final = 9
_LEAST_BESIDE: Final = 3
_BUSY_S: Final = 0.1
_PROBE_BYTES: Final = 256 << 20
_LOAD_BYTES: Final = 128 << 20
_PATIENCE_S: Final = 60.0  # the longest time of a probe on a busy machine
_STOLEN_MAX: Final = 0.02
_UNDISTURBED: Final = 0.9  # part of a measurement in which threads have to run


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Effect of busy cores on a core.

    Parameters
    ----------
    busy_shares : dict of int to float
        Part of a core's speed that is left, by the number of busy cores.
    busy_bytes_per_s : dict of int to float
        Bytes that busy cores move together, by their number.
    core_slowdown, memory_slowdown : float
        Time beside the load over time alone, of code bound by the core and by memory; NaN if not measured.
    load_bytes : int
        Memory that the load works in.
    """

    busy_shares: Mapping[int, float]
    busy_bytes_per_s: Mapping[int, float]
    core_slowdown: float
    memory_slowdown: float
    load_bytes: int


def by_core(processors: Sequence[int]) -> list[int]:
    """Processors in the order in which they get busy: first one of each core, then their siblings."""
    seen: set[int] = set()
    first: list[int] = []
    others: list[int] = []
    for processor in processors:
        (others if processor in seen else first).append(processor)
        seen |= siblings_of(processor)
    return first + others


def busy_counts(processors: Sequence[int]) -> list[int]:
    """Numbers of busy processors to measure: powers of two, one on each core, and all."""
    n, n_cores = len(processors), len({min(siblings_of(processor)) for processor in processors})
    return sorted({*(1 << i for i in range(n.bit_length()) if 1 << i < n), n_cores, n})


def measure_neighbours(
    processors: Sequence[int], memory_bytes: int, *, is_loaded: bool = False
) -> tuple[list[KernelSample], list[str]]:
    """Samples of this machine, and sentences on measurements that are left out.

    Parameters
    ----------
    processors : sequence of int
        Numbers of the processors.
    memory_bytes : int
        Memory that all of them work in: more than caches hold.
    is_loaded : bool
        Whether the machine does other things.
    """
    if len(processors) < 2:
        return [], [f"this machine has one core: {_LEFT_OUT}"]
    if is_loaded:
        return [], [f"busy neighbours cannot be told from other processes here: {_LEFT_OUT}"]
    before = stolen_ticks()
    samples, left_out = _busy(by_core(processors), memory_bytes)
    beside: list[KernelSample] = []
    if surface is None:
        no_load = [f"this installation has no compiled surface, which has the load: {_NO_LOAD}"]
    else:
        beside, no_load = beside_load(NeighbourLoad(load_bytes(memory_bytes), processors), memory_bytes)
    stolen = stolen_share(before, stolen_ticks())
    if stolen > _STOLEN_MAX:
        return [], [f"other virtual machines took {stolen:.0%} of the processors: {_LEFT_OUT}"]
    return samples + beside, left_out + no_load


def load_bytes(memory_bytes: int) -> int:
    """Memory that the load works in."""
    return min(memory_bytes, _LOAD_BYTES)


def _busy(processors: Sequence[int], memory_bytes: int) -> tuple[list[KernelSample], list[str]]:
    """Times of a call while 1 to all processors are busy, round by round; and a sentence if others were busy, too."""
    n_words = memory_bytes // len(processors) // 2 // 8
    moved_bytes = n_words * 8 * WORDS_MOVED
    counts, samples = busy_counts(processors), []
    for number in range(_ROUNDS):
        for n in counts:
            samples += _together(KernelSample(BUSY_CORES, (("n", n),), "warm", number, 0, 0), processors[:n], _product)
    if len({sample.sizes for sample in samples}) < len(counts):
        return [], ["other processes took cores that were to be busy: host.busy_speed is left out"]
    for n in counts:
        sizes = ("n", n), ("bytes", moved_bytes)
        samples += _together(
            KernelSample(BUSY_MEMORY, sizes, "warm", 0, 0, 0), processors[:n], lambda: sum_of_arrays(n_words)
        )
    return samples, []


def _together(
    sample: KernelSample, processors: Sequence[int], prepare: Callable[[], Callable[[], object]]
) -> list[KernelSample]:
    """The sample with the mean time of a call on processors that call at once; none if others ran there."""
    rates = rates_together(processors, prepare, _BUSY_S)
    if min(rate.processor_share for rate in rates) < _UNDISTURBED:
        return []
    call_s = 1 / float(np.mean([rate.calls_per_s for rate in rates]))
    return [replace(sample, processor_s=call_s, wall_s=call_s)]


def _product() -> Callable[[], object]:
    a, c = np.full((_ORDER, _ORDER), 0.5), np.empty((_ORDER, _ORDER))
    return lambda: np.matmul(a, a, out=c)


def beside_load(load: BackgroundLoad, memory_bytes: int) -> tuple[list[KernelSample], list[str]]:
    """Times of code bound by the core and by memory, alone and beside a load; and a sentence if it had no core."""
    n_words = min(memory_bytes, _PROBE_BYTES) // 2 // 8
    product, add = _product(), sum_of_arrays(n_words)
    probes: dict[str, tuple[Callable[[], object], int, tuple[str, int]]] = {
        "core": (product, _PRODUCTS, ("n", _ORDER)),
        "memory": (add, 1, ("bytes", n_words * 8 * WORDS_MOVED)),
    }
    samples, n_disturbed = [], 0
    for number in range(_BESIDE_ROUNDS):
        for name, (run, n_calls, size) in probes.items():
            alone_s = _processor_s(run, n_calls)
            load.start(_PATIENCE_S)
            began_s, used_s = perf_counter(), load.processor_s()
            beside_s = _processor_s(run, n_calls)
            passed_s, used_s = perf_counter() - began_s, load.processor_s() - used_s
            load.stop()
            if used_s < _UNDISTURBED * passed_s:
                n_disturbed += 1
                continue
            samples.append(KernelSample(f"{name}_alone", (size,), "warm", number, alone_s, alone_s))
            samples.append(KernelSample(f"{name}_beside", (size,), "warm", number, beside_s, beside_s))
    if min(sum(sample.kernel == f"{name}_beside" for sample in samples) for name in probes) < _LEAST_BESIDE:
        taken = f"{n_disturbed} of {2 * _BESIDE_ROUNDS} measurements"
        return [], [f"other processes took the core of the load in {taken}: {_NO_LOAD}"]
    return samples, []


def _processor_s(run: Callable[[], object], n_calls: int) -> float:
    """Processor time of calls, behind one that warms the caches up."""
    run()
    began_s = thread_time()
    for _ in range(n_calls):
        run()
    return thread_time() - began_s


def neighbours(samples: Sequence[KernelSample], load_bytes: int) -> Neighbours:
    """Slow-downs from the medians of samples."""
    times_s: dict[tuple[str, int], list[float]] = {}
    for sample in samples:
        n = dict(sample.sizes).get("n", 0) if sample.kernel in (BUSY_CORES, BUSY_MEMORY) else 0
        times_s.setdefault((sample.kernel, n), []).append(sample.wall_s)
    median_s = {key: float(np.median(each)) for key, each in times_s.items()}
    counts = sorted(n for kernel, n in median_s if kernel == BUSY_CORES)
    shares: dict[int, float] = {}
    least = 1.0
    for n in counts:  # a part that rises with the number of busy cores is noise
        least = shares[n] = min(least, median_s[BUSY_CORES, 1] / median_s[BUSY_CORES, n])
    moved_bytes = next((dict(each.sizes)["bytes"] for each in samples if each.kernel == BUSY_MEMORY), 0)
    rates = {n: n * moved_bytes / median_s[BUSY_MEMORY, n] for kernel, n in sorted(median_s) if kernel == BUSY_MEMORY}
    core, memory = (  # a load that speeds code up is noise
        float(np.maximum(median_s.get((f"{name}_beside", 0), nan) / median_s.get((f"{name}_alone", 0), nan), 1.0))
        for name in ("core", "memory")
    )
    return Neighbours(shares, rates, core, memory, load_bytes)
