"""The matrix of CG of the NAS Parallel Benchmarks: a sum of outer products of sparse random vectors [1]_.

References
----------
.. [1] D. Bailey et al., "The NAS Parallel Benchmarks", NASA report RNR-94-007, 1994, section 2.2.3. The order of random
   numbers, and the eigenvalues to verify with, are those of the source of NPB 3.3, `cg.f`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from lcg import after, uniform
from numpy.typing import NDArray

__smpy_shared__ = True

SEED = 314_159_265
CONDITION = 0.1
_NUMBERS = 1 << 12  # drawn at a time


class Size(NamedTuple):
    """Rows, entries of a random vector, iterations, shift of the diagonal, and the eigenvalue to find."""

    n: int
    n_entries: int
    n_iterations: int
    shift: float
    zeta: float


CLASSES = {
    "S": Size(1400, 7, 15, 10.0, 8.5971775078648),
    "W": Size(7000, 8, 15, 12.0, 10.362595087124),
    "A": Size(14000, 11, 15, 20.0, 17.130235054029),
}
"""Sizes by class."""


class Rows(NamedTuple):
    """Matrix by rows: the entries of row r are those from starts[r] to starts[r + 1] - 1."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]


class _Numbers:
    """The random numbers one after the other; the first one is left out."""

    def __init__(self) -> None:
        self._seed, self._at = after(SEED, 1), 0
        self._drawn = uniform(self._seed, _NUMBERS).tolist()

    def next(self) -> float:
        if self._at == _NUMBERS:
            self._seed, self._at = after(self._seed, _NUMBERS), 0
            self._drawn = uniform(self._seed, _NUMBERS).tolist()
        self._at += 1
        number: float = self._drawn[self._at - 1]
        return number


def _vector(numbers: _Numbers, size: Size, row: int) -> dict[int, float]:
    """A sparse random vector, by place; its entry at `row` is 1/2."""
    places = 1 << (size.n - 1).bit_length()
    entries: dict[int, float] = {}
    while len(entries) < size.n_entries:
        value, place = numbers.next(), int(places * numbers.next())
        if place < size.n and place not in entries:
            entries[place] = value
    entries[row] = 0.5
    return entries


@cache
def matrix(name: str) -> Rows:
    """The matrix of a class."""
    size, numbers = CLASSES[name], _Numbers()
    at, values = [], []
    scale, ratio = 1.0, CONDITION ** (1.0 / size.n)
    for row in range(size.n):
        vector = _vector(numbers, size, row)
        places, entries = np.array(list(vector)), np.array(list(vector.values()))
        product = scale * np.outer(entries, entries)
        product[places == row, places == row] += CONDITION - size.shift
        at.append(np.add.outer(places * size.n, places).ravel())
        values.append(product.ravel())
        scale *= ratio
    keys, where = np.unique(np.concatenate(at), return_inverse=True)
    rows, columns = np.divmod(keys, size.n)
    sums = np.bincount(where.ravel(), np.concatenate(values))
    return Rows(np.searchsorted(rows, np.arange(size.n + 1)), columns, sums)
