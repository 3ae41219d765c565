"""Rows in order, some of which are known later than those behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = tuple[Any, ...]


class HeldRows:
    """Rows of one rank in one table, with places for rows that are not known yet.

    Attributes
    ----------
    add : callable
        Adds a row.
    open : dict
        Each place that is not filled, in order, with the object for which it is kept.
    """

    __slots__ = ("_first", "_rows", "add", "open")

    def __init__(self) -> None:
        self._rows: list[Row | list[Row]] = []
        self._first = 0
        self.add: Callable[[Row], None] = self._rows.append
        self.open: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def keep(self, whose: Any = None) -> int:
        """Keep a place, and return its number."""
        place = self._first + len(self._rows)
        self._rows.append(())
        self.open[place] = whose
        return place

    def fill(self, place: int, rows: Row | list[Row]) -> None:
        """Fill a place with a row, or with any number of rows."""
        self._rows[place - self._first] = rows
        del self.open[place]

    def take(self) -> list[Row]:
        """Remove and return the rows before the first place that is not filled."""
        n = next(iter(self.open)) - self._first if self.open else len(self._rows)
        taken: list[Row] = []
        for row in self._rows[:n]:
            if type(row) is tuple:
                taken.append(row)
            else:
                taken.extend(row)
        del self._rows[:n]
        self._first += n
        return taken
