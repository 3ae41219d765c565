"""Observes measured bursts: adds up samples of the program's lines and call stacks, and the spread of equal bursts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from smpy.compute.clock.burst_spread import BurstSpread
from smpy.compute.clock.measured_clock import OBSERVED_S
from smpy.compute.clock.sampled_stacks import Place, SampledStacks
from smpy.compute.clock.system_time import SystemTime
from smpy.engine.surface import surface
from smpy.engine.thread_ranks import called_from

if TYPE_CHECKING:
    from smpy.engine.engine import Engine


class ObservedBursts:
    """Observer that the clock calls with each finished burst.

    Parameters
    ----------
    engine : Engine
        The world.
    flop_per_s : float
        Speed of this machine, as the clock has it: 0: as fast as a core of the rank's own host.

    Attributes
    ----------
    spread : BurstSpread
        Spread of equal bursts.
    system_time : SystemTime
        Share of long bursts that the system took.
    samples : dict of (file, line) to Counter
        Samples in bursts that ended in a line of the program, by (file, function, line) in which they were taken.
    stacks : SampledStacks
        Samples by call stack, rank and time.
    """

    def __init__(self, engine: Engine, flop_per_s: float) -> None:
        self._engine: Final = engine
        self._flop_per_s: Final = flop_per_s
        self.spread: Final = BurstSpread()
        self.system_time: Final = SystemTime()
        self.samples: Final[dict[Place, Counter[tuple[str, str, int]]]] = {}
        self.stacks: Final = SampledStacks()

    def __call__(self, seconds: float) -> None:
        """Note a burst of the running rank, which has just made the call that ended the burst."""
        engine = self._engine
        _, frame = called_from()
        end = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        if seconds >= OBSERVED_S:
            self.spread.take(engine.rank, end, seconds)
            self.system_time.take(seconds)
        samples = [] if surface is None else surface.take_samples()
        if samples:
            counter = self.samples.setdefault(end, Counter())
            for _, file, function, line, count in samples:
                if count:
                    counter[file, function, line] += count
            slowdown = self._flop_per_s / engine.speed_flop_per_s() if self._flop_per_s else 1.0
            self.stacks.add(engine.rank, end, engine.reached_s(), seconds * slowdown, samples)
