"""Updating the columns to the right of a factored panel."""

from __future__ import annotations

from typing import Any

from linpack.broadcast import Awaited
from linpack.kernels import exchange
from linpack.panel import Panel
from linpack.settings import Settings
from linpack.swap import exchange_rows

Array = Any


def update(panel: Panel, settings: Settings, n: int | None = None, awaited: Awaited | None = None) -> None:
    """Apply a panel to its next `n` local columns, or to all that are left.

    Parameters
    ----------
    panel : Panel
        Factored and broadcast.
    settings : Settings
        How rows are exchanged.
    n : int, optional
        Local columns.
    awaited : Awaited, optional
        A panel to look for meanwhile; it is there on return.
    """
    n = panel.n if n is None else min(n, panel.n)
    if n > 0:
        if awaited is not None:
            awaited.look()
        if panel.grid.n_rows == 1:
            _update_in_place(panel, n, awaited)
        else:
            u = exchange_rows(panel, n, settings, awaited)
            _update_from(panel, u, n, awaited)
    if awaited is not None:
        awaited.wait()


def _pieces(n: int, width: int, awaited: Awaited | None) -> Any:
    """Columns piece by piece while a panel is awaited, then all the rest at once."""
    start = 0
    while start < n and awaited is not None and not awaited.is_done:
        end = min(start + width, n)
        yield slice(start, end)
        start = end
        awaited.look()
    if start < n:
        yield slice(start, n)


def _update_in_place(panel: Panel, n: int, awaited: Awaited | None) -> None:
    """One row of processes: rows are exchanged at home."""
    kernels, width = panel.kernels, panel.width
    columns = panel.take(n)
    if kernels.is_real:
        for row, pivot in enumerate((panel.pivots - panel.first).astype(int)):
            if pivot != row:
                exchange(columns, row, pivot)
    top, below = columns[:width], columns[width:]
    triangle, rows = slice(0, width), slice(0, panel.m_below)
    for piece in _pieces(n, panel.matrix.nb, awaited):
        kernels.solve_unit_lower(panel.block, top, triangle, piece)
        kernels.subtract_product(below, panel.below, top, rows, piece, triangle)


def _update_from(panel: Panel, u: Array, n: int, awaited: Awaited | None) -> None:
    kernels, width = panel.kernels, panel.width
    columns = panel.take(n)
    below = columns[width:] if panel.is_row and kernels.is_real else columns
    triangle, rows = slice(0, width), slice(0, panel.m_below)
    for piece in _pieces(n, panel.matrix.nb, awaited):
        kernels.solve_unit_lower(panel.block, u, triangle, piece)
        kernels.subtract_product(below, panel.below, u, rows, piece, triangle)
        if panel.is_row and kernels.is_real:
            columns[:width, piece] = u[:, piece]
