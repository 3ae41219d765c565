"""Moves of rows that a panel's pivots ask for: sources, targets and owners.

Applying NB exchanges one after the other is one permutation of the block's rows and of those they were exchanged
with. `Moves` holds it as pairs of rows, the same on every process of a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from linpack.cyclic import owned
from linpack.panel import Panel

Array = Any


class Moves:
    """The permutation of rows that a panel's pivots ask for.

    Parameters
    ----------
    panel : Panel
        Panel of the pivots.
    pivots : (width,) array of int
        For each row of its block, the row it is exchanged with.

    Attributes
    ----------
    source, target : (k,) arrays of int
        Row `source[i]` of the matrix becomes row `target[i]`.
    source_owner, target_owner : (k,) arrays of int
        The process rows they belong to.
    leaves : (k,) array of bool
        Rows of the current process row that become a row of the block or of another process.
    held : tuple of int
        Number of the rows that each process row has.
    parts : tuple of int
        Number of the leaving rows that each process row is to have.
    """

    def __init__(self, panel: Panel, pivots: Array) -> None:
        nb, n_rows = panel.matrix.nb, panel.grid.n_rows
        self.source, self.target = permutation(panel.first, pivots)
        self.source_owner = self.source // nb % n_rows
        self.target_owner = self.target // nb % n_rows
        self.leaves = (self.source_owner == panel.row) & (
            (self.target_owner != panel.row) | (self.target < panel.first + panel.width)
        )
        self.held = tuple(np.bincount(self.source_owner, minlength=n_rows).tolist())
        self.parts = tuple(np.bincount(self.target_owner[self.leaves], minlength=n_rows).tolist())
        self._nb, self._n_rows, self._first_kept = nb, n_rows, panel.i

    def kept(self, rows: Array) -> Array:
        """Places of these rows at their owners, counted from the panel's first local row."""
        nb = self._nb
        return rows // nb // self._n_rows * nb + rows % nb - self._first_kept


@dataclass(frozen=True, slots=True)
class RegularMoves:
    """Numbers of moved rows when nobody looked for pivots: each is the same local row of the first process row.

    Attributes
    ----------
    held, parts : tuple of int
        Same as in `Moves`.
    """

    held: tuple[int, ...]
    parts: tuple[int, ...]


def regular_moves(panel: Panel) -> RegularMoves:
    """The moves of a panel in whose factorisation nobody looked for pivots."""
    return _regular(panel.first, panel.width, panel.row, panel.matrix.n, panel.matrix.nb, panel.grid.n_rows)


@lru_cache(256)
def _regular(first: int, width: int, current: int, n: int, nb: int, n_rows: int) -> RegularMoves:
    """The block's rows stay where the first process row that has rows left is the current one.

    Else they move down by one, the last of them to that process, whose row comes to the top.
    """
    has_rows = (row for row in range(n_rows) if owned(n, nb, row, n_rows) > owned(first, nb, row, n_rows))
    chosen = next(has_rows)
    held, parts = [0] * n_rows, [0] * n_rows
    held[current] = parts[current] = width
    if chosen != current:
        held[chosen] = parts[chosen] = 1
        parts[current] -= 1
    return RegularMoves(tuple(held), tuple(parts))


def permutation(first: int, pivots: Array) -> tuple[Array, Array]:
    """Rows and where they end, when row ``first + i`` is exchanged with ``pivots[i]``, one after the other."""
    width = len(pivots)
    block = np.arange(first, first + width)
    holds: dict[int, int] = {}
    for row, pivot in zip(block.tolist(), pivots.tolist(), strict=True):
        holds[row], holds[pivot] = holds.get(pivot, pivot), holds.get(row, row)
    return np.array(list(holds.values())), np.array(list(holds))
