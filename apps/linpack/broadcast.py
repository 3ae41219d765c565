"""Six ways a panel travels along the rows of the grid, from the process column that factored it.

A ring hands the whole panel on; whoever waits for it polls, so that a process can go on updating. The modified forms
relieve the process next to the root, which factors the next panel; two rings halve the way. The long forms scatter
the panel and roll its parts around.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from linpack.grid import poll_until, power_of_two
from linpack.panel import Panel

Array = Any


class Broadcast:
    """The journey of one panel, as one process sees it.

    Parameters
    ----------
    panel : Panel
        What travels.
    kind : str
        One of `linpack.settings.BROADCASTS`.

    Attributes
    ----------
    is_done : bool
        Whether this process has the panel and has handed it on.
    """

    def __init__(self, panel: Panel, kind: str) -> None:
        self._panel, self._comm, self._tag = panel, panel.grid.along_row, panel.tag
        size = panel.grid.n_columns
        place = (panel.grid.column - panel.column) % size
        self.is_done = size == 1
        self._whole = {"long": _long, "longM": _long_modified}.get(kind)
        self._source: int | None = None  # whom to look for a message from
        self._targets: tuple[int, ...] = ()
        if not self.is_done and self._whole is None:
            self._source, self._targets = _route(kind, place, size, panel.column)

    def advance(self) -> None:
        """Look whether the panel is there, and hand it on."""
        if not self.is_done and (self._source is None or self._comm.Iprobe(self._source, self._tag)):
            self._pass_on()

    def complete(self) -> None:
        """Poll until the panel is there."""
        if self.is_done:
            return
        if self._source is not None:
            poll_until(self._comm.Iprobe, self._source, self._tag)
        self._pass_on()

    def _pass_on(self) -> None:
        """Take the panel in, and send it to whoever gets it from here."""
        if self._whole is not None:
            self._whole(self._panel)
        else:
            comm, message, tag = self._comm, self._panel.message, self._tag
            if self._source is not None:
                comm.Recv(message, self._source, tag)
            for target in self._targets:
                comm.Send(message, target, tag)
        self.is_done = True


@lru_cache(1 << 14)
def _route(kind: str, place: int, size: int, root: int) -> tuple[int | None, tuple[int, ...]]:
    """Where a ring's panel comes from and goes to, for the process so many places behind the root."""
    middle = (size + 1) // 2 if kind.startswith("2") else size
    starts = {1, 2} if kind.endswith("M") else {1}
    if middle < size:
        starts.add(middle)
    starts = {start for start in starts if start < size}
    if place == 0:
        return None, tuple((start + root) % size for start in sorted(starts))
    source = 0 if place in starts else place - 1
    is_last = place + 1 in (size, middle) or (kind.endswith("M") and place == 1)
    return (source + root) % size, () if is_last else ((place + 1 + root) % size,)


def _long(panel: Panel) -> None:
    size = panel.grid.n_columns
    places = [(place + panel.column) % size for place in range(size)]
    _scatter_and_roll(panel, places, (panel.grid.column - panel.column) % size)


def _long_modified(panel: Panel) -> None:
    """The process next to the root gets the whole panel first, the others as in the long form."""
    grid, size, comm = panel.grid, panel.grid.n_columns, panel.grid.along_row
    place = (grid.column - panel.column) % size
    neighbour = (panel.column + 1) % size
    if place == 0:
        comm.Ssend(panel.message, neighbour, panel.tag)
    elif place == 1:
        comm.Recv(panel.message, panel.column, panel.tag)
    if place == 1 or size == 2:
        return
    places = [(p + panel.column) % size for p in range(size) if p != 1]
    _scatter_and_roll(panel, places, max(0, place - 1))


def _scatter_and_roll(panel: Panel, ranks: list[int], place: int) -> None:
    """A binomial scatter of equal parts among `ranks`, then a ring that turns to and fro until all have all."""
    comm, message, tag, size = panel.grid.along_row, panel.message, panel.tag, len(ranks)
    total = len(message)
    part = max(1, total // size)

    def parts(first: int, n: int) -> Array:
        start = min(first * part, total)
        return message[start : total if first + n >= size else min(start + n * part, total)]

    step = power_of_two(size - 1)
    while step:
        if place % step == 0:
            partner = place ^ step
            if place & step:
                comm.Recv(parts(place, step), ranks[partner], tag)
            elif partner < size:
                comm.Ssend(parts(partner, step), ranks[partner], tag)
        step //= 2
    before, behind = ranks[(place - 1) % size], ranks[(place + 1) % size]
    for turn in range(size - 1):
        half = turn // 2
        if (place + turn) % 2:
            out, into, partner = (place + half) % size, (place - half - 1) % size, before
        else:
            out, into, partner = (place - half) % size, (place + half + 1) % size, behind
        request = comm.Issend(parts(out, 1), partner, tag)
        comm.Recv(parts(into, 1), partner, tag)
        request.Wait()
