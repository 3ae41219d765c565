"""The clock of measured computing: processor time between two MPI calls becomes simulated time.

It runs while a rank's own code runs. A cheap monotonic clock is read at both ends of a burst; only when that shows more
than the threshold is the thread's processor clock asked how much of the time since it was last asked the process did not run,
and that much is taken off.
"""

from __future__ import annotations

from time import perf_counter, thread_time
from typing import TYPE_CHECKING

from smpy.engine.kernel import surface

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

# The real clocks: `time`'s functions give simulated time while a program runs.
_monotonic_s, _processor_s = perf_counter, thread_time

THRESHOLD_S = 1e-6
"""Shorter bursts are dropped, as SMPI's cpu-threshold does."""


class Clock:
    """Measures the running rank.

    Parameters
    ----------
    engine : Engine
        Where the computing is charged.
    flop_per_s : float
        Speed of this machine: a measured second is that many operations of the simulated host.
    """

    def __init__(self, engine: Engine, flop_per_s: float) -> None:
        self._engine = engine
        self._flop_per_s = flop_per_s
        self._is_running = False
        self._since_s = 0.0
        self._paused_s = 0.0
        self._asked_s, self._asked_processor_s = _monotonic_s(), _processor_s()

    def start(self) -> None:
        """The rank's own code begins."""
        self._is_running = True
        self._paused_s = 0.0
        self._since_s = _monotonic_s()

    def stop(self) -> bool:
        """The rank's own code ends: charge it. Whether the clock ran."""
        if not self._is_running:
            return False
        self._is_running = False
        now_s = _monotonic_s()
        burst_s = now_s - self._since_s - self._paused_s
        if burst_s >= THRESHOLD_S:
            processor_s = _processor_s()
            away_s = (now_s - self._asked_s) - (processor_s - self._asked_processor_s)
            self._asked_s, self._asked_processor_s = now_s, processor_s
            burst_s -= max(away_s, 0.0)
            if burst_s >= THRESHOLD_S:
                self._engine.compute(burst_s * self._flop_per_s)
        return True

    def pause(self) -> float:
        """What follows is not the rank's: the mark to give to `resume`."""
        return _monotonic_s()

    def resume(self, mark_s: float) -> None:
        """The rank's own code goes on."""
        self._paused_s += _monotonic_s() - mark_s


def new_clock(engine: Engine, flop_per_s: float) -> Clock:
    """The clock for a run: the compiled surface has one that its calls share, otherwise `Clock`."""
    made: Clock = Clock(engine, flop_per_s) if surface is None else surface.Clock(engine, flop_per_s)
    return made
