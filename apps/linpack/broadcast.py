"""Six ways a panel travels along the rows of the grid, from the process column that factored it.

A ring hands the whole panel on; whoever waits for it polls, so that a process can go on updating. The modified forms
relieve the process next to the root, which factors the next panel; two rings halve the way. The long forms scatter
the panel and roll its parts around.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Protocol

from linpack.grid import power_of_two
from linpack.messages import WHOLE, AwaitedMessage, Calls, Steps, nothing, poll_until, sequence
from linpack.panel import Panel

Array = Any


class Awaited(Protocol):
    """A panel on its way, as one process sees it.

    Attributes
    ----------
    is_done : bool
        Whether this process has the panel and has handed it on.
    """

    is_done: bool

    def look(self) -> bool:
        """Look whether the panel is there, and hand it on: whether that is done."""

    def wait(self) -> None:
        """Poll until the panel is there, and hand it on."""


def broadcast(panel: Panel, kind: str) -> Awaited:
    """Start the journey of a panel.

    Parameters
    ----------
    panel : Panel
        Panel to broadcast.
    kind : str
        One of `linpack.settings.BROADCASTS`.
    """
    grid, comm = panel.grid, panel.grid.along_row
    if grid.n_columns == 1:
        return _Arrival(comm, None, panel.tag, None)
    if kind in _WHOLE:
        return _Arrival(comm, None, panel.tag, partial(_WHOLE[kind], panel))
    place = (grid.column - panel.column) % grid.n_columns
    before, behind = _places(kind, place, grid.n_columns)
    source = None if before is None else (before + panel.column) % grid.n_columns
    targets = tuple([(other + panel.column) % grid.n_columns for other in behind])
    if not panel.kernels.is_real:
        return AwaitedMessage(comm, source, panel.tag, sequence(write_ring, source, targets), panel.message)
    calls = Calls(comm, nothing, panel.message)
    return _Arrival(comm, source, panel.tag, partial(write_ring, calls, source, targets, panel.tag))


class _Arrival:
    """Makes its calls itself.

    Parameters
    ----------
    comm : MPI.Comm
        Communicator along the row of the grid.
    source : int or None
        Rank that sends it; None: there is nothing to look for.
    tag : int
        Its tag.
    pass_on : callable or None
        Takes the panel in, and sends it to whoever gets it from here; None: there is nobody.
    """

    def __init__(self, comm: Any, source: int | None, tag: int, pass_on: Callable[[], None] | None) -> None:
        self._comm, self._source, self._tag, self._pass_on = comm, source, tag, pass_on
        self.is_done = pass_on is None

    def look(self) -> bool:
        if not self.is_done and (self._source is None or self._comm.Iprobe(self._source, self._tag)):
            self._go_on()
        return self.is_done

    def wait(self) -> None:
        if self.is_done:
            return
        if self._source is not None:
            poll_until(self._comm.Iprobe, self._source, self._tag)
        self._go_on()

    def _go_on(self) -> None:
        if self._pass_on is not None:
            self._pass_on()
        self.is_done = True


def write_ring(steps: Steps, source: int | None, targets: tuple[int, ...], tag: int | None = None) -> None:
    """Take a panel in and send it on; array 0 is the panel, and its tag may be told later."""
    if source is not None:
        steps.Recv(WHOLE, source, tag)
    for target in targets:
        steps.Send(WHOLE, target, tag)


@lru_cache(1 << 12)
def _places(kind: str, place: int, size: int) -> tuple[int | None, tuple[int, ...]]:
    """Source and targets of a ring's panel for the process at a place; all counted from the root."""
    middle = (size + 1) // 2 if kind.startswith("2") else size
    starts = {1, 2} if kind.endswith("M") else {1}
    if middle < size:
        starts.add(middle)
    starts = {start for start in starts if start < size}
    if place == 0:
        return None, tuple(sorted(starts))
    source = 0 if place in starts else place - 1
    is_last = place + 1 in (size, middle) or (kind.endswith("M") and place == 1)
    return source, () if is_last else (place + 1,)


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


_WHOLE = {"long": _long, "longM": _long_modified}
"""Broadcasts that do not look for a panel."""
