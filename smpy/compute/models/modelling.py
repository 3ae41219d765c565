"""The model of a world's computing, with the accounted time of each kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from smpy.engine.loop import LOOP_SUMS, PATH_VARIANCE

if TYPE_CHECKING:
    from smpy.compute.models.noise import NoiseDraws
    from smpy.platforms.models.kernel_costs import KernelCost, KernelCosts
    from smpy.platforms.models.thread_efficiency import ThreadEfficiency

ComputeMode = Literal["measured", "models", "mixed", "none"]
"""Way from computing to simulated time.

"measured" includes recorded and replayed bursts; "mixed" measures all other computing.
"""

NOISE_SUM: Final = PATH_VARIANCE - 1
"""Index of the sum over a critical path of the time that noise adds; sums before it are half widths."""
KERNEL_SUMS: Final = range(LOOP_SUMS.start)
"""Indices of the sums of kernels' half widths; several kernels share the last one."""


@dataclass(slots=True)
class KernelUse:
    """Totals of one kernel's calls, on all ranks.

    Attributes
    ----------
    is_calibrated : bool
        Whether the machine says its cost; else it was the roofline's.
    n_calls : int
        Its calls.
    seconds : float
        Time they took, each on cores of its own.
    n_extrapolated : int
        Calls of sizes that the calibration did not measure.
    n_without_time : int
        Calls of sizes at which the calibrated cost is 0 or below.
    """

    is_calibrated: bool
    n_calls: int = 0
    seconds: float = 0.0
    n_extrapolated: int = 0
    n_without_time: int = 0


class Modelling:
    """Models of a world's computing.

    Parameters
    ----------
    mode : {"measured", "models", "mixed", "none"}
        Way from computing to simulated time.
    costs : KernelCosts or None
        Costs of the machine.
    host_speed_flop_per_s : float
        Speed of a core of this machine; 0: as fast as each simulated one.
    noise_seed : int or None
        Seed of the noise on the time of kernels; None: there is none.
    threads : sequence of ThreadEfficiency
        Parallel efficiencies of the machine.

    Attributes
    ----------
    uses : dict of str to KernelUse
        By kernel.
    path_sums : dict of str to int
        Index of the sum of a kernel's uncertain time along the critical path; several kernels share the last one.
    noisy : set of int
        Ranks that called kernels whose noise is a part of the uncertainty.
    inside : set of int
        Ranks in the body of a kernel whose time is charged: their computing there takes none.
    bytes_without_bandwidth : float
        Memory traffic that took no time, on hosts whose memory bandwidth is not known.
    random_bytes_without_rate : float
        Bytes accessed at random that took no time, on hosts whose rate of random access is not known.
    """

    def __init__(
        self,
        mode: ComputeMode = "none",
        costs: KernelCosts | None = None,
        host_speed_flop_per_s: float = 0.0,
        noise_seed: int | None = None,
        threads: Sequence[ThreadEfficiency] = (),
    ) -> None:
        self.mode: Final = mode
        self.costs: Final[dict[str, KernelCost]] = {cost.name: cost for cost in costs.costs} if costs else {}
        self.reference_flop_per_s: Final = costs.reference_flop_per_s if costs else 0.0
        self.host_speed_flop_per_s: Final = host_speed_flop_per_s
        self._efficiencies: Final = {each.kernel: each for each in threads}
        self.draws: NoiseDraws | None = None
        if noise_seed is not None:
            from smpy.compute.models.noise import NoiseDraws

            self.draws = NoiseDraws(noise_seed)
        self.uses: Final[dict[str, KernelUse]] = {}
        self.path_sums: Final[dict[str, int]] = {}
        self._estimators: Final[dict[str, Callable[..., tuple[float, float]]]] = {}
        self._moments: Final[dict[str, tuple[float, float]]] = {}
        self.noisy: Final[set[int]] = set()
        self.inside: Final[set[int]] = set()
        self.bytes_without_bandwidth = 0.0
        self.random_bytes_without_rate = 0.0

    def estimate(self, cost: KernelCost, sizes: Sequence[int]) -> tuple[float, float]:
        """Time of a call on the reference core, and half the width of its interval, in seconds."""
        estimator = self._estimators.get(cost.name)
        if estimator is None:
            estimator = self._estimators[cost.name] = cost.estimator()
        return estimator(*sizes)

    def n_times_faster(self, kernel: str, n_threads: int) -> float:
        """Speed-up of a kernel by its threads, where memory does not bound it; 1 for one thread.

        The efficiency is that of the kernel, else of its class; 1 where the machine says neither.
        """
        if n_threads == 1:
            return 1.0
        from smpy.platforms.models.thread_efficiency import kernel_class  # most runs need not import it

        known = self._efficiencies.get(kernel) or self._efficiencies.get(kernel_class(kernel))
        return n_threads * (1.0 if known is None else known.at(n_threads))

    def path_sum(self, kernel: str) -> int:
        """Index of the sum to which a kernel's half widths are added."""
        number = self.path_sums.get(kernel)
        if number is None:
            number = self.path_sums[kernel] = min(len(self.path_sums), KERNEL_SUMS[-1])
        return number

    def moments(self, cost: KernelCost) -> tuple[float, float]:
        """Mean and variance of a kernel's noise, relative to its time."""
        known = self._moments.get(cost.name)
        if known is None:
            from smpy.compute.models.noise import moments

            known = self._moments[cost.name] = (0.0, 0.0) if cost.noise is None else moments(cost.noise)
        return known
