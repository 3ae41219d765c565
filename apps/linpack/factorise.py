"""Factoring a panel in its process column: recursive, with partial pivoting.

The search for the largest entry of a column and the exchange of its row with the current one travel in one message
(HPL's combined exchange): log2 P pairwise steps a column, each of 4 + NB numbers, or 4 + 2 NB where the row in
exchange goes along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linpack.cyclic import overall
from linpack.grid import power_of_two, tree
from linpack.kernels import Costs, Numbers, Skeleton, bring_panel, length, write_dgemm, write_dtrsm
from linpack.messages import Calls, Part, Steps, exchange, nothing, sequence
from linpack.panel import Panel
from linpack.settings import Settings

Array = Any
PIVOT_TAG = 2001
VALUE, PLACE, INDEX, ROW = range(4)
"""Places of the first four numbers of a message on the largest entry: its value, local row, row and owner."""


def factorise(panel: Panel, settings: Settings) -> None:
    """Factor a panel; all processes call it, those of its column do it."""
    if panel.is_column and panel.width > 0:
        kernels = panel.kernels
        if isinstance(kernels, Numbers):
            _Factorisation(panel, kernels, settings).run()
        else:
            _perform(panel, kernels, settings)
    panel.leave_factored()


def _perform(panel: Panel, kernels: Skeleton, settings: Settings) -> None:
    """Perform a factorisation without numbers as one sequence of messages and kernels."""
    exchanged = panel.width, panel.grid.row, panel.row, panel.grid.n_rows
    recursion = settings.nbmin, settings.ndiv, settings.rfact
    n = 4 + 2 * panel.width
    if kernels.is_on_device:
        bring_panel(panel.m, panel.width)
    sequence(write_factorisation, exchanged, recursion, kernels.costs).perform(
        panel.grid.along_column, kernels.memory(n), kernels.memory(n), numbers=(panel.m,)
    )


class _Recursion:
    """Order in which columns are factored, updated and solved for.

    Local rows are counted by how many are left, `m`.
    """

    def __init__(self, is_current: bool, nbmin: int, ndiv: int, rfact: str) -> None:
        self.is_current, self.nbmin, self.ndiv, self.rfact = is_current, nbmin, ndiv, rfact

    def narrow(self, m: int, n: int, first: int) -> None:
        """Factor n columns one by one."""
        raise NotImplementedError

    def update_rows(self, m: int, first: int, columns: slice, done: slice) -> None:
        """Subtract from the last m rows, which begin at `first` in the current block row, what is done times its U."""
        raise NotImplementedError

    def update_block(self, rows: slice, columns: slice, done: slice) -> None:
        """Likewise, from rows of the block."""
        raise NotImplementedError

    def solve_block(self, rows: slice, columns: slice) -> None:
        """Solve for rows of U with their triangle."""
        raise NotImplementedError

    def keep_upper(self, m: int, at: int, width: int) -> int:
        """The current block row keeps the part's columns of U; the local rows that are left."""
        return m - width if self.is_current else m

    # ---- the recursion: m rows, n columns from column `first` of the panel on ----

    def recurse(self, m: int, n: int, first: int) -> None:
        if n <= self.nbmin:
            self.narrow(m, n, first)
        else:
            _WIDE[self.rfact](self, m, n, first)

    def parts(self, n: int) -> list[tuple[int, int]]:
        """First column and width of the parts that n columns are divided into."""
        width = (-(-n // self.nbmin) + self.ndiv - 1) // self.ndiv * self.nbmin
        return [(start, min(width, n - start)) for start in range(0, n, width)]

    def wide_left(self, m: int, n: int, first: int) -> None:
        for start, width in self.parts(n):
            at = first + start
            done, now = slice(first, at), slice(at, at + width)
            self.solve_block(done, now)
            self.update_rows(m, at, now, done)
            self.recurse(m, width, at)
            m = self.keep_upper(m, at, width)

    def wide_crout(self, m: int, n: int, first: int) -> None:
        for start, width in self.parts(n):
            at = first + start
            done, now, later = slice(first, at), slice(at, at + width), slice(at + width, first + n)
            self.update_rows(m, at, now, done)
            self.recurse(m, width, at)
            self.update_block(now, later, done)
            self.solve_block(now, later)
            m = self.keep_upper(m, at, width)

    def wide_right(self, m: int, n: int, first: int) -> None:
        for start, width in self.parts(n):
            at = first + start
            now, later = slice(at, at + width), slice(at + width, first + n)
            self.recurse(m, width, at)
            self.solve_block(now, later)
            m = self.keep_upper(m, at, width)
            self.update_rows(m, at + width, later, now)


class _Factorisation(_Recursion):
    """Recursion with numbers: local rows, and the message under way."""

    def __init__(self, panel: Panel, kernels: Numbers, settings: Settings) -> None:
        super().__init__(panel.is_row, settings.nbmin, settings.ndiv, settings.rfact)
        self.panel, self.grid, self.kernels = panel, panel.grid, kernels
        self.a, self.block, self.width = panel.own_columns(), panel.block, panel.width
        self.pfact = settings.pfact
        n = 4 + 2 * self.width
        self.work, self.other = kernels.memory(n), kernels.memory(n)
        self.facts = self.width, self.grid.row, panel.row, self.grid.n_rows

    def run(self) -> None:
        self.recurse(self.panel.m, self.width, 0)
        self.panel.below[...] = self.a[self.width :] if self.is_current else self.a

    def rows_from(self, first: int, m: int) -> slice:
        """The last `m` local rows; those of the current block row lie at and below `first`."""
        start = first if self.is_current else 0
        return slice(start, start + m)

    def narrow(self, m: int, n: int, first: int) -> None:
        _NARROW[self.pfact](self, m, n, first)

    def update_rows(self, m: int, first: int, columns: slice, done: slice) -> None:
        self.kernels.subtract_product(self.a, self.a, self.block, self.rows_from(first, m), columns, done)

    def update_block(self, rows: slice, columns: slice, done: slice) -> None:
        self.kernels.subtract_product(self.block, self.block, self.block, rows, columns, done)

    def solve_block(self, rows: slice, columns: slice) -> None:
        self.kernels.solve_unit_lower(self.block, self.block, rows, columns)

    def keep_upper(self, m: int, at: int, width: int) -> int:
        if self.is_current:
            self.a[:at, at : at + width] = self.block[:at, at : at + width]
        return super().keep_upper(m, at, width)

    # ---- a narrow part, column by column ----

    def narrow_left(self, m: int, n: int, first: int) -> None:
        for column in range(first, first + n):
            m = self.eliminate(m, column, is_first=column == first)
            if column + 1 < first + n:
                done = slice(first, column + 1)
                self.solve_column(done, column + 1)
                rows = self.rows_from(column + 1, m)
                self.a[rows, column + 1] -= self.a[rows, done] @ self.block[done, column + 1]
                if self.is_current:
                    self.a[done, column + 1] = self.block[done, column + 1]
            self.look(m, column + 1, first + n)

    def narrow_crout(self, m: int, n: int, first: int) -> None:
        for column in range(first, first + n):
            m = self.eliminate(m, column, is_first=column == first)
            if column + 1 < first + n:
                before, done, later = slice(first, column), slice(first, column + 1), slice(column + 1, first + n)
                self.block[column, later] -= self.block[column, before] @ self.block[before, later]
                if self.is_current:
                    self.a[column, later] = self.block[column, later]
                rows = self.rows_from(column + 1, m)
                self.a[rows, column + 1] -= self.a[rows, done] @ self.block[done, column + 1]
            self.look(m, column + 1, first + n)

    def narrow_right(self, m: int, n: int, first: int) -> None:
        for column in range(first, first + n):
            m = self.eliminate(m, column, is_first=column == first)
            if column + 1 < first + n:
                rows, later = self.rows_from(column + 1, m), slice(column + 1, first + n)
                self.a[rows, later] -= np.outer(self.a[rows, column], self.block[column, later])
            self.look(m, column + 1, first + n)

    def solve_column(self, done: slice, column: int) -> None:
        """The column's part of U, above the diagonal."""
        lower, right = self.block[done, done], self.block[done, column]
        for row in range(1, len(right)):
            right[row] -= lower[row, :row] @ right[:row]

    def eliminate(self, m: int, column: int, is_first: bool) -> int:
        """Find the pivot of a column and put its row in place; the local rows that are left below."""
        if is_first:
            self.look(m, column, column + 1)
        self.exchange_rows(m, column)
        left = m - 1 if self.is_current else m
        self.place_rows(column)
        if self.work[VALUE] != 0.0:
            self.a[self.rows_from(column + 1, left), column] /= self.work[VALUE]
        return left

    def look(self, m: int, column: int, end: int) -> None:
        """Note the largest entry of a column among the local rows."""
        if column >= end:
            return
        if m == 0:
            self.work[:4] = 0.0, 0.0, 0.0, self.grid.n_rows
            return
        rows = self.rows_from(column, m)
        place = int(np.argmax(np.abs(self.a[rows, column])))
        index = overall(self.panel.i + rows.start + place, self.panel.matrix.nb, self.grid.row, self.grid.n_rows)
        self.work[:4] = self.a[rows.start + place, column], place, index, self.grid.row

    # ---- the combined exchange ----

    def exchange_rows(self, m: int, column: int) -> None:
        """All processes of the column learn the pivot, its row and the current row."""
        self.fill(m, column)
        calls = Calls(self.grid.along_column, nothing, self.work, self.other)
        write_exchange(calls, *self.facts, keep_larger=self.keep_larger)
        self.panel.pivots[column] = self.work[INDEX]

    def fill(self, m: int, column: int) -> None:
        """Put the local candidate's row, and the current row, into the message."""
        width = self.width
        start = column if self.is_current else 0
        self.work[4 : 4 + width] = self.a[start + int(self.work[PLACE])] if m else 0.0
        if self.is_current:
            self.work[4 + width :] = self.a[column]

    def keep_larger(self, has_row: bool) -> None:
        """Keep the better of two candidates, ties to the first process row, and the current row when it came."""
        mine, its, short = self.work, self.other, 4 + self.width
        if abs(its[VALUE]) > abs(mine[VALUE]) or (abs(its[VALUE]) == abs(mine[VALUE]) and its[ROW] < mine[ROW]):
            mine[:short] = its[:short]
        if has_row:
            mine[short:] = its[short:]

    def place_rows(self, column: int) -> None:
        """Put the pivot's row into the block, and the two rows where the other was."""
        width, work = self.width, self.work
        best, current = work[4 : 4 + width], work[4 + width :]
        if work[VALUE] == 0.0:
            self.block[column] = current
            return
        self.block[column] = best
        is_mine = self.grid.row == int(work[ROW])
        if self.is_current:
            self.a[column] = best
        if is_mine and not (self.is_current and int(work[PLACE]) == 0):
            self.a[(column if self.is_current else 0) + int(work[PLACE])] = current


# Kept here, as a bound method in the object would be a cycle of references, with the panel's memory in it.
_NARROW = {
    "left": _Factorisation.narrow_left,
    "crout": _Factorisation.narrow_crout,
    "right": _Factorisation.narrow_right,
}
_WIDE = {"left": _Recursion.wide_left, "crout": _Recursion.wide_crout, "right": _Recursion.wide_right}


class _Writer(_Recursion):
    """Writes down the messages and kernels of a factorisation. `m` counts from the rows there are at its beginning."""

    def __init__(self, steps: Steps, exchanged: Steps, costs: Costs, is_current: bool, *recursion: Any) -> None:
        super().__init__(is_current, *recursion)
        self.steps, self.exchanged, self.costs = steps, exchanged, costs

    def narrow(self, m: int, n: int, first: int) -> None:
        for _ in range(n):
            self.steps.Perform(self.exchanged)

    def update_rows(self, m: int, first: int, columns: slice, done: slice) -> None:
        if length(columns) > 0 and length(done) > 0:
            write_dgemm(self.steps, self.costs, (0, m), length(columns), length(done))

    def update_block(self, rows: slice, columns: slice, done: slice) -> None:
        if length(columns) > 0 and length(done) > 0:
            write_dgemm(self.steps, self.costs, length(rows), length(columns), length(done))

    def solve_block(self, rows: slice, columns: slice) -> None:
        if length(columns) > 0 and length(rows) > 0:
            write_dtrsm(self.steps, self.costs, length(columns), length(rows))


def write_factorisation(
    steps: Steps, exchanged: tuple[int, int, int, int], recursion: tuple[int, int, str], costs: Costs
) -> None:
    """All messages and kernels of a panel, for which number 0 says how many local rows there are.

    `exchanged` is what `write_exchange` is told.
    """
    width, row, current, _ = exchanged
    messages = sequence(write_exchange, *exchanged)
    _Writer(steps, messages, costs, row == current, *recursion).recurse(0, width, 0)


def write_exchange(
    steps: Steps, width: int, row: int, current: int, n_rows: int, keep_larger: Callable[[bool], None] = nothing
) -> None:
    """The messages of one column of a panel, for the process of a `row` of the grid; `current` is the panel's.

    Array 0 is this process's message, array 1 takes its partner's: 4 numbers on the best candidate and its row, then
    the current row. `keep_larger` compares what came with what is here, and is told whether the current row came.
    """
    short, n = 4 + width, 4 + 2 * width
    best, current_row, other_best = (0, 0, short), (0, short, n), (1, 0, short)
    core = power_of_two(n_rows)
    n_extra = n_rows - core
    distance = (row - current) % n_rows
    mate = distance ^ core
    has_mate = n_extra > 0 and mate < n_rows
    mate = (mate + current) % n_rows
    if has_mate and distance & core:
        if distance == core:
            exchange(steps, best, current_row, mate, PIVOT_TAG)
        else:
            steps.Send(best, mate, PIVOT_TAG)
    elif has_mate:
        if distance == 0:
            exchange(steps, current_row, other_best, mate, PIVOT_TAG)
        else:
            steps.Recv(other_best, mate, PIVOT_TAG)
        keep_larger(False)
    if distance < core:
        step = 1
        while step < core:  # over distances that double; whoever has the current row sends it along to who has not
            has_row, lacks_row = distance < step, step <= distance < 2 * step
            out: Part = (0, 0, n) if has_row else best
            into: Part = (1, 0, n) if lacks_row else other_best
            exchange(steps, out, into, ((distance ^ step) + current) % n_rows, PIVOT_TAG)
            keep_larger(lacks_row)
            step *= 2
    elif n_extra > 1:  # beyond the power of two they hand the current row on among themselves, as a binomial tree
        for receives, other in tree(distance - core, n_extra):
            partner = (current + core + other) % n_rows
            if receives:
                steps.Recv(current_row, partner, PIVOT_TAG)
            else:
                steps.Send(current_row, partner, PIVOT_TAG)
    if has_mate and distance & core:
        steps.Recv(best, mate, PIVOT_TAG)
    elif has_mate:
        steps.Send(best, mate, PIVOT_TAG)
