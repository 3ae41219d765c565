"""Detects a thread inside compiled code that stops all ranks; it may wait for one of them.

The module is imported before a run begins, so that its thread and its clock are those of the operating system.
"""

from __future__ import annotations

import sys
from _thread import get_ident, start_new_thread
from collections.abc import Callable
from time import clock_gettime, pthread_getcpuclockid, sleep
from typing import TYPE_CHECKING, Final

from smpy.emulate.reports.deadlock import line_in
from smpy.engine.thread_ranks import PASSED_OVER

if TYPE_CHECKING:
    from smpy.emulate.threads.rank_threads import RankThreads
    from smpy.engine.engine import Engine

_LOOKS_MAX: Final = 5
_INTERVAL_S: Final = 1.0
_IDLE_S: Final = 0.02  # of processor time per interval: less is waiting


class StallWatch:
    """Checks once a second of real time, in an operating-system thread, whether the simulation stands still.

    It never ends a run: the wait may be for something real, such as a process.

    Parameters
    ----------
    engine : Engine
        The world.
    threads : RankThreads
        The threads of ranks; the caller is the thread that turns the loop.
    home : str
        The program's directory: file names are given from there.
    tell : callable
        Called once for each call that stands for some seconds without computing.
    """

    def __init__(self, engine: Engine, threads: RankThreads, home: str, tell: Callable[[str], None]) -> None:
        self._engine = engine
        self._threads = threads
        self._home = home
        self._tell = tell
        self._ident = get_ident()
        self._is_over = False

    def start(self) -> None:
        """Start checking."""
        start_new_thread(self._look_on, (pthread_getcpuclockid(self._ident),))

    def stop(self) -> None:
        """Stop the watch: the world may be closed afterwards."""
        self._is_over = True

    def _look_on(self, clock: int) -> None:
        before, n_same, seconds = None, 0, 0.0
        while True:
            sleep(_INTERVAL_S)
            if self._is_over:
                return
            frame = sys._current_frames().get(self._ident)
            now = None if frame is None else (id(frame), frame.f_lasti, self._engine.now_s)
            used_s, seconds = clock_gettime(clock) - seconds, clock_gettime(clock)
            n_same = n_same + 1 if now == before and used_s < _IDLE_S else 0
            before = now
            if n_same == _LOOKS_MAX:
                while frame is not None and frame.f_code.co_filename.startswith(PASSED_OVER):
                    frame = frame.f_back
                self._tell(
                    f"smpy: {self._threads.running_name()} waits in compiled code at {line_in(frame, self._home)}, and "
                    "no rank or thread goes on meanwhile.\nIf one of them is to end this wait, it never ends: wait by "
                    "threading, queue, select or MPI. Ctrl-C or kill -9 ends the run.\n"
                )
