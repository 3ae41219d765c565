"""Mistakes found by checks: their kinds, and the ranks and lines that they concern."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from smpy.engine.thread_ranks import OURS

__all__ = ["NOWHERE", "Kind", "Line", "Mistake", "Mistakes", "Side", "is_of_library", "line_here"]


class Line(NamedTuple):
    """A line of a file; the file's name is empty if the line is unknown."""

    file: str
    number: int


NOWHERE: Final = Line("", 0)


class Kind(Enum):
    """Kind of mistake: its name, and the phrases for one and for several mistakes."""

    NOT_FREED = "not freed", "handle is never freed", "handles are never freed"
    REQUESTS = "requests", "request is never completed", "requests are never completed"
    TYPES = "types", "pair of calls differs in its types", "pairs of calls differ in their types"
    OPERATIONS = "operations", "reduction has different operations", "reductions have different operations"
    BUFFERS = "buffers", "buffer is used while an operation needs it", "buffers are used while an operation needs them"
    OVERLAP = "overlap", "pair of pending buffers overlaps", "pairs of pending buffers overlap"
    CONFLICTS = "conflicts", "pair of accesses conflicts", "pairs of accesses conflict"
    OUTSIDE = "no epoch", "call on a window is outside an epoch", "calls on windows are outside epochs"
    EPOCHS = "epochs", "epoch is left open", "epochs are left open"
    RACES = "any source", "receive may take another message", "receives may take another message"
    ORDER = "arrival order", "result may depend on the order of arrival", "results may depend on the order of arrival"

    @property
    def topic(self) -> str:
        """Name of the kind, in at most 14 characters."""
        return self.value[0]

    @property
    def is_mistake(self) -> bool:
        """Whether the kind is always wrong, whatever the program does with the result."""
        return self is not Kind.ORDER

    def told(self, n: int) -> str:
        """Phrase for `n` mistakes of this kind."""
        return f"{n:,} {self.value[1 if n == 1 else 2]}"


class Side(NamedTuple):
    """One rank's part in a mistake: its action and its line."""

    rank: int
    what: str
    line: Line


class Mistake(NamedTuple):
    """A mistake of one rank, or of several ranks that disagree."""

    kind: Kind
    sides: tuple[Side, ...]
    chosen: tuple[int, int, int, int] | None = None
    """The receive of a race, and the message that it did not take (`RunConfig.chosen_message`)."""


class Mistakes:
    """All mistakes found in a run. One of several ranks is kept for the first ones; others on the same lines count."""

    def __init__(self) -> None:
        self._found: dict[object, tuple[Mistake, int]] = {}

    def add(self, kind: Kind, *sides: Side, chosen: tuple[int, int, int, int] | None = None) -> None:
        """Record a mistake."""
        ranks = sides[0].rank if len(sides) == 1 else -1
        key = kind, ranks, tuple(side[1:] for side in sides)
        first, n = self._found.get(key, (Mistake(kind, sides, chosen), 0))
        self._found[key] = first, n + 1

    def of_kind(self, kind: Kind) -> Iterator[tuple[Mistake, int]]:
        """Each mistake of a kind, and the number of times it was found."""
        return ((mistake, n) for mistake, n in self._found.values() if mistake.kind is kind)


def line_here() -> Line:
    """Line of the innermost frame outside smpy."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(OURS):
        if frame.f_back is None:
            return NOWHERE
        frame = frame.f_back
    return Line(frame.f_code.co_filename, frame.f_lineno)


def is_of_library(line: Line) -> bool:
    """Whether a line belongs to mpi4py, which keeps its own objects as long as it needs them."""
    return "/mpi4py/" in line.file.replace("\\", "/")
