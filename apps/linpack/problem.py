"""The system that is solved, and how good its solution is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
from mpi4py import MPI

from linpack.cyclic import overall, owned, owner
from linpack.grid import Grid
from linpack.panel import Matrix

SEED = 100


class Outcome(Enum):
    """Result of a run."""

    PASSED = auto()
    FAILED = auto()
    UNCHECKED = auto()
    SKIPPED = auto()


def generate(matrix: Matrix, grid: Grid) -> None:
    """Fill this process's part with numbers between -1/2 and 1/2; the whole does not depend on the grid."""
    rows = overall_rows(matrix, grid)
    for place in range(matrix.n_columns):
        column = overall(place, matrix.nb, grid.column, grid.n_columns)
        numbers = np.random.Generator(np.random.Philox(key=SEED, counter=column << 64)).random(matrix.n)
        matrix.a[:, place] = numbers[rows] - 0.5


def overall_rows(matrix: Matrix, grid: Grid) -> np.ndarray:
    """The rows of the system that are here."""
    return overall(np.arange(matrix.n_rows), matrix.nb, grid.row, grid.n_rows)  # type: ignore[arg-type, return-value]


@dataclass(frozen=True, slots=True)
class Residual:
    """Norms of a solved system: of A x - b, A, x and b."""

    residual_oo: float
    a_oo: float
    a_1: float
    x_oo: float
    x_1: float
    b_oo: float
    scaled: float
    """||Ax-b||_oo / (eps (||A||_oo ||x||_oo + ||b||_oo) N)"""


def check(matrix: Matrix, grid: Grid) -> Residual:
    """Make the system anew and put its solution in."""
    generate(matrix, grid)
    n_own = owned(matrix.n, matrix.nb, grid.column, grid.n_columns)
    a, x = matrix.a[:, :n_own], matrix.x
    row_sums = _summed(np.abs(a).sum(axis=1), grid.along_row)
    column_sums = _summed(np.abs(a).sum(axis=0), grid.along_column)
    b = np.zeros(matrix.n_rows)
    if grid.column == owner(matrix.n, matrix.nb, grid.n_columns):
        b += matrix.a[:, n_own]
    b = _summed(b, grid.along_row)
    residual = b - _summed(a @ x, grid.along_row)
    x_1 = float(_summed(np.array([np.abs(x).sum()]), grid.along_row)[0])
    residual_oo, a_oo, a_1, x_oo, b_oo = _largest([residual, row_sums, column_sums, x, b], grid)
    scale = np.finfo(float).eps / 2 * (a_oo * x_oo + b_oo) * matrix.n
    return Residual(residual_oo, a_oo, a_1, x_oo, x_1, b_oo, residual_oo / scale if scale else 0.0)


def _summed(values: np.ndarray, comm: MPI.Comm) -> np.ndarray:
    total = np.empty_like(values)
    comm.Allreduce(values, total)
    return total


def _largest(arrays: list[np.ndarray], grid: Grid) -> list[float]:
    mine = np.array([np.abs(values).max(initial=0.0) for values in arrays])
    largest = np.empty_like(mine)
    grid.all.Allreduce(mine, largest, op=MPI.MAX)
    return [float(value) for value in largest]
