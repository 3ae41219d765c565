"""The pseudorandom numbers of the NAS Parallel Benchmarks: x' = 5^13 x mod 2^46, over 2^46 [1]_.

Any place of the sequence is reached directly, since the k-th number after x is 5^(13 k) x.

References
----------
.. [1] D. Bailey et al., "The NAS Parallel Benchmarks", NASA report RNR-94-007, 1994, section 2.3.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

__smpy_shared__ = True

A = 5**13
MODULUS = 2**46
_MASK = np.uint64(MODULUS - 1)


def after(seed: int, k: int) -> int:
    """The k-th number after a seed, as an integer below 2^46."""
    return seed * pow(A, k, MODULUS) % MODULUS


@cache
def powers(n: int) -> NDArray[np.uint64]:
    """A^1, ..., A^n modulo 2^46, n a power of two. Products wrap at 2^64, and their low 46 bits are right."""
    table = np.array([A], np.uint64)
    while len(table) < n:
        table = np.concatenate([table, table * table[-1] & _MASK])
    return table


def uniform(seed: int, n: int) -> NDArray[np.float64]:
    """The n numbers after a seed, in (0, 1); n a power of two."""
    return (np.uint64(seed) * powers(n) & _MASK) * 2.0**-46
