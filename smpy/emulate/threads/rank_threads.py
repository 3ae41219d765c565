"""Threads of ranks as timelines: their start, execution, end and waits.

A thread's code runs in a greenlet of the thread that turns the loop. Before an action that other threads of its rank
can see (on a lock, an event), it catches up: it lets others run until the kernel has executed its computing so far.
So the code of a rank's threads executes in the order of simulated dates.
"""

from __future__ import annotations

import threading
from _thread import get_ident as real_ident
from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Final, Protocol

from smpy.emulate.ranks import RankState, enter_thread, is_for_all
from smpy.engine.running import named_call
from smpy.engine.thread_ranks import waits_at

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

_FIRST_IDENT: Final = 1_000_000
_SPINS: Final = 256
_FIRST_PAUSE_S: Final = 1e-5
_PAUSE_MAX_S: Final = 1e-3


class Sign(Protocol):
    """Lock whose release signals that a thread has ended."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Wait until the thread has ended."""

    def release(self) -> None:
        """Signal the end of the thread."""

    def locked(self) -> bool:
        """Whether the thread is alive."""

    def abandon(self) -> None:
        """Signal after the run, for code that joins the thread as the process ends."""


class RankThread:
    """One thread of a rank.

    Attributes
    ----------
    state : RankState
        State of the rank.
    timeline : int
        Number of the thread's timeline in the kernel.
    is_daemon : bool
        Whether the rank ends without waiting for this thread.
    sentinel : Sign or None
        Lock released when the thread has ended.
    running_loop, event_loops : object
        State that `asyncio` keeps per thread.
    """

    __slots__ = ("_body", "event_loops", "is_daemon", "running_loop", "sentinel", "state", "thread", "timeline")

    def __init__(self, state: RankState, thread: threading.Thread | None, body: Callable[[RankThread], None]) -> None:
        self.state = state
        self.thread = thread
        self.timeline = -1
        self.is_daemon = thread is None or thread.daemon
        self.sentinel: Sign | None = None
        self.running_loop: object = None
        self.event_loops: dict[Any, dict[Any, Any]] | None = None
        self._body = body

    @property
    def ident(self) -> int:
        """Identifier of the thread, as `threading.get_ident` returns it."""
        return _FIRST_IDENT + self.timeline

    @property
    def name(self) -> str:
        """Name of the thread."""
        return f"number {self.ident}" if self.thread is None else self.thread.name

    def __call__(self) -> None:
        self._body(self)


