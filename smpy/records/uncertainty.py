"""Uncertainty of a makespan from that of kernels' costs and of skipped iterations."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, sqrt
from typing import Final

_Z95: Final = 1.959964  # normal distribution: 95 % lie within this number of standard deviations


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """First-order propagation of a calibration's intervals and residuals along the critical path of a run.

    Parameters
    ----------
    coefficients_s : float
        Half-width of the 95 % interval that results from the coefficients' intervals.
    noise_mean_s : float
        Mean time that noise adds: calls that only get slower make a run slower.
    noise_sd_s : float
        Standard deviation of the time that noise adds.
    iterations_s : float
        Half-width of the 95 % interval of the time of iterations that were skipped.

    Examples
    --------
    >>> round(Uncertainty(coefficients_s=0.3, noise_mean_s=0.1, noise_sd_s=0.4 / 1.96).half_width_s, 3)
    0.6
    """

    coefficients_s: float
    noise_mean_s: float
    noise_sd_s: float
    iterations_s: float = 0.0

    @property
    def of_kernels_s(self) -> float:
        """Half-width that results from the costs of kernels alone."""
        return abs(self.noise_mean_s) + sqrt(self.coefficients_s**2 + (_Z95 * self.noise_sd_s) ** 2)

    @property
    def half_width_s(self) -> float:
        """Half-width of the interval around the makespan that contains 95 % of runs."""
        return hypot(self.of_kernels_s, self.iterations_s)
