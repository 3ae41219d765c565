"""Updating the columns to the right of a factored panel."""

from __future__ import annotations

from typing import Any

from linpack.broadcast import Awaited
from linpack.kernels import Costs, Numbers, Skeleton, exchange, start_update, write_dgemm, write_dtrsm
from linpack.messages import AwaitedMessage, Steps, sequence
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
        Settings that choose the exchange of rows.
    n : int, optional
        Local columns.
    awaited : Awaited, optional
        A panel to look for meanwhile; it is there on return.
    """
    n = panel.n if n is None else min(n, panel.n)
    if n > 0:
        if awaited is not None:
            awaited.look()
        u = exchange_rows(panel, n, settings, awaited) if panel.grid.n_rows > 1 else None
        kernels = panel.kernels
        if isinstance(kernels, Skeleton) and kernels.is_on_device:
            _take_time_of_device(panel, n, awaited)
        elif isinstance(kernels, Skeleton):
            _take_time(panel, kernels.costs, n, awaited)
        elif u is None:
            _update_in_place(panel, kernels, n, awaited)
        else:
            _update_from(panel, kernels, u, n, awaited)
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


def _update_in_place(panel: Panel, kernels: Numbers, n: int, awaited: Awaited | None) -> None:
    """One row of processes: rows are exchanged at home."""
    width = panel.width
    columns = panel.take(n)
    for row, pivot in enumerate((panel.pivots - panel.first).astype(int)):
        if pivot != row:
            exchange(columns, row, pivot)
    top, below = columns[:width], columns[width:]
    triangle, rows = slice(0, width), slice(0, panel.m_below)
    for piece in _pieces(n, panel.matrix.nb, awaited):
        kernels.solve_unit_lower(panel.block, top, triangle, piece)
        kernels.subtract_product(below, panel.below, top, rows, piece, triangle)


def _update_from(panel: Panel, kernels: Numbers, u: Array, n: int, awaited: Awaited | None) -> None:
    width = panel.width
    columns = panel.take(n)
    below = columns[width:] if panel.is_row else columns
    triangle, rows = slice(0, width), slice(0, panel.m_below)
    for piece in _pieces(n, panel.matrix.nb, awaited):
        kernels.solve_unit_lower(panel.block, u, triangle, piece)
        kernels.subtract_product(below, panel.below, u, rows, piece, triangle)
        if panel.is_row:
            columns[:width, piece] = u[:, piece]


def _take_time(panel: Panel, costs: Costs, n: int, awaited: Awaited | None) -> None:
    """Update without numbers, with the same pieces."""
    piece, nb, start = sequence(write_update, panel.width, costs), panel.matrix.nb, 0
    panel.leave(n)
    if isinstance(awaited, AwaitedMessage):
        start = nb * awaited.overlap(piece, n // nb, (panel.m_below, nb))
    if start < n:
        piece.perform(panel.grid.along_column, numbers=(panel.m_below, n - start))
        if awaited is not None:
            awaited.look()


def _take_time_of_device(panel: Panel, n: int, awaited: Awaited | None) -> None:
    """Update without numbers on the rank's device, while the awaited panel arrives."""
    from smpy import synchronize

    panel.leave(n)
    start_update(panel.m_below, n, panel.width)
    if awaited is not None:
        awaited.wait()
    synchronize()


def write_update(steps: Steps, width: int, costs: Costs) -> None:
    """The kernels of a piece, whose rows below the block and whose columns are numbers 0 and 1."""
    write_dtrsm(steps, costs, (1, 0), width)
    write_dgemm(steps, costs, (0, 0), (1, 0), width)
