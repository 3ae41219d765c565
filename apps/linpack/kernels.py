"""The two kernels that take the time, done or modelled; and the memory they work on.

`Numbers` computes with BLAS. `Skeleton` takes the time that a linear model says and touches nothing: its memory is
folded, so the largest machine's matrix fits into a laptop (unless it is asked not to be), and its pivots are regular.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from modelled import kernel

from linpack.messages import Number, Steps
from linpack.settings import BadSettings

Array = Any
Costs = tuple[float | None, float | None]
"""Seconds of dgemm per m n k and of dtrsm per m n n, on a host of 1 Gf; None: what the machine's calibration says."""
REFERENCE_FLOP_PER_S = 1e9

NUMBER_BYTES = 8
STRIP = 128
"""Rows, or columns, of a product that are made at once: what is subtracted is still in the caches."""


@kernel(name="dgemm", flop="2*m*n*k")
def multiply(m: int, n: int, k: int, a: Array, b: Array, product: Array) -> None:
    """The product of an m x k and a k x n matrix."""
    np.matmul(a, b, out=product)


@kernel(bytes="24*c.size", working_set_bytes="16*c.size")
def subtract(product: Array, c: Array) -> None:
    """C := C - product."""
    c -= product


@kernel(name="dtrsm_right", flop="m*n*n")
def solve_right(m: int, n: int, dtrsm: Array, triangle: Array, b: Array) -> Array:
    """B L^-1, of an m x n matrix and a unit upper triangle."""
    return dtrsm(1.0, triangle, b, side=1, lower=0, diag=1)


@kernel(bytes="256*a.shape[1]")
def exchange(a: Array, row: int, other: int) -> None:
    """Change two rows of a matrix whose columns lie one after the other: each number is in a cache line of its own."""
    a[[row, other]] = a[[other, row]]


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
        self._product = np.empty(0)

    def _room(self, shape: tuple[int, ...]) -> Array:
        """Memory for a product, the same again and again."""
        size = prod(shape)
        if len(self._product) < size:
            self._product = np.empty(size)
        return self._product[:size].reshape(shape)

    def memory(self, *shape: int) -> Array:
        """Room for that many numbers, rows one after the other."""
        return np.zeros(shape)

    def matrix(self, n_rows: int, n_columns: int) -> Array:
        """A matrix, columns one after the other."""
        return np.zeros((n_rows, n_columns), order="F")

    def subtract_product(self, c: Array, a: Array, b: Array, rows: slice, columns: slice, inner: slice) -> None:
        """C := C - A B, for some rows of C and A, columns of C and B, and the columns of A that are rows of B."""
        if length(rows) <= 0 or length(columns) <= 0 or length(inner) <= 0:
            return
        c, a, b = c[rows, columns], a[rows, inner], b[inner, columns]
        if c.strides[0] < c.strides[1]:  # its columns lie one after the other
            c, a, b = c.T, b.T, a.T
        for start in range(0, len(c), STRIP):
            strip = slice(start, start + STRIP)
            part = c[strip]
            product = self._room(part.shape)
            multiply(*part.shape, len(b), a[strip], b, product)
            subtract(product, part)

    def solve_unit_lower(self, l: Array, b: Array, rows: slice, columns: slice) -> None:  # noqa: E741  # as in books
        """B := L^-1 B, for the unit lower triangle of some rows and columns of L, and these rows of B."""
        if length(rows) > 0 and length(columns) > 0:
            part = b[rows, columns]
            part[...] = solve_right(len(part.T), len(part), self._dtrsm, l[rows, rows].T, part.T).T


class Skeleton:
    """Modelled time.

    Parameters
    ----------
    dgemm_s, dtrsm_s : float or None
        Seconds per m n k, and per m n n (n x n triangle), on a host of 1 Gf; faster hosts take less. None: what the
        simulated machine's calibration says.
    is_folded : bool
        Whether arrays take no memory; else messages copy what lies there.
    is_on_device : bool
        Whether the trailing matrix is on the rank's device, which updates it (`start_update`).

    Attributes
    ----------
    costs : Costs
        Seconds of dgemm and dtrsm, as given.

    Raises
    ------
    BadSettings
        If the program does not run under `smpy run`.
    """

    is_real = False

    def __init__(
        self, dgemm_s: float | None, dtrsm_s: float | None, is_folded: bool = True, is_on_device: bool = False
    ) -> None:
        try:
            from smpy import folded, is_simulated
        except ImportError:
            raise BadSettings("--skeleton: run it under `smpy run`; smpy is not installed here") from None
        if not is_simulated():
            raise BadSettings("--skeleton: there is nothing to send under a real MPI; run it under `smpy run`")
        self.costs: Costs = dgemm_s, dtrsm_s
        self.is_on_device = is_on_device
        if dtrsm_s is not None:
            _models(self.costs).dtrsm(0, 0)  # remarks on a cost that is less than a core's at its peak
        if dgemm_s is not None:
            _models(self.costs).dgemm(0, 0, 0)
        self._new_array, self._new_matrix = (_folded, folded) if is_folded else (np.empty, np.empty)

    def memory(self, *shape: int) -> Array:
        """An array for data without content; folded memory, unless `is_folded` was false."""
        return self._new_array(shape)

    def matrix(self, n_rows: int, n_columns: int) -> Array:
        """Likewise; a run is told that it folds something."""
        return self._new_matrix((n_rows, n_columns))


def write_dgemm(steps: Steps, costs: Costs, m: Number, n: Number, k: Number) -> None:
    """The time of C := C - A B, for an m x k and a k x n matrix; sizes are at least 0."""
    if costs[0] is None:
        steps.Call(_models(costs).dgemm, m, n, k)
    else:
        steps.Execute(costs[0] * REFERENCE_FLOP_PER_S, m, n, k, kernel="dgemm")


def write_dtrsm(steps: Steps, costs: Costs, m: Number, n: Number) -> None:
    """The time of B := B L^-1, for an m x n matrix."""
    if costs[1] is None:
        steps.Call(_models(costs).dtrsm, m, n)
    else:
        steps.Execute(costs[1] * REFERENCE_FLOP_PER_S, m, n, n, kernel="dtrsm_right")


def bring_panel(m: int, width: int) -> None:
    """Copy the columns of a panel from the device, to be factored on the host."""
    from smpy import copy_from_device, synchronize

    copy_from_device(NUMBER_BYTES * m * width)
    synchronize()


def start_update(m: int, n: int, width: int) -> None:
    """Start the update of n columns of the device's matrix; m rows below the block are left.

    The rows that are exchanged travel to the host and back, the panel to the device.
    """
    from smpy import copy_from_device, copy_to_device, execute

    copy_from_device(NUMBER_BYTES * width * n)
    copy_to_device(NUMBER_BYTES * width * (n + m + width))
    execute(n * width * width, NUMBER_BYTES * (width * width + 2 * width * n), device="gpu")
    execute(2 * m * n * width, NUMBER_BYTES * (m * width + width * n + 2 * m * n), device="gpu")


@lru_cache(1 << 4)
def _models(costs: Costs) -> Any:
    """`smpy.KernelModels`, under `smpy run`."""
    from smpy import KernelModels

    return KernelModels(*costs)


@lru_cache(1 << 10)
def _folded(shape: tuple[int, ...]) -> Array:
    """One array for all of a shape: what has no content need not be there twice."""
    from smpy import folded

    return folded(shape)


def length(part: slice) -> int:
    """Number of indices in a slice with both ends and without a step."""
    return part.stop - part.start  # type: ignore[no-any-return]


Kernels = Numbers | Skeleton
