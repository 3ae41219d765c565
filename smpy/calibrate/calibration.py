"""Calibrates this machine: measures the visits that the raw file lacks, then fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from smpy.calibrate.costs import Cost, NoiseModel, Terms, cost_of
from smpy.calibrate.kernel_table import kernel_table
from smpy.calibrate.kernels import SPEED, Kernel, Pools, core_speed_kernel
from smpy.calibrate.measure import Clocks, measure
from smpy.calibrate.memory import (
    ALL_CORES,
    RANDOM_READS,
    WORKING_SET,
    MemorySpeed,
    all_cores,
    memory_speed,
    random_access,
    random_reads_kernel,
    working_set_kernel,
)
from smpy.calibrate.neighbours import NEIGHBOUR_KERNELS, Neighbours, load_bytes, measure_neighbours, neighbours
from smpy.calibrate.plan import DIMENSIONS, MeasurementPlan, Visit, visits
from smpy.calibrate.result_file import Table
from smpy.calibrate.samples import KernelSample, Recorded, SampleFile, read_samples
from smpy.calibrate.spread import relative_spread
from smpy.calibrate.this_machine import caches, check_quiet, facts, free_memory_bytes, one_core
from smpy.errors import UsageError
from smpy.units import exact_size, rounded_bandwidth, rounded_speed

_DIGITS: Final = 4  # digits of speeds: measurements repeat to no more
_WAITED_MAX: Final = 0.02  # share of the time of measured calls
_RATES: Final = frozenset((SPEED, WORKING_SET, RANDOM_READS))  # kernels that give rates, no costs
_TIME_WAS_OVER: Final = "time was over"
_SAME: Final = ("cpu", "blas", "numpy", "scipy")  # facts of the machine that must not change during a measurement

PlanName = Literal["quick", "full", "host"]


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """Request for a calibration: kernels, sizes and options.

    Parameters
    ----------
    result : Path
        The TOML file; raw measurements stand beside it, in a CSV file of its name.
    plan : {"quick", "full", "host"}
        Thoroughness; "host": core, memory and neighbours without kernels.
    kernels : tuple of str
        Names of kernels; empty: all, but none of a host.
    seed : int
        Seed of sizes and order.
    dimension : int or None
        The largest of a matrix; None: as the plan has it.
    may_be_loaded : bool
        Whether a machine that does other things is measured all the same.
    noise_model : {"empirical", "half-normal", "none"}
        Model of how single calls differ from the cost.
    """

    result: Path
    plan: PlanName
    kernels: tuple[str, ...] = ()
    seed: int = 0
    dimension: int | None = None
    may_be_loaded: bool = False
    noise_model: NoiseModel = "empirical"

    @property
    def raw(self) -> Path:
        return self.result.with_suffix(".csv")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Results of a calibration.

    Parameters
    ----------
    about : dict
        The table [calibration].
    speed_flop_per_s : float
        Speed of a core: the rate of its dgemm.
    memory : MemorySpeed or None
        Speed of a core's memory.
    all_cores_bytes_per_s : float
        Rate at which all cores move bytes together; NaN if it was not measured.
    random_access : tuple of (int, float)
        Working sets and a core's rates at random addresses of them, if they were measured.
    neighbours : Neighbours or None
        Effect of busy cores on a core, if it was measured.
    costs : tuple of Cost
        Costs of kernels, by name.
    failures : tuple of str
        Kernels without a cost, and the reasons.
    """

    about: dict[str, Any]
    speed_flop_per_s: float
    memory: MemorySpeed | None
    all_cores_bytes_per_s: float
    random_access: tuple[tuple[int, float], ...] = ()
    neighbours: Neighbours | None = None
    costs: tuple[Cost, ...] = ()
    failures: tuple[str, ...] = field(default=())

    def tables(self) -> dict[str, Table]:
        """Tables of the result file, with the keys of a machine file."""
        speed = rounded_speed(self.speed_flop_per_s, _DIGITS)
        host: dict[str, object] = {"speed": speed}
        if self.memory is not None:
            core = self.memory.core_bytes_per_s
            host["memory_bandwidth"] = rounded_bandwidth(max(core, self.all_cores_bytes_per_s), _DIGITS)
            host["core_memory_bandwidth"] = rounded_bandwidth(core, _DIGITS)
            host["caches"] = {exact_size(size): rounded_bandwidth(rate, _DIGITS) for size, rate in self.memory.caches}
        if self.random_access:
            rates = {exact_size(size): rounded_bandwidth(rate, _DIGITS) for size, rate in self.random_access}
            host["random_access"] = rates
        tables: dict[str, Table] = {"calibration": self.about}
        if self.neighbours is not None:
            slowed = {str(n): round(share, 3) for n, share in self.neighbours.busy_shares.items() if n > 1}
            host |= {"busy_speed": slowed} if slowed else {}
            if self.neighbours.busy_bytes_per_s:
                rates_of_busy = self.neighbours.busy_bytes_per_s.items()
                busy = {str(n): rounded_bandwidth(rate, _DIGITS) for n, rate in rates_of_busy}
                tables["calibration"] = self.about | {"memory_bandwidth_of_busy_cores": busy}
            if not np.isnan(self.neighbours.memory_slowdown):
                tables["calibration.load"] = {
                    "memory": exact_size(self.neighbours.load_bytes),
                    "core_slowdown": round(self.neighbours.core_slowdown, 3),
                    "memory_slowdown": round(self.neighbours.memory_slowdown, 3),
                }
        tables["host"] = host
        if self.costs:
            tables["kernels"] = {"reference_speed": speed}
            tables |= {f"kernels.{cost.name}": kernel_table(cost) for cost in self.costs}
        return tables


