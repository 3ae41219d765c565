"""Says when ranks do nothing but poll in vain: a program that waits in a loop of its own for what will not come."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from smpy.emulate.deadlock import describe_waits

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

_AIRS_MAX: Final = 100  # stretches of 50 ms of the kernel's work


class PollWatch:
    """Looks from time to time whether ranks get on.

    It never ends a run: a rank may count its polls, or look at the clock, and do something else in the end.

    Parameters
    ----------
    engine : Engine
        The world.
    home : str
        The program's directory: file names are given from there.
    tell : callable
        Told once, after some seconds in which ranks did nothing but poll, compute and sleep.
    """

    def __init__(self, engine: Engine, home: str, tell: Callable[[str], None]) -> None:
        self._engine = engine
        self._home = home
        self._tell = tell
        self._progress = -1
        self._since_s = 0.0
        self._n_airs = 0

    def look(self) -> None:
        """The kernel has worked for another 50 ms."""
        progress = self._engine.statistics().progress
        if progress != self._progress:
            self._progress, self._since_s, self._n_airs = progress, self._engine.now_s, 0
            return
        self._n_airs += 1
        if self._n_airs == _AIRS_MAX and (polls := self.describe()):
            self._tell(f"smpy: {polls}\nThe run goes on; Ctrl-C ends it.\n")

    def describe(self) -> str:
        """Who polls for what, while nothing else happens; empty when something does."""
        polling = self._engine.polling()
        if not polling or self._engine.statistics().progress != self._progress:
            return ""
        head = f"since {self._since_s:.9g} s of simulated time, polls in vain are all that happens"
        return "\n".join([head, *describe_waits(self._engine, polling, self._home)])
