"""Table of a kernel in a calibration's result file."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from smpy.calibrate.costs import Cost
from smpy.calibrate.result_file import Table

_CORRELATION_DECIMALS: Final = 4  # with three digits of a half width, the half width of a time is right to 2 %


def kernel_table(cost: Cost) -> Table:
    """The table [kernels.NAME] of a cost.

    Beside a machine's entries it has `r_squared`, in seconds squared; `residual_median` and `residual_largest`,
    shares of the predicted time; `held_out_median`, `held_out_largest` and `held_out_total`, the same of sizes that the
    fit has not seen, and of their times together; `breusch_pagan_p`; `cold_over_warm`.
    """
    residuals = np.abs(cost.fit.relative_residuals)
    unseen = np.abs(cost.held_out_errors)
    figures = {
        "r_squared": cost.fit.r_squared,
        "residual_median": float(np.median(residuals)),
        "residual_largest": float(residuals.max()),
        "breusch_pagan_p": cost.fit.breusch_pagan_p,
        "n_fitted": len(residuals),
        "n_held_out": len(unseen),
        "held_out_median": float(np.median(unseen)) if len(unseen) else math.nan,
        "held_out_largest": float(unseen.max()) if len(unseen) else math.nan,
        "held_out_total": cost.total_error,
        "cold_over_warm": cost.cold_over_warm,
    }
    return {
        "sizes": list(cost.sizes),
        "seconds": {term: _significant(value, 6) for term, value in cost.fit.seconds.items()},
        "half_widths": {term: _significant(value, 3) for term, value in cost.fit.half_widths_s.items()},
        **({"correlations": _correlations(cost)} if len(cost.fit.seconds) > 1 else {}),
        **({"noise": cost.noise} if cost.noise else {}),
        "smallest": list(cost.smallest),
        "largest": list(cost.largest),
        **({"measured_where": "m >= n: of a wide matrix, take the larger size for m"} if cost.is_tall else {}),
        **{key: _significant(value, 5) for key, value in figures.items() if math.isfinite(value)},
    }


def _correlations(cost: Cost) -> list[list[float]]:
    """Correlations of the coefficients, in the order of `seconds`."""
    rounded: list[list[float]] = (np.round(cost.fit.correlations, _CORRELATION_DECIMALS) + 0.0).tolist()  # no -0
    return rounded


def _significant(value: float, digits: int) -> float:
    return value if isinstance(value, int) else float(f"{value:.{digits}g}")
