"""Uncertainty of a run's makespan, from the uncertain times along the critical path that ends last."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Final

from smpy.compute.models.modelling import KERNEL_SUMS, NOISE_SUM
from smpy.engine.loop import LOOP_SUMS
from smpy.records.uncertainty import Uncertainty

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

_SAME_DATE: Final = 1e-9  # relative to the makespan, and seconds


def uncertainty_of(engine: Engine, finish_s: Sequence[float]) -> Uncertainty:
    """Uncertainty of the makespan of a run in which every rank has ended.

    Coefficients of one kernel are off together on all ranks and in all calls, those of different kernels independently;
    so are skipped iterations of loops by their names. Noise is independent from call to call. If ranks end last
    together, the most uncertain one counts.
    """
    last_s = max(finish_s)
    early_s = last_s - _SAME_DATE * max(1.0, last_s)
    estimates = [_of_path(engine.path(rank)) for rank, date_s in enumerate(finish_s) if date_s >= early_s]
    return max(estimates, key=lambda one: one.half_width_s)


def _of_path(sums: Sequence[float]) -> Uncertainty:
    return Uncertainty(
        coefficients_s=sqrt(sum(sums[kernel] ** 2 for kernel in KERNEL_SUMS)),
        noise_mean_s=sums[NOISE_SUM],
        noise_sd_s=sqrt(sums[-1]),
        iterations_s=sqrt(sum(sums[loop] ** 2 for loop in LOOP_SUMS)),
    )
