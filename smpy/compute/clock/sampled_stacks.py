"""Samples of measured bursts by call stack, rank and window of simulated time, in bounded number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

Place = tuple[str, int]

CALLS_MAX: Final = 20_000
CELLS_MAX: Final = 100_000
WINDOWS_MAX: Final = 256
_WINDOWS_MIN: Final = 16
_FIRST_WINDOW_S: Final = 1e-3


class SampledCall(NamedTuple):
    """A call of a function of the program, or a line of its innermost function.

    Attributes
    ----------
    caller : int
        Index of the call that made this one; -1: none.
    file, function : str
        The function: its file, and its qualified name.
    line : int
        The line in which samples were taken; 0: the call itself.
    """

    caller: int
    file: str
    function: str
    line: int


class Cell(NamedTuple):
    """Ranks, window of time, call and the end of the bursts, for which samples are added up."""

    ranks: int
    window: int
    call: int
    end: Place


class SampledStacks:
    """Samples, added up in cells: windows become wider, then ranks share cells, where cells would be too many.

    Attributes
    ----------
    window_s : float
        Width of a window of simulated time.
    ranks_per_cell : int
        Number of ranks that share a cell: cell n has the ranks from n times as many on.
    calls : list of SampledCall
        Calls, each after its caller; beyond `CALLS_MAX`, samples stand with the innermost call that is there.
    samples : dict of Cell to float
        Number of samples; those of a burst are spread evenly over the windows that it touches.
    """

    def __init__(self) -> None:
        self.window_s = _FIRST_WINDOW_S
        self.ranks_per_cell = 1
        self.calls: Final[list[SampledCall]] = []
        self.samples: dict[Cell, float] = {}
        self._number: Final[dict[SampledCall, int]] = {}

    def add(
        self, rank: int, end: Place, began_s: float, length_s: float, rows: Sequence[tuple[int, str, str, int, int]]
    ) -> None:
        """Add the samples of a burst.

        Parameters
        ----------
        rank : int
            Rank that computed.
        end : tuple of str and int
            File and line of the call that ended the burst.
        began_s, length_s : float
            Simulated date and duration of the burst.
        rows : sequence of tuple
            Caller's index in `rows`, file, function, line and number of samples, each after its caller.
        """
        while (began_s + length_s) / self.window_s >= WINDOWS_MAX:
            self._halve_windows()
        parts = list(self._parts(began_s, length_s))
        numbers: list[int] = []
        for caller, file, function, line, count in rows:
            number = self._call(SampledCall(-1 if caller < 0 else numbers[caller], file, function, line))
            numbers.append(number)
            for window, part in parts if count else ():
                cell = Cell(rank // self.ranks_per_cell, window, number, end)
                self.samples[cell] = self.samples.get(cell, 0.0) + count * part
        while len(self.samples) > CELLS_MAX:
            if self._last_window() >= _WINDOWS_MIN:
                self._halve_windows()
            elif max(cell.ranks for cell in self.samples):
                self._halve_ranks()
            else:
                return

    def _parts(self, began_s: float, length_s: float) -> Iterator[tuple[int, float]]:
        """Windows that a burst touches, each with its part of the burst."""
        begin, end = began_s / self.window_s, (began_s + length_s) / self.window_s
        first, last = int(begin), int(end)
        if first == last:
            yield first, 1.0
            return
        for window in range(first, last + 1):
            part = (min(end, window + 1) - max(begin, window)) / (end - begin)
            if part > 0:
                yield window, part

    def _call(self, call: SampledCall) -> int:
        number = self._number.get(call)
        if number is None:
            if len(self.calls) >= CALLS_MAX and call.caller >= 0:
                return call.caller
            number = self._number[call] = len(self.calls)
            self.calls.append(call)
        return number

    def _last_window(self) -> int:
        return max(cell.window for cell in self.samples)

    def _halve_windows(self) -> None:
        self.window_s *= 2
        self._regroup(1, 2)

    def _halve_ranks(self) -> None:
        self.ranks_per_cell *= 2
        self._regroup(2, 1)

    def _regroup(self, n_ranks: int, n_windows: int) -> None:
        before, self.samples = self.samples, {}
        for cell, count in before.items():
            wider = cell._replace(ranks=cell.ranks // n_ranks, window=cell.window // n_windows)
            self.samples[wider] = self.samples.get(wider, 0.0) + count
