"""Waits with a time-out on a rank.

A wait that nothing real can end (no descriptor, no thread) passes in simulated time. One for something real (a socket,
a child process, a thread) lasts as long as that takes on this machine, for all ranks, and costs no simulated time.
When it ends by its time-out, that much simulated time has passed, so that a loop of such waits comes to an end. A wait
that nothing can end is an error. (`acquire` of a lock and `queue.SimpleQueue` wait in C: in real time, and no more.)
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

from smpy.emulate.patches import Patches
from smpy.emulate.process.virtual_time import sleep_s
from smpy.emulate.ranks import RankState, rank_here
from smpy.errors import DeadlockError

T = TypeVar("T")


def wait(
    state: RankState, poll: Callable[[float | None], T], timeout_s: float | None, *, is_real: bool, what: str
) -> T:
    """Wait on a rank until there is something, or the time-out has passed.

    Parameters
    ----------
    state : RankState
        The rank.
    poll : callable
        Waits in real time, for so many seconds at the most or, when None, without end: what there is, false if nothing.
    timeout_s : float or None
        Time to wait; None: without end.
    is_real : bool
        Whether something that is not simulated can end the wait.
    what : str
        Name of the waiting call, for the error.

    Raises
    ------
    DeadlockError
        If nothing can end it.
    """
    found = poll(0.0)
    if found or (timeout_s is not None and timeout_s <= 0):
        return found
    if is_real:
        found = poll(timeout_s)
    elif timeout_s is None:
        raise DeadlockError(f"rank {state.rank}: {what} would wait for ever: nothing is left that could end the wait")
    if not found and timeout_s is not None:
        sleep_s(state, timeout_s)
    return found


# The real clock: what a child process does takes real time.
_monotonic_s, _sleep = time.monotonic, time.sleep


def install_waits(patches: Patches, has_threads: Callable[[], bool]) -> None:
    """Have conditions of threads know simulated time until the patches are undone, when `time` knows it.

    Whether any rank has threads, which could end a wait, is told by `has_threads`.
    """
    patches.attribute(threading, "_time", time.monotonic)
    patches.attribute(threading.Condition, "wait", _condition_wait(threading.Condition.wait, has_threads))
    patches.attribute(threading.Thread, "join", _join(threading.Thread.join))


def install_queue_clock(patches: Patches) -> None:
    """Have `queue` know simulated time, also when it was imported before."""
    patches.attribute(sys.modules["queue"], "time", time.monotonic)


def install_child_waits(patches: Patches) -> None:
    """Have `subprocess` wait in real time."""
    subprocess: Any = sys.modules["subprocess"]
    if subprocess._time is not _monotonic_s:  # unless it was imported before the run
        patches.attribute(subprocess, "_time", _monotonic_s)
    patches.attribute(subprocess, "time", SimpleNamespace(sleep=_sleep))
    patches.attribute(subprocess.Popen, "_wait", _child_wait(subprocess.Popen._wait, subprocess.TimeoutExpired))


def _child_wait(real: Callable[..., int], expired: type[Exception]) -> Callable[..., int]:
    def wait_(self: Any, timeout: float | None) -> int:
        try:
            return real(self, timeout)
        except expired:
            state = rank_here()
            if state is not None and timeout is not None:
                sleep_s(state, timeout)
            raise

    return wait_


def _join(real: Callable[..., None]) -> Callable[..., None]:
    def join(self: threading.Thread, timeout: float | None = None) -> None:
        real(self, timeout)
        state = rank_here()
        if state is not None and timeout is not None and self.is_alive():
            sleep_s(state, timeout)

    return join


def _condition_wait(real: Callable[..., bool], has_threads: Callable[[], bool]) -> Callable[..., bool]:
    """`threading.Condition.wait` on a rank; events, queues, semaphores and futures wait by it, too."""

    def wait_(self: Any, timeout: float | None = None) -> bool:
        state = rank_here()
        if state is None:
            return real(self, timeout)
        return wait(state, partial(real, self), timeout, is_real=has_threads(), what="threading.Condition.wait")

    return wait_
