"""Excludes imports from computing: an import is a gap in the burst of the rank that imports.

The order of the ranks decides which of them first imports a shared module; a gap leaves no trace in any rank's
bursts. A rank's own module may call MPI; the rank's earlier computing is charged before the module runs.

A module that is first imported inside a function takes time. A shared one takes each rank that imports it as long as
the first one, which executed it; a rank's own one is computing of the rank, but for finding and compiling it, which is
done once for all ranks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from smpy.compute.clock.measured_clock import THRESHOLD_S
from smpy.emulate.ranks import RankState
from smpy.engine.running import named_call

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

_FREE: Final = frozenset({"smpy", "pdb", "bdb", "readline"})
"""Packages that take no time: smpy itself, and those that `breakpoint` imports."""


class Loading:
    """Keeps the clock of ranks that import.

    Parameters
    ----------
    engine : Engine
        The clock's engine.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine: Final = engine
        self._in_time: Final[set[int]] = set()
        self._marks_s: Final[dict[int, float | None]] = {}  # marks of ranks that import; None: nothing is uncharged

    @contextmanager
    def pause(self, state: RankState) -> Iterator[None]:
        """Exclude the work of an import inside this context from the rank's computing."""
        clock = self._engine.clock
        mark_s = -1.0 if clock is None else clock.pause()
        if clock is None or mark_s < 0:
            yield
            return
        self._marks_s[state.rank] = mark_s
        try:
            yield
        finally:
            left_s = self._marks_s.pop(state.rank)
            if left_s is None:
                clock.start()
            else:
                clock.resume(left_s)

    def has_interrupted(self, rank: int) -> bool:
        """Whether an import under way has interrupted computing of the rank, rather than a call of MPI or of smpy."""
        return self._marks_s.get(rank) is not None

    @contextmanager
    def take_time(self, rank: int) -> Iterator[None]:
        """Have the modules of its own that a rank executes inside this context take time."""
        is_inner = rank in self._in_time
        self._in_time.add(rank)
        try:
            yield
        finally:
            if not is_inner:
                self._in_time.discard(rank)

    def takes_time(self, rank: int) -> bool:
        """Whether the modules that a rank executes take time."""
        return rank in self._in_time

    @contextmanager
    def execute(self, state: RankState) -> Iterator[None]:
        """Exclude the execution of a module too, unless it takes time; MPI calls in it leave the clock alone."""
        clock = self._engine.clock
        if state.rank in self._marks_s and self._engine.is_here():
            mark_s = self._marks_s[state.rank]
            if clock is not None and mark_s is not None:
                clock.resume(mark_s)
                clock.stop()
                self._marks_s[state.rank] = None
            yield
        elif clock is None or state.rank in self._in_time or not clock.stop():
            yield
        else:
            try:
                yield
            finally:
                clock.start()


class LateImports:
    """Charges ranks for shared modules that they import inside functions.

    Parameters
    ----------
    engine : Engine
        The world, whose ranks have a clock.
    loading : Loading
        Keeper of their clock.
    flop_per_s : float
        Speed of a core of this machine; 0: that of the rank's simulated core.

    Attributes
    ----------
    seconds : dict of str to float
        Processor time of such modules, by name, without what was imported before.
    """

    def __init__(self, engine: Engine, loading: Loading, flop_per_s: float) -> None:
        self._engine: Final = engine
        self.loading: Final = loading
        self._flop_per_s: Final = flop_per_s
        self._processor_s: Final = time.thread_time  # the run replaces it in its module
        self._ranks: Final[dict[str, set[int]]] = {}
        self.seconds: Final[dict[str, float]] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Note how long the import inside takes, unless that is too short to be charged, or a foreign thread's."""
        began_s = self._processor_s()
        yield
        taken_s = self._processor_s() - began_s
        if taken_s >= THRESHOLD_S and name.partition(".")[0] not in _FREE and self._engine.is_here():
            self.seconds[name] = taken_s
            self._ranks[name] = set()

    def charge(self, name: str, rank: int) -> None:
        """Let a rank that computes, and imports a module for the first time, take as long as the first one."""
        ranks, clock = self._ranks[name], self._engine.clock
        if rank in ranks or clock is None or not self._engine.is_here():
            return
        mark_s = clock.pause()
        clock.resume(mark_s)
        if mark_s >= 0:
            ranks.add(rank)
            self._compute(self.seconds[name])

    @named_call("import")
    def _compute(self, seconds: float) -> None:
        self._engine.compute(seconds * (self._flop_per_s or self._engine.speed_flop_per_s()))
