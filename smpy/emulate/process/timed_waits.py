"""Waits with a time-out on a rank.

A wait that nothing real can end (no descriptor, no thread) passes in simulated time. A wait for something real (a
socket, a child process, a thread) takes real time, for all ranks, and no simulated time. If it ends by its time-out,
simulated time advances by the time-out, so that a loop of such waits ends. A wait that nothing can end is an error.
Waits for threads of ranks are in `smpy.emulate.threads`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from smpy.emulate.patches import Patches
from smpy.emulate.process.virtual_time import sleep_s
from smpy.emulate.ranks import RankState, rank_here
from smpy.errors import DeadlockError

T = TypeVar("T")

_FIRST_PAUSE_S: Final = 1e-6
_PAUSE_PART: Final = 0.005  # of the time waited so far
_PATIENCE_S: Final = 1e-4
_REAL_WAIT_S: Final = 1e-3


def wait(
    state: RankState, poll: Callable[[float | None], T], timeout_s: float | None, *, is_real: bool, what: str
) -> T:
    """Wait on a rank until `poll` returns something or the time-out has passed.

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
    result = poll(0.0)
    if result or (timeout_s is not None and timeout_s <= 0):
        return result
    if is_real and state.n_threads:
        return wait_beside_threads(state, poll, timeout_s)
    if is_real:
        result = poll(timeout_s)
    elif timeout_s is None:
        raise DeadlockError(f"rank {state.rank}: {what} would wait for ever: nothing is left that could end the wait")
    if not result and timeout_s is not None:
        sleep_s(state, timeout_s)
    return result


def wait_beside_threads(state: RankState, poll: Callable[[float | None], T], timeout_s: float | None) -> T:
    """Check from time to time, while other threads of the rank run that may end the wait."""
    engine = state.engine
    began_s = engine.clock_s()
    waited_s = 0.0
    while not (result := poll(_REAL_WAIT_S if waited_s > _PATIENCE_S else 0.0)):
        left_s = max(_FIRST_PAUSE_S, _PAUSE_PART * waited_s)
        if timeout_s is not None:
            left_s = min(left_s, timeout_s - waited_s)
        if left_s <= 0:
            break
        sleep_s(state, left_s)
        waited_s = engine.clock_s() - began_s
    return result


# The real clock: a child process acts in real time.
_monotonic_s, _sleep = time.monotonic, time.sleep


def install_waits(patches: Patches) -> None:
    """Make `threading` use simulated time until the patches are undone; `time` already does."""
    patches.attribute(threading, "_time", time.monotonic)
    patches.attribute(threading.Thread, "join", _join(threading.Thread.join))


def install_child_waits(patches: Patches) -> None:
    """Make `subprocess` wait in real time."""
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
        before_s = time.monotonic()
        real(self, timeout)
        state = rank_here()
        if state is not None and timeout is not None and self.is_alive() and time.monotonic() < before_s + timeout:
            sleep_s(state, timeout)  # a thread of the operating system, which is awaited in real time

    return join
