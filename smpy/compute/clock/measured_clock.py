"""The clock of measured computing: processor time between two MPI calls becomes simulated time.

It runs while a rank's own code runs. A burst shorter than the threshold is dropped, and costs one reading of a cheap
monotonic clock at each end. The thread's processor clock, some twenty times dearer, is read at the end of longer bursts
only: time that the thread did not run since that last reading (the anchor) is taken off the burst. A burst starts with
an anchor younger than 50 us, which bounds its loss for time that passed before it. Threads that ranks start have no
part in it: their calls of the clock do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Final

from smpy.engine.surface import surface

if TYPE_CHECKING:
    from smpy.engine.clocks import BurstMemory, Bursts
    from smpy.engine.engine import Engine

# The real clocks: `time`'s functions give simulated time while a program runs.
_monotonic_s, _processor_s = perf_counter, thread_time

THRESHOLD_S: Final = 1e-6
"""Shorter bursts are dropped, as SMPI's cpu-threshold does."""
OBSERVED_S: Final = 100e-6
"""Shorter bursts are observed only if they contain a sample, and move no bytes: both take some microseconds."""
_ANCHOR_AGE_S: Final = 50e-6
_ANCHORS_MAX: Final = 10


class MeasuredClock:
    """Measures the running rank.

    Parameters
    ----------
    engine : Engine
        Engine that charges the computing.
    flop_per_s : float
        Speed of this machine: a measured second is that many operations of the simulated host. 0: as fast as a core of
        the rank's own host, so that a measured second is a simulated one.
    bursts : Bursts or None
        Gets every burst that ends, short ones too, and gives the seconds to charge for it.
    observer : callable or None
        Called with the seconds of bursts that are not short, before they are charged (see
        `smpy.compute.clock.observed_bursts`).
    memory : BurstMemory or None
        Asked for the time and the bytes of bursts that are not short.
    """

    def __init__(
        self,
        engine: Engine,
        flop_per_s: float,
        bursts: Bursts | None = None,
        observer: Callable[[float], object] | None = None,
        memory: BurstMemory | None = None,
    ) -> None:
        self._engine = engine
        self._flop_per_s = flop_per_s
        self._bursts = bursts
        self._observer = observer
        self._memory = memory
        self._is_running = False
        self._started_s = 0.0
        self._carried_s = 0.0
        self._anchor_s, self._anchor_processor_s = _monotonic_s(), _processor_s()

    def start(self) -> None:
        """Start the clock: the rank's own code begins."""
        if self._engine.is_here():
            self._start_after(0.0)

    def stop(self) -> bool:
        """Stop the clock and charge the rank; return whether the clock ran."""
        if not self._is_running or not self._engine.is_here():
            return False
        self._is_running = False
        computed_s, moved_bytes = self._carried_s + self._burst_s(), 0.0
        if self._memory is not None and computed_s >= OBSERVED_S:
            computed_s, moved_bytes = self._memory.split(computed_s)
        if self._observer is not None and computed_s >= OBSERVED_S:
            self._observer(computed_s)
        if self._bursts is not None:
            computed_s = self._bursts.take(computed_s)
        if computed_s >= THRESHOLD_S:
            flop = computed_s * (self._flop_per_s or self._engine.speed_flop_per_s())
            self._engine.compute(flop, moved_bytes, kernel="", n_calls=0)
        return True

    def pause(self) -> float:
        """Stop before code that is not the rank's; return the seconds computed so far, for `resume`.

        Negative when the clock did not run.
        """
        if not self._is_running or not self._engine.is_here():
            return -1.0
        self._is_running = False
        return self._carried_s + self._burst_s()

    def resume(self, mark_s: float) -> None:
        """Continue the rank's own code, if `pause` stopped it."""
        if mark_s >= 0:
            self._start_after(mark_s)

    def charge_s(self, mark_s: float) -> float:
        """Convert a mark of `pause` to simulated seconds on one of the rank's cores."""
        if mark_s >= 0 and self._bursts is not None and self._engine.is_here():
            mark_s = self._bursts.look(mark_s)
        if mark_s < THRESHOLD_S:
            return 0.0
        return mark_s * self._flop_per_s / self._engine.speed_flop_per_s() if self._flop_per_s else mark_s

    def _start_after(self, computed_s: float) -> None:
        now_s = _monotonic_s()
        for _ in range(_ANCHORS_MAX):  # the thread may be preempted between two readings
            if now_s - self._anchor_s <= _ANCHOR_AGE_S:
                break
            self._anchor_s, self._anchor_processor_s = now_s, _processor_s()
            now_s = _monotonic_s()
        self._started_s, self._carried_s = now_s, computed_s
        self._is_running = True

    def _burst_s(self) -> float:
        now_s = _monotonic_s()
        passed_s = now_s - self._started_s
        if passed_s < THRESHOLD_S:
            return passed_s
        since_anchor_s, processor_s = now_s - self._anchor_s, self._anchor_processor_s
        self._anchor_s, self._anchor_processor_s = now_s, _processor_s()
        away_s = since_anchor_s - (self._anchor_processor_s - processor_s)
        return min(passed_s, max(passed_s - away_s, 0.0))


def new_clock(
    engine: Engine,
    flop_per_s: float,
    bursts: Bursts | None = None,
    observer: Callable[[float], object] | None = None,
    memory: BurstMemory | None = None,
) -> MeasuredClock:
    """The clock for a run: the compiled surface has one that its calls share, otherwise `MeasuredClock`."""
    new = MeasuredClock if surface is None else surface.Clock
    clock: MeasuredClock = new(engine, flop_per_s, bursts, observer, memory)
    return clock
