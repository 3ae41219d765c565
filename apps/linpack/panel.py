"""A panel: NB columns that are factored together, and the rows and columns that they update."""

from __future__ import annotations

from typing import Any

from linpack.cyclic import owned, rest
from linpack.grid import Grid
from linpack.kernels import Kernels
from linpack.settings import Settings

Array = Any


class Matrix:
    """This process's part of the N x (N + 1) system: the matrix, and the right-hand side as its last column.

    Attributes
    ----------
    a : (n_rows, n_columns) array
        The part.
    x : (n_columns,) array
        The solution, once it is there; the columns of the grid hold it, all rows the same.
    """

    def __init__(self, grid: Grid, kernels: Kernels, settings: Settings) -> None:
        self.n, self.nb = settings.n, settings.nb
        self.n_rows = owned(self.n, self.nb, grid.row, grid.n_rows)
        self.n_columns = owned(self.n + 1, self.nb, grid.column, grid.n_columns)
        self.a = kernels.matrix(self.n_rows, self.n_columns)
        self.x = kernels.memory(owned(self.n, self.nb, grid.column, grid.n_columns))


class Panel:
    """The panel whose first row and column is `first`.

    Parameters
    ----------
    grid : Grid
        The processes.
    matrix : Matrix
        Matrix that is factored.
    kernels : Kernels
        Kernels that compute, or take their time.
    first : int
        First row and column of the panel in the matrix.
    tag : int
        Tag of the messages that carry it along the rows of the grid.

    Attributes
    ----------
    width : int
        Columns of the panel.
    row, column : int
        Process row and column that own its first block.
    i, j : int
        First local row below or at `first`, and first local column that the panel has still to update.
    m, n : int
        Local rows from `i` on, and local columns from `j` on.
    m_below : int
        Local rows below the diagonal block.
    below : (m_below, width) array
        The factored ones.
    block : (width, width) array
        The factored diagonal block.
    pivots : (width,) array
        For each of its rows, the row of the matrix it was exchanged with.
    message : array
        The three of them as they travel, one after the other; without numbers it stands for each.
    u : (width, n) array
        The rows that are exchanged.
    """

    def __init__(self, grid: Grid, matrix: Matrix, kernels: Kernels, first: int, tag: int) -> None:
        nb = matrix.nb
        self.grid, self.matrix, self.kernels = grid, matrix, kernels
        self.first, self.tag = first, tag
        self.width = width = min(nb, matrix.n - first)
        self.row, self.i, self.m = rest(first, matrix.n, nb, grid.row, grid.n_rows)
        self.column, self.j, self.n = rest(first, matrix.n + 1, nb, grid.column, grid.n_columns)
        self.is_row, self.is_column = grid.row == self.row, grid.column == self.column
        self.m_below = max(0, self.m - (width if self.is_row else 0))
        end = self.m_below * width
        self.message = message = kernels.memory(end + width * width + width + 1)  # the last number is HPL's error flag
        self.below = self.block = self.pivots = message
        if kernels.is_real:
            self.below = message[:end].reshape(self.m_below, width)
            self.block = message[end : end + width * width].reshape(width, width)
            self.pivots = message[end + width * width : -1]
        self.moves: Any = None

    def own_columns(self) -> Array:
        """The panel's own columns of the matrix; only in its process column."""
        return self.matrix.a[self.i :, self.j : self.j + self.width]

    def leave_factored(self) -> None:
        """The panel's own columns need no update."""
        if self.is_column:
            self.leave(self.width)

    def take(self, n: int) -> Array:
        """The next `n` columns to update, which the panel is then through with."""
        columns = self.matrix.a[self.i :, self.j : self.j + n]
        self.leave(n)
        return columns

    def leave(self, n: int) -> None:
        """The panel is through with the next `n` columns."""
        self.j += n
        self.n -= n
