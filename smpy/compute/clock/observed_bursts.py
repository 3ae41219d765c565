"""Observes measured bursts: counts the program's lines in which they were spent, and the spread of equal ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from smpy.compute.clock.burst_spread import BurstSpread
from smpy.compute.clock.measured_clock import OBSERVED_S
from smpy.compute.clock.system_time import SystemTime
from smpy.engine.surface import surface
from smpy.engine.thread_ranks import called_from

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

Place = tuple[str, int]


class ObservedBursts:
    """Observer that the clock calls with each finished burst.

    Parameters
    ----------
    engine : Engine
        The world.

    Attributes
    ----------
    spread : BurstSpread
        Spread of equal bursts.
    system_time : SystemTime
        Share of long bursts that the system took.
    samples : dict of (file, line) to Counter
        Samples in bursts that ended in a line of the program, by (file, function, line) in which they were taken.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine: Final = engine
        self.spread: Final = BurstSpread()
        self.system_time: Final = SystemTime()
        self.samples: Final[dict[Place, Counter[tuple[str, str, int]]]] = {}

    def __call__(self, seconds: float) -> None:
        """Note a burst of the running rank, which has just made the call that ended the burst."""
        _, frame = called_from()
        end = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        if seconds >= OBSERVED_S:
            self.spread.take(self._engine.rank, end, seconds)
            self.system_time.take(seconds)
        samples = [] if surface is None else surface.take_samples()
        if samples:
            counter = self.samples.setdefault(end, Counter())
            for file, function, line, count in samples:
                counter[file, function, line] += count