def calibrate(
    request: CalibrationPlan,
    command: str,
    *,
    all_kernels: Callable[[], Mapping[str, Kernel]],
    progress: Callable[[int, int, Visit], object] = lambda _number, _count, _visit: None,
) -> Calibration:
    """Measure visits that the raw file lacks, and fit.

    Parameters
    ----------
    request : CalibrationPlan
        Request to fulfil.
    command : str
        Command that asked for it, for the record.
    all_kernels : callable
        The kernels there are.
    progress : callable
        Told of each visit: its number, how many there are, and the visit.

    Raises
    ------
    UsageError
        If the machine is not quiet, a file cannot be read or written, or it is of another measurement.
    """
    recorded = _recorded(request.raw)
    known = {kernel.name: kernel for kernel in all_kernels().values()} if request.plan != "host" else {}
    if unknown := [name for name in request.kernels if name not in known]:
        raise UsageError(f"there is no kernel {unknown[0]!r}; there are {', '.join(known)}")
    about = _about(request, command) if recorded is None else _checked(request, recorded)
    plan = MeasurementPlan(**about["plan"])
    names = about["kernels"] or list(known)
    kernels = {
        **{name: known[name] for name in names if name in known},
        SPEED: core_speed_kernel(),
        WORKING_SET: working_set_kernel(),
        RANDOM_READS: random_reads_kernel(np.random.default_rng(plan.seed)),
    }
    if recorded is None or not recorded.is_ended:
        with one_core() as cores:
            warnings = check_quiet(may_be_loaded=request.may_be_loaded)
            _measure(request, plan, kernels, about, recorded, warnings, cores, Clocks(), progress)
        recorded = read_samples(request.raw)
    return _fitted(request, plan, kernels, recorded)


# ---- measuring ----


def _recorded(raw: Path) -> Recorded | None:
    """Existing measurements; None if there are none: a full disk may have left an empty file."""
    return read_samples(raw) if raw.exists() and (not raw.is_file() or raw.stat().st_size) else None


