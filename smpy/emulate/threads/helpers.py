"""Threads of the operating system that ranks start: helpers of libraries that wait in compiled code.

Such a thread (of `multiprocessing`, say) belongs to its rank and has the same modules, arguments, environment
variables and random numbers. It takes no simulated time, waits in real time, and has no timeline. A call of MPI in
such a thread that needs the kernel ends the run.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from smpy.emulate import ranks
from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

_HERE: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Helpers:
    """Threads of the operating system, each assigned to its rank.

    Parameters
    ----------
    engine : Engine
        Engine of the run, which a thread breaks off when it calls MPI.
    patches : Patches
        Records the replaced functions, to restore them.
    """

    def __init__(self, engine: Engine, patches: Patches) -> None:
        self._of: dict[int, RankState] = {}  # by identifier of the thread
        self._awaited: set[int] = set()
        self._alive: set[object] = set()  # one token per thread, also before its start
        _let_threads_wake(engine, patches)

    def start(
        self,
        state: RankState,
        start: Callable[..., Any],
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Start a thread for a rank through a function of `_thread`."""
        token = object()
        is_awaited = is_called_by_program(state, sys._getframe(1))
        self._alive.add(token)
        try:
            return start(partial(self._live, state, token, is_awaited, function), *args, **kwargs)
        except BaseException:
            self._alive.discard(token)
            raise

    def _live(
        self,
        state: RankState,
        token: object,
        is_awaited: bool,
        function: Callable[..., Any],
        /,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        ranks.join(state)
        me = threading.get_ident()
        self._of[me] = state
        if is_awaited:
            self._awaited.add(me)
        try:
            function(*args, **kwargs)
        finally:
            del self._of[me]
            self._awaited.discard(me)
            self._alive.discard(token)

    def are_alive(self) -> bool:
        """Whether any rank has such threads."""
        return bool(self._alive)

    def is_of(self, ident: int | None, state: RankState) -> bool:
        """Whether a thread with this identifier belongs to the rank; None: the rank is just starting the thread."""
        return ident is None or self._of.get(ident) is state

    def awaited(self, state: RankState) -> list[threading.Thread]:
        """Threads of a rank that its end waits for; libraries end the threads that they have started themselves."""
        return [
            thread
            for thread in list(threading._active.values())  # type: ignore[attr-defined]
            if self.is_of(thread.ident, state) and thread.ident in self._awaited and not thread.daemon
        ]


def is_called_by_program(state: RankState, frame: FrameType | None) -> bool:
    """Whether code of the rank itself starts a thread: directly, or through `threading` and this package."""
    while frame is not None and (frame.f_globals is vars(threading) or frame.f_code.co_filename.startswith(_HERE)):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") in state.modules


def _let_threads_wake(engine: Engine, patches: Patches) -> None:
    """Let a rank leave a real-time wait for its thread when the thread breaks off the run."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGURG"):
        return  # only the main thread receives signals

    def on_signal(number: int, frame: FrameType | None) -> None:
        engine.leave_if_broken_off()

    patches.later(partial(signal.signal, signal.SIGURG, signal.signal(signal.SIGURG, on_signal)))
    engine.wake = partial(signal.pthread_kill, threading.get_ident(), signal.SIGURG)
