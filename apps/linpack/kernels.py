"""The two kernels that take the time, done or modelled; and the memory they work on.

`Numbers` computes with BLAS. `Skeleton` takes the time that a linear model says and touches nothing: its memory is
folded, so the largest machine's matrix fits into a laptop, and its pivots are regular.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linpack.settings import BadSettings

Array = Any


class Numbers:
    """Real arithmetic.

    Raises
    ------
    BadSettings
        If there is no scipy, whose BLAS it takes.
    """

    is_real = True

    def __init__(self) -> None:
        try:
            from scipy.linalg.blas import dtrsm
        except ImportError:
            raise BadSettings("real numbers need scipy's BLAS: pip install scipy") from None

        self._dtrsm = dtrsm

    def memory(self, *shape: int) -> Array:
        """Room for that many numbers, rows one after the other."""
        return np.zeros(shape)

    def matrix(self, n_rows: int, n_columns: int) -> Array:
        """A matrix, columns one after the other."""
        return np.zeros((n_rows, n_columns), order="F")

    def subtract_product(self, c: Array, a: Array, b: Array) -> None:
        """C := C - A B."""
        if c.size and a.shape[1]:
            c -= a @ b

    def solve_unit_lower(self, l: Array, b: Array) -> None:  # noqa: E741  # as the literature calls it
        """B := L^-1 B, for the unit lower triangle of L."""
        if b.size:
            b[...] = self._dtrsm(1.0, l.T, b.T, side=1, lower=0, diag=1).T


class Skeleton:
    """Modelled time.

    Parameters
    ----------
    dgemm_s, dtrsm_s : float
        Seconds per m n k, and per m n n (n x n triangle), on a host of 1 Gf; faster hosts take less.

    Raises
    ------
    BadSettings
        If the program does not run under `smpy run`.
    """

    is_real = False

    def __init__(self, dgemm_s: float, dtrsm_s: float) -> None:
        try:
            from smpy import KernelModels, folded, is_simulated
        except ImportError:
            raise BadSettings("--skeleton: run it under `smpy run`; smpy is not installed here") from None
        if not is_simulated():
            raise BadSettings("--skeleton: there is nothing to send under a real MPI; run it under `smpy run`")
        models = KernelModels(dgemm_s, dtrsm_s)
        self._folded, self._dgemm, self._dtrsm = folded, models.dgemm, models.dtrsm

    def memory(self, *shape: int) -> Array:
        """What takes no room."""
        return self._folded(shape)

    matrix = memory

    def subtract_product(self, c: Array, a: Array, b: Array) -> None:
        """The time of C := C - A B."""
        (m, k), n = a.shape, b.shape[1]
        if m and n and k:
            self._dgemm(m, n, k)

    def solve_unit_lower(self, l: Array, b: Array) -> None:  # noqa: E741  # as the literature calls it
        """The time of B := L^-1 B."""
        n, m = b.shape
        if n and m:
            self._dtrsm(m, n)


Kernels = Numbers | Skeleton
