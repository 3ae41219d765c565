"""Locks of a rank's threads: waits for them pass in simulated time.

A released lock goes straight to the first waiter. Threads of the operating system (helpers of `multiprocessing`) use
the same locks; a rank without other threads waits for them in real time.
"""

from __future__ import annotations

import _thread
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from smpy.emulate.process.virtual_time import sleep_s
from smpy.emulate.ranks import RankState, rank_here
from smpy.engine.running import named_call
from smpy.engine.thread_ranks import waits_at
from smpy.errors import DeadlockError

if TYPE_CHECKING:
    from smpy.emulate.threads.rank_threads import RankThreads

_new_lock: Final = _thread.allocate_lock
_REAL_WAIT_S: Final = 1e-3
_FIRST_PAUSE_S: Final = 1e-6


class ThreadsUnderWay:
    """Threads of the current run, identifier of the calling thread, and whether there are helpers; None: no run."""

    threads: RankThreads | None = None
    ident: Callable[[], int] = _thread.get_ident
    has_helpers: Callable[[], bool] = bool


class Lock:
    """`_thread.lock` on a rank; elsewhere, creating one returns a real `_thread.lock`."""

    __slots__ = ("__weakref__", "_holder", "_real", "_waiters")
    _held_by = ", held by"

    def __new__(cls) -> Any:
        if ThreadsUnderWay.threads is None or rank_here() is None:
            return _new_lock()
        lock = object.__new__(cls)
        lock._real = _new_lock()
        lock._waiters = None
        lock._holder = -1
        return lock

    _real: Any
    _waiters: deque[int] | None
    _holder: int  # last timeline that acquired the lock while there were threads, or -1

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire the lock, and return whether this succeeded."""
        threads = ThreadsUnderWay.threads
        if threads is None or not threads.living:
            if self._real.acquire(False):
                return True
        elif threads.spins < threads.spins_max:
            timeline = threads.idle_timeline()
            if timeline >= 0 and self._real.acquire(False):
                threads.spins += 1
                self._holder = timeline
                return True
        return self._acquire(threads, blocking, timeout)

    def _acquire(self, threads: RankThreads | None, blocking: bool, timeout: float) -> bool:
        state = rank_here()
        if threads is None or state is None:
            return self._real.acquire(blocking, timeout)  # type: ignore[no-any-return]
        threads.catch_up(state)
        if self._real.acquire(False, *(() if blocking else (timeout,))):
            self._holder = state.engine.running_timeline
            return True
        if not blocking:
            return False
        if timeout != -1 and timeout < 0:
            raise ValueError("timeout value must be a non-negative number")
        if timeout > _thread.TIMEOUT_MAX:
            raise OverflowError("timestamp too large to convert to C _PyTime_t")
        return timeout != 0 and self._wait(threads, state, None if timeout == -1 else float(timeout))

    @named_call("acquire")
    def _wait(self, threads: RankThreads, state: RankState, timeout_s: float | None) -> bool:
        if ThreadsUnderWay.has_helpers():
            return self._wait_for_helpers(threads, state, timeout_s)
        if timeout_s is None and not state.engine.has_threads:
            raise DeadlockError(
                f"rank {state.rank}: {waits_at(sys._getframe())} would wait for ever: nothing is left that could end it"
            )
        state.engine.catch_up("acquire")
        if self._real.acquire(False):
            return True
        if self._waiters is None:
            self._waiters = deque()
        waiter = state.engine.running_timeline
        self._waiters.append(waiter)
        if threads.park(timeout_s, partial(self._describe, threads, waiter)):
            self._holder = waiter
            return True
        self._waiters.remove(waiter)
        return False

    def _describe(self, threads: RankThreads, waiter: int) -> str:
        """Call in which a timeline waits for the lock, and the lock's holder."""
        holder = threads.name_of(self._holder)
        held = f"{self._held_by} {holder}" if holder and self._holder != waiter else ""
        return threads.waits_in(waiter) + held

    def _wait_for_helpers(self, threads: RankThreads, state: RankState, timeout_s: float | None) -> bool:
        """Wait for threads of the operating system; other threads of the rank run between polls of the lock."""
        engine = state.engine
        if not state.n_threads:
            is_acquired: bool = self._real.acquire(True, -1 if timeout_s is None else timeout_s)
            if not is_acquired and timeout_s is not None:
                sleep_s(state, timeout_s)
            return is_acquired
        engine.catch_up("acquire")
        pause_s, end_s = _FIRST_PAUSE_S, None if timeout_s is None else engine.now_s + timeout_s
        while not self._real.acquire(True, _REAL_WAIT_S):
            if end_s is not None and engine.now_s >= end_s:
                return False
            threads.park(pause_s)
            pause_s = min(2 * pause_s, _REAL_WAIT_S)
        return True

    def release(self) -> None:
        """Release the lock, or hand it over to the first waiter."""
        threads = ThreadsUnderWay.threads
        if threads is None or not threads.living:
            self._real.release()
            return
        if threads.spins < threads.spins_max and not self._waiters and threads.idle_timeline() >= 0:
            threads.spins += 1
            self._real.release()
            return
        state = rank_here()
        if state is not None:
            threads.catch_up(state)
            while self._waiters:
                if state.engine.wake_timeline(self._waiters.popleft()):
                    return
        self._real.release()

    def locked(self) -> bool:
        """Whether the lock is held."""
        threads = ThreadsUnderWay.threads
        if threads is not None and threads.living and (state := rank_here()) is not None:
            threads.catch_up(state)
        return self._real.locked()  # type: ignore[no-any-return]

    acquire_lock = acquire
    release_lock = release
    locked_lock = locked

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *args: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        self._real._at_fork_reinit()
        self._waiters = None

    def __repr__(self) -> str:
        return f"<{'locked' if self._real.locked() else 'unlocked'} _thread.lock object at {id(self):#x}>"


