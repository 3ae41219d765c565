"""Costs of BLAS kernels: models of one term each, as regressions of measured times leave them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from smpy.compute.execute import execute, is_simulated
from smpy.engine.running import current
from smpy.errors import UsageError
from smpy.units import format_speed

__all__ = ["KernelModels"]

_REFERENCE_FLOP_PER_S = 1e9
_DGEMM_FLOP_PER_MNK, _DTRSM_FLOP_PER_MNN = 2, 1


@dataclass(frozen=True, slots=True)
class KernelModels:
    """Kernels that take their time on the running rank's simulated host, and compute nothing.

    A screening of cubic polynomials keeps one term a kernel [1]_. Outside a simulated run the calls do nothing. A
    kernel that does more operations than a core can (2 m n k, or m n n) is remarked on in the summary, and an error in
    a run with ``--strict``.

    Parameters
    ----------
    dgemm_s_per_mnk : float
        Seconds that C := C - A B takes for each m n k, on a core of 1 Gf; a faster one takes less in proportion.
    dtrsm_s_per_mnn : float
        Seconds that B := B L^-1 or its transpose takes for each m n n, on a core of 1 Gf.

    Raises
    ------
    ValueError
        If a cost is negative, infinite or not a number.

    References
    ----------
    .. [1] T. Cornebize, "Capacity Planning of Supercomputers: Simulating MPI Applications at Scale", 2017,
       hal-01544827.

    Examples
    --------
    >>> models = KernelModels(dgemm_s_per_mnk=1.083e-9, dtrsm_s_per_mnn=5.53e-10)
    >>> models.dgemm(1000, 1000, 100)  # 0.1083 s on a host of 1 Gf
    """

    dgemm_s_per_mnk: float
    dtrsm_s_per_mnn: float

    def __post_init__(self) -> None:
        for name in ("dgemm_s_per_mnk", "dtrsm_s_per_mnn"):
            if not 0 <= getattr(self, name) < inf:
                raise ValueError(f"{name} = {getattr(self, name)}: a time is finite and at least 0")

    def dgemm(self, m: int, n: int, k: int) -> None:
        """Take the time of the product of an m x k and a k x n matrix."""
        _compare("dgemm", _DGEMM_FLOP_PER_MNK, self.dgemm_s_per_mnk * _REFERENCE_FLOP_PER_S)
        execute(self.dgemm_s_per_mnk * _REFERENCE_FLOP_PER_S * m * n * k)

    def dtrsm(self, m: int, n: int) -> None:
        """Take the time of solving with an n x n triangle for m right-hand sides."""
        _compare("dtrsm", _DTRSM_FLOP_PER_MNN, self.dtrsm_s_per_mnn * _REFERENCE_FLOP_PER_S)
        execute(self.dtrsm_s_per_mnn * _REFERENCE_FLOP_PER_S * m * n * n)


def _compare(kernel: str, done_flop: float, paid_flop: float) -> None:
    """Operations that a kernel does with those that a core at its peak could do in the time it takes."""
    if paid_flop < done_flop and is_simulated():
        _above_peak(kernel, done_flop / paid_flop if paid_flop else inf)


def _above_peak(kernel: str, ratio: float) -> None:
    """The kernel does so many times what the running rank's core can do."""
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
