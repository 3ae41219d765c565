"""Charges the running rank for kernels: by the machine's costs, by a roofline, or as the program states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from operator import index
from typing import TYPE_CHECKING, Literal

from smpy.compute.models.execute import WORDS_OF_A_LINE, check_work, core_and_memory, is_simulated
from smpy.compute.models.modelling import NOISE_SUM, KernelUse, Modelling
from smpy.compute.models.roofline import cache_bandwidth_bytes_per_s, main_memory_bytes_per_s
from smpy.engine.running import current, is_running, named_call, per_world
from smpy.engine.surface import surface
from smpy.errors import UsageError
from smpy.units import format_speed

if TYPE_CHECKING:
    from smpy.engine.engine import Engine
    from smpy.platforms.models.kernel_costs import KernelCost
    from smpy.platforms.models.memory import Memory

__all__ = ["KernelModels", "Unmeasured", "charge_kernel", "takes_time"]

_REFERENCE_FLOP_PER_S = 1e9
_DGEMM_FLOP_PER_MNK, _DTRSM_FLOP_PER_MNN = 2, 1


# ---- kernels of the machine ----


def takes_time(*, is_folded: bool) -> bool:
    """Whether an operation takes modelled time.

    On folded arrays it does unless computing is free, on real ones with ``--compute models`` and ``mixed``; never
    inside a `smpy.kernel`, which takes its own time.
    """
    if not is_running():
        return False
    modelling = per_world(Modelling)
    is_timed = modelling.mode in ("models", "mixed") or (is_folded and modelling.mode == "measured")
    return is_timed and not (modelling.inside and current().rank in modelling.inside)


class Unmeasured:
    """Suspends measuring in its body: a model says its time, and smpy's own work takes none."""

    __slots__ = ("_stopped",)

    def __enter__(self) -> None:
        clock = current().clock
        self._stopped = clock if clock is not None and clock.stop() else None

    def __exit__(self, *_: object) -> None:
        if self._stopped is not None:
            self._stopped.start()


@named_call("")
def charge_kernel(
    kernel: str,
    sizes: Sequence[int],
    *,
    flop: float,
    moved_bytes: float = 0,
    working_set_bytes: float = 0,
    random_bytes: float = 0,
    n_calls: int = 1,
    threads: int | None = None,
) -> None:
    """Let the running rank take the time of calls; nothing outside a simulated run. Callers have asked `takes_time`.

    If the machine has a cost of the kernel (`[kernels]`), that is its time on one busy core; moving bytes through
    the memory of its host then takes longer where other cores want more than there is. Otherwise it is a roofline's, as
    of `smpy.execute`. A call with a size of 0 takes no time. In several threads, the time of one is divided by their
    number and parallel efficiency, and the memory of the host bounds it.

    Parameters
    ----------
    kernel : str
        Its name: "dgemm", "dtrsm_left".
    sizes : sequence of int
        Its sizes, in the order in which the machine names them.
    flop : float
        Operations of a call.
    moved_bytes : float, optional
        Bytes it reads and writes.
    working_set_bytes : float, optional
        Size of that memory, each byte counted once; 0: it is in main memory.
    random_bytes : float, optional
        Bytes of words that it accesses at random addresses.
    n_calls : int, optional
        Number of calls, one after the other.
    threads : int, optional
        Number of threads; without it, one on each of the rank's cores.

    Raises
    ------
    ValueError
        If a size is negative, or the work is none.
    UsageError
        If the machine's cost is one of another number of sizes, or there are more threads than cores of the rank.
    """
    if not is_running() or not all(sizes) or not n_calls:
        return
    engine, modelling = current(), per_world(Modelling)
    cost = modelling.costs.get(kernel)
    use = modelling.uses.get(kernel)
    if use is None:
        use = modelling.uses[kernel] = KernelUse(is_calibrated=cost is not None)
    if min(sizes, default=0) < 0:
        raise ValueError(f"{kernel} has a size of {min(sizes)}: sizes are at least 0")
    use.n_calls += n_calls
    speed_flop_per_s = engine.speed_flop_per_s()
    n_threads = engine.threads_of(threads)
    speed_up = modelling.n_times_faster(kernel, n_threads)
    if cost is None:
        check_work(flop, moved_bytes, working_set_bytes, random_bytes)
        moved_bytes *= n_calls
        flop, moved_bytes = core_and_memory(
            *(engine, flop * n_calls / speed_up, moved_bytes, working_set_bytes, n_threads),
            random_bytes=random_bytes * n_calls,
        )
        bytes_per_s = main_memory_bytes_per_s(engine.memory(), n_threads)
        use.seconds += max(flop / speed_flop_per_s, moved_bytes / bytes_per_s if bytes_per_s else 0.0)
        engine.compute(flop, moved_bytes, kernel, n_calls, n_threads)
        return
    if len(sizes) != len(cost.sizes):
        raise UsageError(
            f"the machine's cost of {kernel} has the sizes {', '.join(cost.sizes)}, and its calls have {len(sizes)}"
        )
    seconds, half_width_s = (each / speed_up for each in modelling.estimate(cost, sizes))
    flop, scale = seconds * modelling.reference_flop_per_s, modelling.reference_flop_per_s / speed_flop_per_s
    if modelling.draws is None:
        _add_uncertainty(engine, modelling, cost, seconds * scale, half_width_s * scale, n_calls)
        flop *= n_calls
    elif cost.noise is not None:
        noise_free_flop = flop * n_calls
        flop *= modelling.draws.sum_of_factors(cost.noise, engine.rank, n_calls)
        engine.tell_noise_free(kernel, noise_free_flop, has_noisy=flop > 0)
    else:
        flop *= n_calls
    use.seconds += flop / speed_flop_per_s
    use.n_extrapolated += n_calls * (not cost.is_measured_at(sizes))
    use.n_without_time += n_calls * (not seconds)
    one_thread_s = flop * speed_up / speed_flop_per_s
    part_bytes = engine.memory().crowded_bytes(working_set_bytes / n_threads, engine.n_busy_cores())
    all_bytes = (moved_bytes + WORDS_OF_A_LINE * random_bytes) * n_calls
    shared_bytes = _shared_bytes(engine.memory(), all_bytes, part_bytes, one_thread_s)
    engine.compute(flop, shared_bytes, kernel, n_calls, n_threads)


