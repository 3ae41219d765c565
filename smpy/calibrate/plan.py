"""Plan of a measurement: kernels, their sizes, repetitions and time limits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self
from zlib import crc32

import numpy as np

from smpy.calibrate.kernels import SPEED, Kernel, Limits, draw_sizes
from smpy.calibrate.memory import RANDOM_READS, WORKING_SET
from smpy.calibrate.samples import KernelSample

DIMENSIONS: Final[Mapping[str, int]] = {"quick": 2048, "full": 8192, "host": 2048}  # the largest of a matrix, by plan
_SPEED_ORDER: Final = 1024
_CURVE_SMALLEST_BYTES: Final = 16 << 10


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """A measurement.

    Parameters
    ----------
    name : str
        "quick", "full" or "host".
    seed : int
        Seed of sizes and order.
    n_sizes, n_held_out : int
        Sizes of each kernel, and how many of them are kept out of the fit.
    n_repetitions : int
        Rounds over all kernels and sizes.
    n_cold : int
        Number of rounds that begin with a cold call.
    dimension : int
        The largest of a matrix.
    work : float
        The most operations of one call.
    operand_bytes : int
        The largest operand.
    curve_bytes : int
        The largest working set.
    curve_step : float
        Ratio of one working set to the next; of random reads, its square.
    evicted_bytes : int
        Bytes written to make caches cold.
    time_limit_s : float
        No visit begins later.
    """

    name: str
    seed: int
    n_sizes: int
    n_held_out: int
    n_repetitions: int
    n_cold: int
    dimension: int
    work: float
    operand_bytes: int
    curve_bytes: int
    curve_step: float
    evicted_bytes: int
    time_limit_s: float

    @classmethod
    def of(cls, name: str, *, seed: int, dimension: int | None, memory_bytes: int, cache_bytes: int) -> Self:
        """Plan with this name, for a machine.

        Parameters
        ----------
        name : str
            "quick", "full" or "host".
        seed : int
            Seed of sizes and order.
        dimension : int or None
            The largest of a matrix; None: the plan's own.
        memory_bytes : int
            Memory that is free.
        cache_bytes : int
            Size of the last cache.
        """
        is_full = name == "full"
        curve_bytes = min(4 * cache_bytes, (1 << 30) if name != "quick" else 128 << 20, memory_bytes // 4)
        return cls(
            name=name,
            seed=seed,
            n_sizes=0 if name == "host" else 50 if is_full else 20,
            n_held_out=10 if is_full else 4,
            n_repetitions={"full": 7, "quick": 3}.get(name, 9),
            n_cold={"full": 2, "quick": 1}.get(name, 0),
            dimension=dimension or DIMENSIONS[name],
            work=4e9 if is_full else 2e8,
            operand_bytes=min((128 if is_full else 16) << 20, memory_bytes // 16) & ~0xFFF,
            curve_bytes=curve_bytes & ~0xFFF,
            curve_step=2**0.5 if name != "quick" else 2.0,
            evicted_bytes=min(2 * cache_bytes, (64 if is_full else 32) << 20, memory_bytes // 16),
            time_limit_s={"full": 800.0, "quick": 42.0}.get(name, 90.0),
        )

    def sizes_of(self, kernel: Kernel) -> tuple[tuple[int, ...], ...]:
        """Sizes of a kernel; they do not depend on other kernels."""
        if kernel.name == SPEED:
            return ((_SPEED_ORDER,),)
        if kernel.name in (WORKING_SET, RANDOM_READS):
            step = self.curve_step if kernel.name == WORKING_SET else self.curve_step**2
            n_steps = int(np.log(max(self.curve_bytes / _CURVE_SMALLEST_BYTES, 1)) / np.log(step))
            return tuple((int(_CURVE_SMALLEST_BYTES * step**i) & ~0xFF,) for i in range(n_steps + 1))
        limits = Limits(self.dimension, self.work, self.operand_bytes // 16)
        rng = np.random.default_rng([self.seed, crc32(kernel.name.encode())])
        return tuple(draw_sizes(kernel, limits, rng, self.n_sizes))

    def held_out(self, sizes: Collection[tuple[int, ...]]) -> frozenset[tuple[int, ...]]:
        """Sizes of a kernel held out of its fit, chosen by their checksums, independently of the plan."""
        if len(sizes) <= 2 * self.n_held_out:
            return frozenset()
        return frozenset(sorted(sizes, key=lambda one: crc32(repr(one).encode()))[: self.n_held_out])


@dataclass(frozen=True, slots=True)
class Visit:
    """A kernel at a size, in a round."""

    kernel: Kernel
    sizes: tuple[int, ...]
    repetition: int
    is_cold: bool

    @property
    def named_sizes(self) -> tuple[tuple[str, int], ...]:
        return tuple(zip(self.kernel.sizes, self.sizes, strict=True))

    @property
    def key(self) -> tuple[str, tuple[tuple[str, int], ...], int]:
        return self.kernel.name, self.named_sizes, self.repetition


def visits(plan: MeasurementPlan, kernels: Mapping[str, Kernel], done: Sequence[KernelSample] = ()) -> list[Visit]:
    """All remaining visits, round by round, each round in its own random order.

    A disturbance of the machine then affects all kernels alike, and each size only once.
    """
    places: list[tuple[Kernel, tuple[int, ...]]] = []
    for kernel in kernels.values():
        places += [(kernel, sizes) for sizes in plan.sizes_of(kernel)]
    done_visits = {sample.visit for sample in done}
    planned = []
    for repetition in range(plan.n_repetitions):
        order = np.random.default_rng([plan.seed, len(kernels), repetition]).permutation(len(places))
        planned += [Visit(*places[int(at)], repetition, repetition < plan.n_cold) for at in order]
    return [visit for visit in planned if visit.key not in done_visits]