class Sentinel(Lock):
    """Lock that a thread holds while it lives; `threading` reads its state while holding a real lock."""

    __slots__ = ()
    _held_by = " of"

    def locked(self) -> bool:
        """Whether the thread is alive."""
        return self._real.locked()  # type: ignore[no-any-return]

    def hold_for(self, timeline: int) -> None:
        """Acquire the new lock for a thread that has not run yet."""
        self._real.acquire(False)
        self._holder = timeline

    def abandon(self) -> None:
        """Release the lock for code outside ranks: the thread will not release it any more."""
        if self._real.locked():
            self._real.release()


class LockOfRank:
    """Lock of a module that all ranks share: each rank has its own."""

    def __init__(self) -> None:
        self._of: dict[RankState | None, Any] = {}

    def _own(self) -> Any:
        state = rank_here()
        if state not in self._of:
            self._of[state] = Lock()
        return self._of[state]

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire the running rank's lock."""
        return self._own().acquire(blocking, timeout)  # type: ignore[no-any-return]

    def release(self) -> None:
        """Release the running rank's lock."""
        self._own().release()

    def locked(self) -> bool:
        """Whether the running rank's lock is held."""
        return self._own().locked()  # type: ignore[no-any-return]

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *args: object) -> None:
        self.release()


class ReentrantLock:
    """`_thread.RLock` on a rank: a lock that its owner may acquire again."""

    __slots__ = ("__weakref__", "_count", "_lock", "_owner")

    def __init__(self) -> None:
        self._lock: Any = Lock()
        self._owner = 0
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire the lock, for the first time or again, and return whether this succeeded."""
        me = ThreadsUnderWay.ident()
        if self._owner == me:
            self._count += 1
            return True
        is_acquired: bool = self._lock.acquire(blocking, timeout)
        if is_acquired:
            self._owner, self._count = me, 1
        return is_acquired

    __enter__ = acquire

    def release(self, *_: object) -> None:
        """Undo one acquisition; the last one releases the lock."""
        if self._owner != ThreadsUnderWay.ident():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            self._owner = 0
            self._lock.release()

    __exit__ = release

    # ---- for `threading.Condition` ----

    def _release_save(self) -> tuple[int, int]:
        if not self._count:
            raise RuntimeError("cannot release un-acquired lock")
        state = self._count, self._owner
        self._count = self._owner = 0
        self._lock.release()
        return state

    def _acquire_restore(self, state: tuple[int, int]) -> None:
        self._lock.acquire()
        self._count, self._owner = state

    def _is_owned(self) -> bool:
        return self._owner == ThreadsUnderWay.ident()

    def _recursion_count(self) -> int:
        return self._count if self._owner == ThreadsUnderWay.ident() else 0

    def _at_fork_reinit(self) -> None:
        self._lock._at_fork_reinit()
        self._count = self._owner = 0

    def __repr__(self) -> str:
        how = "locked" if self._lock.locked() else "unlocked"
        return f"<{how} _thread.RLock object owner={self._owner} count={self._count} at {id(self):#x}>"
