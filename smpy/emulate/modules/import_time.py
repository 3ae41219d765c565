"""Excludes imports from computing: an import is a gap in the burst of the rank that imports.

The order of the ranks decides which of them first imports a shared module; a gap leaves no trace in any rank's
bursts. A rank's own module may call MPI; the rank's earlier computing is charged before the module runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from smpy.emulate.ranks import RankState

if TYPE_CHECKING:
    from smpy.engine.engine import Engine


class Loading:
    """Keeps the clock of ranks that import.

    Parameters
    ----------
    engine : Engine
        The clock's engine.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine: Final = engine
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

    @contextmanager
    def execute(self, state: RankState) -> Iterator[None]:
        """Exclude the execution of a module too; MPI calls in it leave the clock alone."""
        clock = self._engine.clock
        if state.rank in self._marks_s and self._engine.is_here():
            mark_s = self._marks_s[state.rank]
            if clock is not None and mark_s is not None:
                clock.resume(mark_s)
                clock.stop()
                self._marks_s[state.rank] = None
            yield
        elif clock is None or not clock.stop():
            yield
        else:
            try:
                yield
            finally:
                clock.start()
