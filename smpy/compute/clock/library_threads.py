"""Processor time of a library's threads in measured bursts, spread over the cores of a rank.

While a rank's own thread computes, threads of BLAS, numba or torch compute beside it: `n_here` with it. The time of the
others tells the parallel part of the burst: all together took `n_here` over `n_here - 1` times that time, the rank's
thread an equal part. This work is spread equally over the rank's cores; the rest of the burst is on one core.
"""

from __future__ import annotations

from time import process_time, thread_time
from typing import TYPE_CHECKING, Final

from smpy.compute.clock.measured_clock import THRESHOLD_S

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

__all__ = ["LibraryThreads", "parallel_parts"]

_all_threads_s, _own_thread_s = process_time, thread_time  # `time`'s functions give simulated time in a program


def parallel_parts(burst_s: float, others_s: float, n_here: int) -> tuple[float, float]:
    """Time of a burst that was not parallel, and the work of all threads in the rest of it, in seconds.

    Examples
    --------
    >>> parallel_parts(burst_s=5.0, others_s=6.0, n_here=4)  # 2 s in four threads
    (3.0, 8.0)
    """
    own_s = min(burst_s, others_s / (n_here - 1))
    return burst_s - own_s, own_s + others_s


class LibraryThreads:
    """Spread of library threads over the cores of a rank, for the clock of measured computing.

    Parameters
    ----------
    engine : Engine
        Engine that charges the computing.
    n_here : int
        Number of threads that libraries have on this machine: two or more.
    flop_per_s : float
        Speed of this machine; 0: as fast as a core of the rank's own host.

    Attributes
    ----------
    total_s : float
        Processor time of all threads that was spread so far.
    """

    def __init__(self, engine: Engine, n_here: int, flop_per_s: float) -> None:
        self._engine: Final = engine
        self._n_here: Final = n_here
        self._flop_per_s: Final = flop_per_s
        self._others_s = _all_threads_s() - _own_thread_s()
        self.total_s = 0.0

    def split(self, measured_s: float) -> tuple[float, float]:
        """Charge the parallel part of a burst; return the seconds of the rest, and no bytes."""
        before_s, self._others_s = self._others_s, _all_threads_s() - _own_thread_s()
        others_s = self._others_s - before_s
        if others_s < THRESHOLD_S:
            return measured_s, 0.0
        engine, n_threads = self._engine, self._engine.cpus_per_task
        rest_s, parallel_s = parallel_parts(measured_s, others_s, self._n_here)
        self.total_s += parallel_s
        engine.add_parallel_burst(parallel_s / n_threads * (self._flop_per_s or engine.speed_flop_per_s()), n_threads)
        return rest_s, 0.0