def _shared_bytes(memory: Memory, moved_bytes: float, working_set_bytes: float, alone_s: float) -> float:
    """Bytes through the memory that cores share, at most as many as one core alone could move in this time."""
    if not memory.bandwidth_bytes_per_s or cache_bandwidth_bytes_per_s(memory, working_set_bytes):
        return 0.0
    return min(moved_bytes, alone_s * memory.alone_bytes_per_s)


def _add_uncertainty(
    engine: Engine, modelling: Modelling, cost: KernelCost, seconds: float, half_width_s: float, n_calls: int
) -> None:
    """Record the uncertainty of calls: coefficients, common to all calls, and noise, independent from call to call."""
    mean, variance = modelling.moments(cost)
    if half_width_s or variance:
        engine.add_to_path(
            modelling.path_sum(cost.name), n_calls * half_width_s, n_calls * variance * seconds * seconds
        )
    if variance:
        modelling.noisy.add(engine.rank)
    if mean:
        engine.add_to_path(NOISE_SUM, n_calls * mean * seconds)


# ---- kernels that a program defines ----


@dataclass(frozen=True, slots=True)
class KernelModels:
    """Kernels that take time on the running rank's simulated host, and compute nothing.

    A screening of cubic polynomials keeps one term a kernel [1]_. Outside a simulated run the calls do nothing.
    Profiles and traces call the kernels dgemm, dtrsm_right and dtrsm_left. A
    kernel that does more operations than a core can (2 m n k, or m n n) is remarked on in the summary, and an error in
    a run with ``--strict``.

    Parameters
    ----------
    dgemm_s_per_mnk : float or None
        Seconds that C := C - A B takes for each m n k, on a core of 1 Gf; a faster one takes less in proportion.
        None: the cost of dgemm in the machine's `[kernels]`.
    dtrsm_s_per_mnn : float or None
        Seconds that B := B L^-1 takes for each m n n, on a core of 1 Gf; or B := L^-1 B for each m m n. None: the
        costs of dtrsm_right and dtrsm_left in the machine's `[kernels]`.

    Raises
    ------
    ValueError
        If a cost is negative, infinite or not a number.
    UsageError
        If the machine is to say the cost of a call and does not.

    References
    ----------
    .. [1] T. Cornebize, "Capacity Planning of Supercomputers: Simulating MPI Applications at Scale", 2017,
       hal-01544827.

    Examples
    --------
    >>> models = KernelModels(dgemm_s_per_mnk=1.083e-9, dtrsm_s_per_mnn=5.53e-10)
    >>> models.dgemm(1000, 1000, 100)  # 0.1083 s on a host of 1 Gf
    """

    dgemm_s_per_mnk: float | None
    dtrsm_s_per_mnn: float | None

    def __post_init__(self) -> None:
        for name in ("dgemm_s_per_mnk", "dtrsm_s_per_mnn"):
            seconds = getattr(self, name)
            if seconds is not None and not 0 <= seconds < inf:
                raise ValueError(f"{name} = {seconds}: a time is finite and at least 0")

    def dgemm(self, m: int, n: int, k: int) -> None:
        """Take the time of the product of an m x k and a k x n matrix."""
        if self.dgemm_s_per_mnk is None:
            _charge_as_calibrated("dgemm", m, n, k)
            return
        _compare("dgemm", _DGEMM_FLOP_PER_MNK, self.dgemm_s_per_mnk * _REFERENCE_FLOP_PER_S)
        _compute_as("dgemm", self.dgemm_s_per_mnk * _REFERENCE_FLOP_PER_S * m * n * k)

    def dtrsm(self, m: int, n: int, side: Literal["left", "right"] = "right") -> None:
        """Take the time of solving with a triangle for an m x n matrix: n x n from its right, m x m from its left.

        Raises
        ------
        ValueError
            If the side is neither.
        """
        if side not in ("left", "right"):
            raise ValueError(f"side = {side!r}: the triangle is on the left or on the right")
        if self.dtrsm_s_per_mnn is None:
            _charge_as_calibrated(f"dtrsm_{side}", m, n)
            return
        _compare("dtrsm", _DTRSM_FLOP_PER_MNN, self.dtrsm_s_per_mnn * _REFERENCE_FLOP_PER_S)
        order = n if side == "right" else m
        _compute_as(f"dtrsm_{side}", self.dtrsm_s_per_mnn * _REFERENCE_FLOP_PER_S * m * n * order)


