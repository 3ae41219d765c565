"""Call stacks of measured computing: time by stack of the program's functions, rank and window of simulated time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class StackCall(NamedTuple):
    """A function on a stack, or the line of the innermost function in which the program computed.

    Attributes
    ----------
    caller : int
        Index of the call that made this one, which stands before it; -1: none.
    function : str
        "Grid.sweep"; "<module>" or "<lambda>" where there is no name.
    file : str
        "heat.py".
    line : int
        Line in which ranks computed; 0: the call itself.
    """

    caller: int
    function: str
    file: str
    line: int


class StackTime(NamedTuple):
    """Time of a cell: of `ranks_per_cell` ranks, in a window.

    Attributes
    ----------
    ranks : int
        Number of the cell of ranks: it has those from `ranks * ranks_per_cell` on.
    window : int
        Number of the window, from 0.
    call : int
        Index of the innermost call.
    seconds : float
        Time that the ranks of the cell computed there.
    """

    ranks: int
    window: int
    call: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CallStacks:
    """Measured computing of a run by call stack.

    Attributes
    ----------
    window_s : float
        Width of a window of simulated time.
    ranks_per_cell : int
        Number of ranks whose times are added up.
    calls : sequence of StackCall
        Tree of calls.
    times : sequence of StackTime
        Time of each cell that has any.
    """

    window_s: float
    ranks_per_cell: int
    calls: Sequence[StackCall]
    times: Sequence[StackTime]

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict, with calls and times as columns."""
        return {
            "window_s": self.window_s,
            "ranks_per_cell": self.ranks_per_cell,
            "calls": _columns(StackCall._fields, self.calls),
            "times": _columns(StackTime._fields, self.times),
        }


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[column] for row in rows] for column, name in enumerate(names)}