def _about(request: CalibrationPlan, command: str) -> dict[str, Any]:
    cache_bytes = caches()[-1][0]
    plan = MeasurementPlan.of(
        request.plan,
        seed=request.seed,
        dimension=request.dimension,
        memory_bytes=free_memory_bytes(),
        cache_bytes=cache_bytes,
    )
    return {
        "machine": facts(),
        "command": command,
        "caches_bytes": caches(),
        "plan": asdict(plan),
        "kernels": list(request.kernels),
    }


def _checked(request: CalibrationPlan, recorded: Recorded) -> dict[str, Any]:
    """Description in the raw file's first line, if it belongs to this measurement."""
    about = recorded.about
    try:
        plan = MeasurementPlan(**about["plan"])
        same: dict[str, tuple[object, object]] = {
            "plan": (plan.name, request.plan),
            "seed": (plan.seed, request.seed),
            "kernels": (about["kernels"], list(request.kernels)),
            "limit": (plan.dimension, request.dimension or DIMENSIONS[request.plan]),
        }
        if not recorded.is_ended:
            here = facts()
            same |= {name: (about["machine"][name], here[name]) for name in _SAME}
    except (KeyError, TypeError) as error:
        raise UsageError(f"{request.raw} is no file of measurements of `smpy calibrate`: name another one") from error
    for what, (then, now) in same.items():
        if then != now:
            raise UsageError(
                f"{request.raw} holds measurements of another {what}: {then!r}, not {now!r}; remove it to measure "
                "anew, or name another file"
            )
    return about


