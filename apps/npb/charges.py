"""Sizes of MG of the NAS Parallel Benchmarks, and the right side that they solve for [1]_.

References
----------
.. [1] D. Bailey et al., "The NAS Parallel Benchmarks", NASA report RNR-94-007, 1994, section 2.2.2. The norms to verify
   with, and the places of coarse points among fine ones, are those of the source of NPB 3.3, `mg.f`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from lcg import uniform
from numpy.typing import NDArray

__smpy_shared__ = True

SEED = 314_159_265
_N_CHARGES = 10  # of each sign


class Size(NamedTuple):
    """Points a side, iterations, and the norm of the residual to find."""

    n: int
    n_iterations: int
    norm: float


CLASSES = {
    "S": Size(32, 4, 0.5307707005734e-4),
    "W": Size(128, 4, 0.6467329375339e-5),
    "A": Size(256, 4, 0.2433365309069e-5),
}
"""Sizes by class."""


@cache
def charges(n: int) -> NDArray[np.int64]:
    """Places (z, y, x) of the ten largest random numbers, and then of the ten smallest: charges of 1 and of -1."""
    numbers = uniform(SEED, n**3)
    largest = np.argpartition(numbers, -_N_CHARGES)[-_N_CHARGES:]
    smallest = np.argpartition(numbers, _N_CHARGES)[:_N_CHARGES]
    return np.stack(np.unravel_index(np.concatenate([largest, smallest]), (n, n, n)), axis=1)