def _compute_as(kernel: str, flop: float) -> None:
    """Let the running rank compute a kernel; nothing outside a simulated run."""
    is_named = surface is not None and is_running() and kernel in current().kernel_names
    if surface is None or not is_named or not surface.compute(flop, kernel):
        _compute_slowly_as(kernel, flop)


@named_call("")
def _compute_slowly_as(kernel: str, flop: float) -> None:
    """Charge without the compiled surface, or for the first time, which records the kernel's name."""
    check_work(flop, 0, 0)
    if is_running():
        engine = current()
        n_threads = engine.cpus_per_task
        engine.compute(flop / per_world(Modelling).n_times_faster(kernel, n_threads), 0.0, kernel, n_threads=n_threads)


def _charge_as_calibrated(kernel: str, *sizes: int) -> None:
    if not is_running():
        return
    if kernel not in per_world(Modelling).costs:
        raise UsageError(
            f"the machine does not say what {kernel} costs: include a calibration in its file, name one (--kernels), "
            "or give its seconds"
        )
    charge_kernel(kernel, [each if isinstance(each, float) else index(each) for each in sizes], flop=0)


def _compare(kernel: str, done_flop: float, paid_flop: float) -> None:
    """Operations of a kernel, with those that a core at its peak could do in the kernel's time."""
    if paid_flop < done_flop and is_simulated():
        _above_peak(kernel, done_flop / paid_flop if paid_flop else inf)


def _above_peak(kernel: str, ratio: float) -> None:
    """Note a kernel that does so many times the operations that the running rank's core can do."""
    engine = current()
    if kernel in engine.kernels_above_peak:
        return
    peak = engine.speed_flop_per_s()
    engine.kernels_above_peak[kernel] = (ratio * peak, peak)
    if engine.is_strict:
        raise UsageError(
            f"{kernel} is modelled at {format_speed(ratio * peak)}, above the {format_speed(peak)} of a core of "
            f"{engine.host_name(engine.rank)}, and the run is strict: give a larger cost"
        )
