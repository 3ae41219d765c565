"""Solving the upper triangle, from its last block upwards.

The process that owns a diagonal block solves for its unknowns. They travel up its process column, where each process
subtracts their share from the right-hand side: first for the rows that the process columns to the left need next,
which it hands on, then for all others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linpack.cyclic import owned, owner, rest
from linpack.grid import Grid, tree
from linpack.kernels import Kernels
from linpack.panel import Matrix

Array = Any
RIGHT_TAG, UP_TAG, LAST_TAG = 3001, 3002, 3003


class Block(NamedTuple):
    """Unknowns that have been solved for: whose they are, how many, and where their columns are."""

    row: int
    column: int
    width: int
    start: int


class BackSubstitution:
    """One process's part.

    Parameters
    ----------
    grid : Grid
        The processes.
    matrix : Matrix
        Factored; its `x` takes the solution.
    kernels : Kernels
        Whether there are numbers.
    """

    def __init__(self, grid: Grid, matrix: Matrix, kernels: Kernels) -> None:
        self.grid, self.matrix, self.is_real = grid, matrix, kernels.is_real
        n, nb = matrix.n, matrix.nb
        self.unsolved = n
        self.n_rows = owned(n, nb, grid.row, grid.n_rows)  # local ones that are not solved for
        self.n_columns = owned(n, nb, grid.column, grid.n_columns)
        self.reach = max(grid.n_columns - 1, 1) * nb
        self.rhs = kernels.memory(self.n_rows)
        self.share = kernels.memory(min(self.reach, self.n_rows))

    def run(self) -> None:
        """Solve for all unknowns, block by block."""
        if self.unsolved == 0:
            return
        n, nb, grid = self.matrix.n, self.matrix.nb, self.grid
        self.fetch_rhs(owner(n - 1, nb, grid.n_columns))
        last = self.next_block((n - 1) % nb + 1)
        self.solve(last)
        while self.unsolved > 0:
            close = self.close_rows()
            block = self.next_block(nb)
            if grid.column == last.column:
                self.pass_up(last, block, close)
            elif grid.column == block.column and close.start < close.stop:
                self.receive_share(last, close)
            self.solve(block)
            if grid.column == last.column:
                self.subtract(last, slice(0, close.start))
            last = block
        if grid.column == last.column:
            self.share_last(last)

    def next_block(self, width: int) -> Block:
        """The last block that is not solved for."""
        nb, grid = self.matrix.nb, self.grid
        row, column = owner(self.unsolved - 1, nb, grid.n_rows), owner(self.unsolved - 1, nb, grid.n_columns)
        self.unsolved -= width
        if grid.row == row:
            self.n_rows -= width
        if grid.column == column:
            self.n_columns -= width
        return Block(row, column, width, self.n_columns)

    def close_rows(self) -> slice:
        """Local rows among those that the process columns to the left need next."""
        nb, grid = self.matrix.nb, self.grid
        first = max(0, self.unsolved - self.reach)
        _, _, n_close = rest(first, self.unsolved, nb, grid.row, grid.n_rows)
        return slice(self.n_rows - n_close, self.n_rows)

    def fetch_rhs(self, column: int) -> None:
        """Bring the right-hand side to the process column that begins."""
        grid = self.grid
        source = owner(self.matrix.n, self.matrix.nb, grid.n_columns)
        if grid.column == source and self.is_real:
            self.rhs[...] = self.matrix.a[:, self.n_columns]
        if self.n_rows == 0 or source == column:
            return
        if grid.column == source:
            grid.along_row.Send(self.rhs, column, RIGHT_TAG)
            if self.is_real:
                self.rhs[...] = 0.0
        elif grid.column == column:
            grid.along_row.Recv(self.rhs, source, RIGHT_TAG)

    def solve(self, block: Block) -> None:
        """Its owner solves for a block."""
        if self.is_real and (self.grid.row, self.grid.column) == (block.row, block.column):
            rows, columns = (slice(start, start + block.width) for start in (self.n_rows, block.start))
            self.matrix.x[columns] = np.linalg.solve(np.triu(self.matrix.a[rows, columns]), self.rhs[rows])

    def unknowns(self, block: Block) -> Array:
        return self.matrix.x[block.start : block.start + block.width]

    def pass_up(self, last: Block, block: Block, close: slice) -> None:
        """Take the unknowns from below, hand on the rows that the next process column needs, and send them up."""
        grid, up, x = self.grid, self.grid.along_column, self.unknowns(last)
        above, below = (grid.row - 1) % grid.n_rows, (grid.row + 1) % grid.n_rows
        if grid.row != last.row:
            up.Recv(x, below, UP_TAG)
        elif grid.n_rows > 1:
            up.Send(x, above, UP_TAG)
        if close.start < close.stop:
            self.subtract(last, close)
            if grid.n_columns > 1:
                grid.along_row.Send(self.rhs[close], block.column, RIGHT_TAG)
        if grid.row != last.row and above != last.row:
            up.Send(x, above, UP_TAG)

    def receive_share(self, last: Block, close: slice) -> None:
        """Add what the process column to the right has subtracted."""
        share = self.share[: close.stop - close.start]
        self.grid.along_row.Recv(share, last.column, RIGHT_TAG)
        if self.is_real:
            self.rhs[close] += share

    def subtract(self, block: Block, rows: slice) -> None:
        """Take the share of a block's unknowns from the right-hand side of some rows."""
        if self.is_real:
            columns = slice(block.start, block.start + block.width)
            self.rhs[rows] -= self.matrix.a[rows, columns] @ self.matrix.x[columns]

    def share_last(self, block: Block) -> None:
        """Hand the first unknowns, which come last, down their process column along a binomial tree."""
        comm, n = self.grid.along_column, self.grid.n_rows
        distance = (self.grid.row - block.row) % n
        for receives, other in tree(distance, n):
            if receives:
                comm.Recv(self.unknowns(block), (other + block.row) % n, LAST_TAG)
            else:
                comm.Send(self.unknowns(block), (other + block.row) % n, LAST_TAG)
