"""State of a checked window: the epochs of each rank, and accesses to each part that are not complete.

The compiled surface records plain accesses itself. It reads and sets fields of `Origin`
(kernels/surface/access_notes.h).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from smpy.engine.surface import surface
from smpy.mpi.checks.mistakes import Line, Mistakes
from smpy.mpi.checks.window_buffers import AccessBuffers
from smpy.mpi.checks.window_conflicts import EpochAccesses, WindowAccess

__all__ = ["ALL", "CheckedWindow", "Origin", "Target"]

ALL: Final = -1
"""Number that stands for all ranks, in the surface, too."""
_LOCKS: Final = ("Lock", "Lock_all")


class Origin:
    """Epochs of one rank on a window.

    `rank` is the rank in the world. `opened` has the line of each call that has opened an epoch, by the call's name.
    `lock_lines` has the lines of locks by locked rank; the compiled surface stores them as line numbers.
    `has_accessed` is set by accesses in the fence's epoch. `locked` has incomplete accesses under locks, by target.
    `notes` are those of the surface.
    """

    __slots__ = (*("buffers", "fence", "has_accessed", "lock_lines", "locked", "n_fences", "notes", "opened", "rank"),)

    def __init__(self, rank: int, mistakes: Mistakes, notes: Any) -> None:
        self.rank = rank
        self.notes = notes
        self.buffers = AccessBuffers(mistakes, rank)
        self.n_fences = 0
        self.fence: Line | None = None
        self.has_accessed = False
        self.opened: dict[str, Line] = {}
        self.lock_lines: dict[int, Line | int] = {}
        self.locked: dict[int, dict[int, WindowAccess]] = {}

    def open(self, call: str, peer: int | None, line: Line) -> None:
        """Record a call that has opened an epoch."""
        if call in _LOCKS:
            self.lock_lines[ALL if peer is None else peer] = line
        else:
            self.opened[call] = line

    def close(self, call: str, peer: int | None) -> None:
        """Forget a call whose epoch has ended."""
        if call in _LOCKS:
            self.lock_lines.pop(ALL if peer is None else peer, None)
        else:
            self.opened.pop(call, None)


class Target:
    """Accesses to one rank's part of a window, by the kind of epoch."""

    __slots__ = ("exposed", "fenced", "locked", "n_fences")

    def __init__(self) -> None:
        self.n_fences = 0
        self.fenced = EpochAccesses()
        self.exposed = EpochAccesses()
        self.locked = EpochAccesses()

    def begin_fenced(self, n_fences: int) -> EpochAccesses:
        """Accesses in the epoch after `n_fences` fences; forget those of an earlier epoch."""
        if self.n_fences != n_fences:
            self.n_fences = n_fences
            self.fenced.clear()
        return self.fenced

    @property
    def is_empty(self) -> bool:
        """Whether no access is recorded."""
        return self.fenced.is_empty and self.exposed.is_empty and self.locked.is_empty


class CheckedWindow:
    """Ranks of a window that have made calls; `notes` has accesses recorded by the compiled surface."""

    __slots__ = ("notes", "origins", "targets")

    def __init__(self, n_ranks: int) -> None:
        self.origins: dict[int, Origin] = {}
        self.targets: defaultdict[int, Target] = defaultdict(Target)
        self.notes: Any = None if surface is None else surface.AccessNotes(n_ranks)

    def give_back(self, target: int) -> None:
        """Let the surface record accesses to a target again if none is recorded here."""
        if self.notes is not None and self.targets[target].is_empty:
            self.notes.give_back(target)