class RankThreads:
    """Threads with a timeline, of all ranks.

    Parameters
    ----------
    engine : Engine
        The engine of the run.

    Attributes
    ----------
    living : dict of int to RankThread
        Threads that have not ended, by timeline.
    spins, spins_max : int
        Count of actions on locks and the like, and the limit from which an action must catch up in full.
    idle_timeline : callable
        Returns the running timeline if it has caught up, else -1. While `spins` is below its limit, an action needs
        no other step to catch up.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._loop_ident = real_ident()
        self.living: dict[int, RankThread] = {}
        self.spins, self.spins_max = 0, 0
        self.idle_timeline = engine.ask_for_idle_timeline()
        self._running_timeline = engine.ask_for_running_timeline()
        self._pause_s = 0.0
        self._spun_at_s = -1.0
        self.at_begin: Callable[[], None] = lambda: None
        self.at_end: Callable[[RankThread], None] = lambda thread: None

    def current(self) -> RankThread | None:
        """Thread whose code runs; None for a rank's own code, or in a thread of the operating system."""
        if not self.living or real_ident() != self._loop_ident:
            return None
        return self.living.get(self._engine.running_timeline)

    def ident(self) -> int:
        """Return the value of `_thread.get_ident`."""
        if self.living and real_ident() == self._loop_ident:
            timeline = self._running_timeline()
            if timeline in self.living:
                return _FIRST_IDENT + timeline
        return real_ident()

    def of(self, state: RankState) -> list[RankThread]:
        """Living threads of a rank, oldest first."""
        return [thread for thread in self.living.values() if thread.state is state]

    # ---- a thread's life ----

    @named_call("start_new_thread")
    def start(
        self,
        state: RankState,
        thread: threading.Thread | None,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> RankThread:
        """Start a thread of the running rank."""
        started = RankThread(state, thread, partial(self._live, function, args, kwargs))
        self.spins_max = _SPINS if self._engine.clock is None else 0
        started.timeline = self._engine.add_timeline(started)
        self.living[started.timeline] = started
        state.n_threads += 1
        return started

    def _live(self, function: Callable[..., Any], args: Any, kwargs: Any, thread: RankThread) -> None:
        state, clock = thread.state, self._engine.clock
        enter_thread(state)
        self.at_begin()
        if clock is not None:
            clock.start()
        try:
            function(*args, **kwargs)
        except SystemExit:
            pass
        except BaseException as error:  # noqa: BLE001  # the thread ends, not the rank
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, thread.thread)))
        self.catch_up(state)
        if thread.sentinel is not None and thread.sentinel.locked():
            thread.sentinel.release()
        if clock is not None:
            clock.stop()
        self._engine.catch_up("")
        self._end(thread)

    def _end(self, thread: RankThread) -> None:
        if self.living.pop(thread.timeline, None) is not None:
            thread.state.n_threads -= 1
            self.at_end(thread)

    def drop(self, thread: RankThread) -> None:
        """End a thread at its current point."""
        self._engine.drop_timeline(thread.timeline)
        self._end(thread)
        _remove(thread)

    # ---- waits ----

    def catch_up(self, state: RankState) -> None:
        """Let the kernel execute the computing of the running code so far, if its rank has threads.

        Code that calls this again and again at one date waits for something that comes later: time passes, in growing
        steps.
        """
        if not state.n_threads or is_for_all():
            return
        engine, clock = self._engine, self._engine.clock
        self.spins += 1
        if clock is None and self.spins < _SPINS and engine.has_caught_up():
            return
        is_stopped = clock is not None and clock.stop()
        if self.spins >= _SPINS:
            self.spins = 0
            if engine.now_s == self._spun_at_s:
                self._pause_s = min(_PAUSE_MAX_S, max(_FIRST_PAUSE_S, 2 * self._pause_s))
                engine.sleep(self._pause_s)
            self._spun_at_s = engine.now_s
        if not engine.has_caught_up():
            engine.block("catch_up")
        if is_stopped and clock is not None:
            clock.start()

    def running_name(self) -> str:
        """Running rank and thread, for messages of a thread of the operating system."""
        timeline = self._running_timeline()
        thread = self.living.get(timeline)
        if thread is not None:
            return f"rank {thread.state.rank}, thread {thread.name},"
        return f"rank {timeline}" if timeline < self._engine.n_first_ranks else "a rank"

    def name_of(self, timeline: int) -> str:
        """Thread of a timeline; empty when there is none, or it has ended."""
        if timeline in self.living:
            return f"thread {self.living[timeline].name}"
        return "the main thread" if 0 <= timeline < self._engine.n_first_ranks else ""

    def park(self, timeout_s: float | None, waits_for: Callable[[], str] | None = None) -> bool:
        """Let the running code wait until it is woken or simulated time has run out; return whether it was woken.

        The code must have caught up before, in an MPI call or a similar one.
        """
        engine = self._engine
        self._pause_s = 0.0
        until_s = inf if timeout_s is None else engine.now_s + timeout_s
        return engine.park(until_s, waits_for or partial(self.waits_in, engine.running_timeline))

    def waits_in(self, timeline: int) -> str:
        """Function of the standard library in which a parked timeline waits, such as `Event.wait`."""
        return waits_at(self._engine.frame_of(timeline))

    def forget(self) -> None:
        """Remove threads that have not ended from the tables of `threading` after the run."""
        for thread in self.living.values():
            _remove(thread)
        self.living.clear()


def _remove(thread: RankThread) -> None:
    """Remove a thread that does not end by itself from the tables of `threading`."""
    tables: Any = threading
    tables._active.pop(thread.ident, None)
    tables._limbo.pop(thread.thread, None)
    if hasattr(tables, "_shutdown_locks"):
        tables._shutdown_locks.discard(thread.sentinel)
    if thread.sentinel is not None:
        thread.sentinel.abandon()
