"""Times kernels visit by visit, and writes each visit down before the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from smpy.calibrate.kernels import Pools, TimedKernel
from smpy.calibrate.plan import Visit
from smpy.calibrate.samples import KernelSample, SampleFile

Clock = Callable[[], float]

_BLOCK_S: Final = 2e-4  # shorter calls are timed in groups
_CALLS_MAX: Final = 10_000
_SELF_WARMING_S: Final = 1e-2  # longer calls fill their caches themselves


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks that time a call.

    Parameters
    ----------
    processor_s : callable
        Processor time of this thread, which `smpy run --compute measured` counts.
    wall_s : callable
        The clock on the wall.
    """

    processor_s: Clock = time.thread_time
    wall_s: Clock = time.perf_counter


class Timer:
    """Times calls, and subtracts the cost of reading the clocks."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks: Final = clocks
        empty = [self._block(lambda: None, 1) for _ in range(64)]
        self._empty: Final = tuple(float(np.median(column)) for column in zip(*empty, strict=True))

    def once(self, call: TimedKernel) -> tuple[float, float]:
        """Processor and wall time of one call, in seconds."""
        if call.restore is not None:
            call.restore()
        return self._less_empty(self._block(call.run, 1), 1)

    def several(self, call: TimedKernel, once_s: float) -> tuple[float, float]:
        """Processor and wall time per call, over as many calls as needed; `once_s` is about one call's time."""
        if call.restore is not None or once_s >= _BLOCK_S:
            return self.once(call)
        n_calls = min(int(_BLOCK_S / max(once_s, _BLOCK_S / _CALLS_MAX)) + 1, _CALLS_MAX)
        return self._less_empty(self._block(call.run, n_calls), n_calls)

    def _block(self, run: Callable[[], object], n_calls: int) -> tuple[float, float]:
        processor_s, wall_s = self._clocks.processor_s, self._clocks.wall_s
        wall_0_s, processor_0_s = wall_s(), processor_s()
        for _ in range(n_calls):
            run()
        processor_1_s, wall_1_s = processor_s(), wall_s()
        return processor_1_s - processor_0_s, wall_1_s - wall_0_s

    def _less_empty(self, block_s: tuple[float, float], n_calls: int) -> tuple[float, float]:
        processor_s, wall_s = (
            max(taken - empty, taken / 2) / n_calls for taken, empty in zip(block_s, self._empty, strict=True)
        )
        return processor_s, wall_s


def measure(
    visits: Sequence[Visit],
    pools: Pools,
    file: SampleFile,
    *,
    time_limit_s: float,
    evict: Callable[[], object],
    clocks: Clocks,
    progress: Callable[[int, Visit], object] = lambda _number, _visit: None,
) -> bool:
    """Make visits until all are done or the time is used up.

    Parameters
    ----------
    visits : sequence of Visit
        Visits to measure, in order.
    pools : Pools
        Operands.
    file : SampleFile
        Gets each visit's samples as soon as they are measured.
    time_limit_s : float
        No visit begins later than this after the first.
    evict : callable
        Makes caches cold.
    clocks : Clocks
        Time the calls.
    progress : callable
        Told of each visit, with its number, before it is made.

    Returns
    -------
    bool
        Whether all were made.
    """
    timer = Timer(clocks)
    started_s = clocks.wall_s()
    once_s: dict[tuple[str, tuple[int, ...]], float] = {}
    for number, visit in enumerate(visits):
        if clocks.wall_s() - started_s > time_limit_s:
            return False
        progress(number, visit)
        call = visit.kernel.prepare(pools, dict(visit.named_sizes))
        place = (visit.kernel.name, visit.sizes)
        samples = []
        if visit.is_cold:
            if call.restore is not None:
                call.restore()
            evict()
            first = timer.once(TimedKernel(call.run))
            samples.append(KernelSample(visit.kernel.name, visit.named_sizes, "cold", visit.repetition, *first))
            once_s[place] = first[0]
        if once_s.get(place, 0.0) < _SELF_WARMING_S:
            for _ in range(visit.kernel.n_warming - visit.is_cold):
                once_s[place] = timer.once(call)[0]
        taken = timer.several(call, once_s[place])
        once_s[place] = taken[0]
        samples.append(KernelSample(visit.kernel.name, visit.named_sizes, "warm", visit.repetition, *taken))
        file.add(samples)
    return True
