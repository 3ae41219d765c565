"""Detects ranks that only poll: for messages that do not come, or for a distant date on the clock."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final

from smpy.emulate.reports.deadlock import describe_waits, line_of
from smpy.units import format_time

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

_AIRS_MAX: Final = 100  # in stretches of 50 ms of kernel work
_CLOCK_AIRS: Final = 20
_MANY_LOOKS: Final = 50_000  # readings of the clock in `_CLOCK_AIRS` stretches
_LOOKS_A_CALL: Final = 20  # readings of the clock per other call
_IDLE_LOOKS_MAX: Final = 200_000  # in loops that wait for another thread's assignment


class PollWatch:
    """Checks from time to time whether ranks make progress.

    It never ends a run: a rank may count its polls, or read the clock, and then do something else.

    Parameters
    ----------
    engine : Engine
        The world.
    home : str
        The program's directory: file names are given from there.
    tell : callable
        Called once after some seconds in which ranks did nothing but poll, compute and sleep, and once after a second
        in which they did little but read the clock.
    """

    def __init__(self, engine: Engine, home: str, tell: Callable[[str], None]) -> None:
        self._engine = engine
        self._home = home
        self._tell = tell
        self._progress = -1
        self._since_s = 0.0
        self._n_airs = 0
        self._clock_airs, self._looks, self._calls, self._looks_since_s = 0, 0, 0, 0.0
        self._has_told_of_clocks = False
        self._idle_looks = 0.0  # before the check; infinite once the remark was made

    def look(self) -> None:
        """Check the ranks' progress; called after each 50 ms of kernel work."""
        progress = self._engine.statistics().progress
        self._look_at_clocks(progress)
        if progress != self._progress:
            self._progress, self._since_s, self._n_airs = progress, self._engine.now_s, 0
            self._idle_looks = max(self._idle_looks, self._engine.n_idle_looks)
            return
        self._look_at_loops()
        self._n_airs += 1
        if self._n_airs == _AIRS_MAX and (polls := self.describe()):
            self._tell(f"smpy: {polls}\nThe run goes on; Ctrl-C ends it.\n")

    def _look_at_loops(self) -> None:
        engine = self._engine
        looks = engine.n_idle_looks - self._idle_looks
        if looks < _IDLE_LOOKS_MAX:
            return
        self._idle_looks = inf
        rank, timeline = engine.idle_looker
        waits = "which wait for what others assign"
        self._tell(
            f"smpy: since {self._since_s:.9g} s of simulated time, loops look {looks:,} times, {waits}: "
            f"rank {rank} at {line_of(engine, timeline, self._home)}\n"
            "time.sleep(seconds) lets time pass at once. The run goes on; Ctrl-C ends it.\n"
        )

    def _look_at_clocks(self, progress: int) -> None:
        self._clock_airs += 1
        if self._clock_airs % _CLOCK_AIRS:
            return
        engine = self._engine
        looks, calls = engine.n_looks - self._looks, progress - self._calls
        passed_s = engine.now_s - self._looks_since_s
        self._looks, self._calls, self._looks_since_s = engine.n_looks, progress, engine.now_s
        if self._has_told_of_clocks or looks < max(_MANY_LOOKS, _LOOKS_A_CALL * calls):
            return
        self._has_told_of_clocks = True
        place = line_of(engine, engine.first_timeline(engine.looker), self._home)
        self._tell(
            f"smpy: ranks poll the clock, {looks:,} times for {format_time(passed_s)} of simulated time: "
            f"rank {engine.looker} at {place}\n"
            "time.sleep(seconds) lets time pass at once; --set mpi.wtime=1us has each look take longer.\n"
        )

    def describe(self) -> str:
        """Names of ranks that poll, with their calls, while nothing else happens; empty otherwise."""
        polling = self._engine.polling()
        if not polling or self._engine.statistics().progress != self._progress:
            return ""
        head = f"since {self._since_s:.9g} s of simulated time, polls in vain are all that happens"
        return "\n".join([head, *describe_waits(self._engine, polling, self._home)])