def _measure(
    request: CalibrationPlan,
    plan: MeasurementPlan,
    kernels: Mapping[str, Kernel],
    about: Mapping[str, Any],
    recorded: Recorded | None,
    warnings: Sequence[str],
    cores: Sequence[int],
    clocks: Clocks,
    progress: Callable[[int, int, Visit], object],
) -> None:
    done = recorded.samples if recorded is not None else ()
    planned = visits(plan, kernels, done)
    n_made = len({sample.visit for sample in done})
    evicted = np.zeros(plan.evicted_bytes // 8)
    with SampleFile(request.raw, about, recorded) as file, _kept(request, n_made + len(planned)):
        for warning in warnings:
            if recorded is None or warning not in recorded.warnings:
                file.warn(warning)
        is_complete = measure(
            planned,
            Pools(plan.operand_bytes, np.random.default_rng(plan.seed)),
            file,
            time_limit_s=plan.time_limit_s,
            evict=lambda: np.add(evicted, 1, out=evicted),
            clocks=clocks,
            progress=lambda number, visit: progress(n_made + number, n_made + len(planned), visit),
        )
        if not is_complete:
            file.warn(f"{_TIME_WAS_OVER}, {plan.time_limit_s:.0f} s, before all measurements were made")
        memory_bytes = min(plan.curve_bytes, free_memory_bytes() // 4)
        file.add([all_cores(cores, memory_bytes)])
        samples, left_out = measure_neighbours(cores, memory_bytes, is_loaded=bool(warnings))
        file.add(samples)
        for sentence in left_out:
            file.warn(sentence)
        file.end()


@contextmanager
def _kept(request: CalibrationPlan, n_visits: int) -> Iterator[None]:
    """Name the file that keeps the measurements when the user interrupts."""
    try:
        yield
    except KeyboardInterrupt:
        n_made = len({sample.visit for sample in read_samples(request.raw).samples})
        raise KeyboardInterrupt(
            f"{n_made:,} of {n_visits:,} measurements are in {request.raw}; the same command goes on from there"
        ) from None


# ---- fitting ----


def _fitted(
    request: CalibrationPlan, plan: MeasurementPlan, kernels: Mapping[str, Kernel], recorded: Recorded
) -> Calibration:
    by_kernel: dict[str, list[KernelSample]] = {}
    for sample in recorded.samples:
        by_kernel.setdefault(sample.kernel, []).append(sample)
    if not by_kernel.get(SPEED):
        raise UsageError(f"{request.raw}: the speed of a core was not measured in time; remove the file and try again")
    costs, failures = [], []
    for name, kernel in kernels.items():
        if name in _RATES or (name not in by_kernel and not _was_to_be_measured(name, recorded)):
            continue
        terms = Terms(kernel.sizes, kernel.candidates, kernel.leading, kernel.signed, kernel.combined, kernel.is_tall)
        samples = by_kernel.get(name, ())
        held_out = plan.held_out({tuple(size for _, size in sample.sizes) for sample in samples})
        try:
            costs.append(cost_of(name, terms, samples, held_out, noise_model=request.noise_model))
        except UsageError as error:
            failures.append(str(error))
    curve = by_kernel.get(WORKING_SET)
    parts = [(size, part) for size, part in recorded.about["caches_bytes"]]
    memory = memory_speed(curve, parts) if curve else None
    reads = by_kernel.get(RANDOM_READS, ())
    together = by_kernel.get(ALL_CORES, ())
    beside = [sample for name in NEIGHBOUR_KERNELS for sample in by_kernel.get(name, ())]
    return Calibration(
        about=_table(request, plan, recorded, memory),
        speed_flop_per_s=_speed_flop_per_s(by_kernel[SPEED]),
        memory=memory,
        all_cores_bytes_per_s=max(
            (dict(sample.sizes)["bytes"] / sample.wall_s for sample in together), default=float("nan")
        ),
        random_access=random_access(reads, memory, parts) if reads and memory is not None else (),
        neighbours=neighbours(beside, load_bytes(plan.curve_bytes)) if beside else None,
        costs=tuple(costs),
        failures=tuple(failures),
    )


def _was_to_be_measured(kernel: str, recorded: Recorded) -> bool:
    """Whether a kernel without a sample was skipped for lack of time; otherwise an earlier version did not know it."""
    is_complete = not any(warning.startswith(_TIME_WAS_OVER) for warning in recorded.warnings)
    return kernel in recorded.about["kernels"] or not is_complete


def _speed_flop_per_s(samples: Sequence[KernelSample]) -> float:
    ((_, order),) = samples[0].sizes
    return 2 * order**3 / float(np.median([sample.processor_s for sample in samples if sample.cache == "warm"]))


def _spread(samples: Iterable[KernelSample]) -> float:
    """Spread of calls of kernels over the rounds."""
    times_s: dict[tuple[Any, ...], list[float]] = {}
    for sample in samples:
        times_s.setdefault((sample.kernel, sample.sizes, sample.cache), []).append(sample.processor_s)
    return relative_spread(times_s.values())


def _table(
    request: CalibrationPlan, plan: MeasurementPlan, recorded: Recorded, memory: MemorySpeed | None
) -> dict[str, Any]:
    """The table [calibration] of the result file."""
    about = recorded.about
    waited = 1 - sum(s.processor_s for s in recorded.samples) / max(sum(s.wall_s for s in recorded.samples), 1e-9)
    notes = list(recorded.warnings)
    if waited > _WAITED_MAX:
        notes.append(f"the processor was taken away for {waited:.0%} of the measured time")
    if memory is not None and not memory.is_beyond_caches:
        largest = exact_size(memory.working_sets_bytes[-1])
        notes.append(
            f"the last cache is larger than the largest working set measured, {largest}, which counts as memory"
        )
    return {
        **about["machine"],
        "command": about["command"],
        "raw": request.raw.name,
        "speed": "rate of dgemm of order 1024 on one core",
        "plan": plan.name,
        "seed": plan.seed,
        "n_samples": len(recorded.samples),
        **({"computing_spread": float(f"{spread:.3g}")} if isfinite(spread := _spread(recorded.samples)) else {}),
        **({"warnings": notes} if notes else {}),
    }
