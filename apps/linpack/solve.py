"""The right-looking factorisation of the whole matrix, with or without look-ahead."""

from __future__ import annotations

import numpy as np
from marked import iterations

from linpack.broadcast import Awaited, broadcast
from linpack.cyclic import owned
from linpack.factorise import factorise
from linpack.grid import Grid
from linpack.kernels import Kernels
from linpack.moves import Moves, regular_moves
from linpack.panel import Matrix, Panel
from linpack.settings import Settings
from linpack.substitution import BackSubstitution
from linpack.update import update

FIRST_PANEL_TAG, LAST_PANEL_TAG = 1001, 2000


class Singular(ArithmeticError):
    """A pivot is zero: in `column`, counted from 1 as HPL does."""

    def __init__(self, column: int) -> None:
        super().__init__(f"no pivot in column {column}")
        self.column = column


def solve(grid: Grid, matrix: Matrix, kernels: Kernels, settings: Settings) -> None:
    """Factor the matrix and solve for its last column: `matrix.x`."""
    _Factors(grid, matrix, kernels, settings).run()
    BackSubstitution(grid, matrix, kernels).run()


class _Factors:
    """The panels on their way from left to right."""

    def __init__(self, grid: Grid, matrix: Matrix, kernels: Kernels, settings: Settings) -> None:
        self.grid, self.matrix, self.kernels, self.settings = grid, matrix, kernels, settings
        self.depth = settings.depth if grid.n_columns > 1 else 0
        self.tag = FIRST_PANEL_TAG

    def run(self) -> None:
        n, nb = self.matrix.n, self.matrix.nb
        firsts = range(0, n, nb)  # all of them in a list would be most of the memory of a large machine
        ahead: list[Panel] = []
        for place, first in enumerate(firsts[: self.depth], start=1):
            panel = self.new_panel(first)
            self.factor(panel)
            self.broadcast(panel).wait()
            self.note_moves(panel)
            if place < self.depth:
                update(panel, self.settings, self.columns(first + panel.width, self.depth * nb))
            ahead.append(panel)
        rest = firsts[self.depth :]
        for first in iterations("panels", rest, comm=self.grid.all, periods=(self.grid.n_rows, self.grid.n_columns)):
            if ahead and ahead[-1].first != first - nb:
                ahead = [self.assumed_panel(first - nb * place) for place in range(self.depth, 0, -1)]
            panel = self.new_panel(first)
            if not ahead:
                self.factor(panel)
                self.broadcast(panel).wait()
                self.note_moves(panel)
                update(panel, self.settings)
                continue
            if panel.is_column:
                for earlier in ahead:
                    update(earlier, self.settings, self.own(panel))
            self.factor(panel)
            update(ahead.pop(0), self.settings, awaited=self.broadcast(panel))
            self.note_moves(panel)
            ahead.append(panel)
        for panel in ahead:
            update(panel, self.settings)

    def columns(self, start: int, end: int) -> int:
        """Number of the matrix's columns from `start` to `end` that are here."""
        n, nb, grid = self.matrix.n, self.matrix.nb, self.grid
        before, after = (owned(min(place, n), nb, grid.column, grid.n_columns) for place in (start, end))
        return after - before

    def own(self, panel: Panel) -> int:
        """Number of a panel's columns that are here."""
        return panel.width if panel.is_column else 0

    def new_panel(self, first: int) -> Panel:
        panel = Panel(self.grid, self.matrix, self.kernels, first, self.tag)
        self.tag = self.tag + 1 if self.tag < LAST_PANEL_TAG else FIRST_PANEL_TAG
        return panel

    def assumed_panel(self, first: int) -> Panel:
        """Panel of a step that was skipped, as if it had been factored here."""
        panel = self.new_panel(first)
        panel.leave_factored()
        self.note_moves(panel)
        return panel

    def factor(self, panel: Panel) -> None:
        factorise(panel, self.settings)

    def broadcast(self, panel: Panel) -> Awaited:
        return broadcast(panel, self.settings.bcast)

    def note_moves(self, panel: Panel) -> None:
        """Now that the pivots are known here: which rows they exchange."""
        if not self.kernels.is_real:
            panel.moves = regular_moves(panel)
            return
        missing = np.flatnonzero(np.diag(panel.block) == 0.0)
        if len(missing):
            raise Singular(panel.first + int(missing[0]) + 1)
        if self.grid.n_rows > 1:
            panel.moves = Moves(panel, panel.pivots.astype(int))
