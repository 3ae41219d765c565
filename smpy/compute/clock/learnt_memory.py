"""Bytes that measured bursts move, learnt while the program runs: a few of them are timed beside a load of memory.

The load runs in windows, which begin and end with bursts that are not short, so that such a burst computes beside it
all the time or not at all. Windows take a small part of the time that bursts compute; their distances are drawn, lest
they follow the rhythm of the program. A burst beside the load is charged with its time alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol

from smpy.compute.clock.memory_shares import LoadSlowdown, MemoryShares
from smpy.engine.processors import processors_beside
from smpy.engine.surface import surface

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

_real_s: Final = perf_counter  # `time`'s functions give simulated time while a program runs
_PART: Final = 0.05
"""Part of the computing time that is beside the load."""
_WINDOW_S: Final = 5e-3
"""Shortest window, in seconds: it costs less to begin than a tenth of that."""
_ALLOWED_S: Final = 0.05
"""Computing time beside the load that short runs may have, too."""
_LEAST_ALONE: Final = 2
"""Number of bursts before the first window."""
_PATIENCE: Final = 5
"""Times the expected window after which the load stops by itself, since no long burst has ended."""
_RECENT: Final = 20
"""Number of last bursts of which the longest has to fit into the time that is allowed."""
_UNDISTURBED: Final = 0.9
"""Least part of a burst in which the load has to run, for the burst to count."""


class BackgroundLoad(Protocol):
    """Load of memory on another core."""

    def start(self, most_s: float) -> None:
        """Move memory from now on, for at most so many seconds."""

    def stop(self) -> None:
        """Move no more."""

    def processor_s(self) -> float:
        """Processor time that the load has used, in seconds."""


class NeighbourLoad:
    """A thread of this process that moves memory, on another core than the caller's.

    Parameters
    ----------
    nbytes : int
        Memory that it works in.
    processors : sequence of int
        Processors that it may use.
    """

    def __init__(self, nbytes: int, processors: Sequence[int]) -> None:
        self._processors: Final = processors
        self._load: Final[Any] = surface.MemoryLoad(nbytes)
        self.stop: Final = self._load.stop
        self.processor_s: Final = self._load.processor_s
        self.moved_bytes: Final = self._load.moved_bytes

    def start(self, most_s: float) -> None:
        self._load.start(processors_beside(self._load.here(), self._processors), most_s)


class LearntBurstMemory:
    """Tells the clock how many bytes measured bursts move.

    Parameters
    ----------
    engine : Engine
        The world.
    slowdown : LoadSlowdown
        Effect of the load, as calibrated on this machine.
    load : BackgroundLoad
        The load.
    flop_per_s : float
        Speed of this machine, as the clock has it; 0: a measured second is a simulated one.

    Attributes
    ----------
    shares : MemoryShares
        Shares of the bursts' time that memory bounds.
    n_beside, n_disturbed : int
        Bursts beside the load; those among them during which it did not have a core all the time.
    """

    def __init__(self, engine: Engine, slowdown: LoadSlowdown, load: BackgroundLoad, flop_per_s: float) -> None:
        self._engine: Final = engine
        self._bandwidth_bytes_per_s: Final = slowdown.core_bandwidth_bytes_per_s
        self._load = load
        self._flop_per_s: Final = flop_per_s
        self.shares: Final = MemoryShares(slowdown)
        self.n_beside = self.n_disturbed = 0
        self._random: Final = Random(0)
        self._ends: Final[dict[int, int]] = {}
        self._recent_s: Final[deque[float]] = deque(maxlen=_RECENT)
        self._is_open = False
        self._alone_s = self._beside_s = self._opened_s = 0.0
        self._part = _PART
        self._since_s = self._since_processor_s = 0.0

    def split(self, measured_s: float) -> tuple[float, float]:
        """Seconds of the burst that the running rank has just ended, as if alone on this machine, and bytes moved."""
        place = self._place()
        loaded = self._loaded_part()
        is_disturbed = 0 < loaded < _UNDISTURBED
        self.n_beside += loaded > 0
        self.n_disturbed += is_disturbed
        alone_s = self.shares.take(place, measured_s, loaded, counts=not is_disturbed)
        self._turn(measured_s)
        return alone_s, self._moved_bytes(alone_s, self.shares.share(place))

    def end(self) -> None:
        """Stop the load of memory, and free it."""
        self._load.stop()
        del self._load

    def _place(self) -> tuple[int, int]:
        """Rank and line where the burst ends, and the same of its rank's last long burst."""
        rank, end = self._engine.rank, surface.situation() >> 1
        begins, self._ends[rank] = self._ends.get(rank, 0), end
        return begins, end

    def _loaded_part(self) -> float:
        """Part of the time since the last long burst in which the load ran; 0 without a window."""
        if not self._is_open:
            return 0.0
        passed_s, used_s = _real_s() - self._since_s, self._load.processor_s() - self._since_processor_s
        return min(max(used_s / passed_s, 1e-9), 1.0) if passed_s > 0 else 1.0

    def _turn(self, measured_s: float) -> None:
        """Open a window, close it, or let it be."""
        self._recent_s.append(measured_s)
        if self._is_open:
            self._beside_s += measured_s
            if _real_s() - self._opened_s >= _WINDOW_S:
                self._load.stop()
                self._is_open = False
                self._part = _PART * self._random.uniform(0.7, 1.4)
        else:
            self._alone_s += measured_s
            left_s = self._part * self._alone_s + _ALLOWED_S - self._beside_s
            longest_s = max(self._recent_s)
            if len(self._recent_s) >= _LEAST_ALONE and longest_s <= left_s:
                self._load.start(_PATIENCE * (longest_s + _WINDOW_S))
                self._is_open = True
                self._opened_s = _real_s()
        if self._is_open:
            self._since_s, self._since_processor_s = _real_s(), self._load.processor_s()

    def _moved_bytes(self, alone_s: float, share: float) -> float:
        """Bytes of a burst, at most as many as one simulated core can move in its time."""
        engine = self._engine
        memory = engine.memory()
        if not share or not memory.is_known:
            return 0.0
        engine.know_memory()
        simulated_s = alone_s * self._flop_per_s / engine.speed_flop_per_s() if self._flop_per_s else alone_s
        return min(share * self._bandwidth_bytes_per_s * alone_s, memory.alone_bytes_per_s * simulated_s)
