"""Sobol indices: how much of the variance of a result is due to each of its parameters (SALib).

With f of independent x_1 ... x_k, V its variance [1]_:

    first  S_i = V(E(f | x_i)) / V          the part that vanishes, on average, once x_i is known
    total  T_i = E(V(f | x_j, j != i)) / V  the part that is left once all others are known, interactions included

References
----------
.. [1] Saltelli, Annoni, Azzini, Campolongo, Ratto, Tarantola: "Variance based sensitivity analysis of model output",
   Computer Physics Communications 181 (2), 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from smpy.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Index:
    """Sobol indices of one parameter.

    Attributes
    ----------
    first, total : float
        First-order and total index, as defined in the module.
    first_half_width, total_half_width : float
        Half the width of their 95 % intervals, by resampling.
    """

    first: float
    first_half_width: float
    total: float
    total_half_width: float


def sobol_points(n_parameters: int, n_samples: int, seed: int) -> NDArray[np.float64]:
    """Points at which to compute the result, [n_samples * (n_parameters + 2), n_parameters], from 0 to 1.

    Raises
    ------
    UsageError
        If `n_samples` is not a power of 2, or SALib is missing.
    """
    if n_samples < 2 or n_samples & (n_samples - 1):
        below = 1 << max(n_samples, 2).bit_length() - 1
        raise UsageError(f"{n_samples} samples: a Sobol sequence has a power of 2, such as {below} or {2 * below}")
    problem = _problem(n_parameters)
    points: NDArray[np.float64] = _salib("sample").sample(problem, n_samples, calc_second_order=False, seed=seed)
    return points


def sobol_indices(results: Sequence[float], n_parameters: int, seed: int) -> list[Index]:
    """The indices of each parameter.

    Parameters
    ----------
    results : sequence of float
        Result at each of `sobol_points`.
    n_parameters : int
        Number of parameters.
    seed : int
        Seed of resampling.
    """
    import numpy as np

    values = np.asarray(results, dtype=np.float64)
    if np.ptp(values) <= 1e-12 * np.abs(values).max():  # no variance to explain
        return [Index(0.0, 0.0, 0.0, 0.0)] * n_parameters
    problem, not_zero = _problem(n_parameters), seed + 1  # SALib takes seed 0 as no seed
    analysis = _salib("analyze").analyze(problem, values, calc_second_order=False, seed=not_zero)
    columns = [[float(value) for value in analysis[key]] for key in ("S1", "S1_conf", "ST", "ST_conf")]
    return [Index(*row) for row in zip(*columns, strict=True)]


def _problem(n_parameters: int) -> dict[str, Any]:
    import numpy as np

    return {
        "num_vars": n_parameters,
        "names": np.array([str(i) for i in range(n_parameters)]),  # SALib 1.5 gives them to pandas, which takes no list
        "bounds": [[0.0, 1.0]] * n_parameters,
    }


def _salib(part: str) -> Any:
    from smpy.analysis.result import import_optional

    return import_optional(f"SALib.{part}.sobol", extra="study")
