"""Threads that ranks start: each belongs to its rank, and a rank ends when its program's threads have ended.

A thread finds what its rank finds (modules, arguments, environment variables, random numbers). It takes no simulated
time, sleeps in real time, and has no timeline of its own yet: a call of MPI in it that the kernel must answer ends
the run.
"""

from __future__ import annotations

import _thread
import functools
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from smpy.emulate import ranks
from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, running

if TYPE_CHECKING:
    from smpy.emulate.modules.imports import Importer
    from smpy.engine.engine import Engine

_STARTS: Final = {  # and the names under which they are known besides; Thread uses those of `threading`
    "start_new_thread": ((threading, "_start_new_thread"),),
    "start_joinable_thread": ((threading, "_start_joinable_thread"),),
}
_EXECUTORS: Final = {
    "concurrent.futures.thread": "ThreadPoolExecutor",
    "concurrent.futures.process": "ProcessPoolExecutor",
}

_enumerate: Final = threading.enumerate


class Threads:
    """Knows whose the threads of a run are.

    Parameters
    ----------
    engine : Engine
        The engine, which a thread has to break off when it calls MPI.
    patches : Patches
        Notes the functions to put back.
    importer : Importer
        Tells when there are executors.
    """

    def __init__(self, engine: Engine, patches: Patches, importer: Importer) -> None:
        self._of: dict[int, RankState] = {}  # threads by their identifier
        self._awaited: set[int] = set()
        self._alive: set[object] = set()  # a token each, also of those about to start
        for name, others in _STARTS.items():
            if (start := getattr(_thread, name, None)) is not None:
                patches.attribute(_thread, name, self._starting(start))
                for owner, other in others:
                    patches.attribute(owner, other, getattr(_thread, name))
        patches.attribute(threading, "enumerate", self._list)
        patches.attribute(threading, "active_count", self._count)
        for module, kind in _EXECUTORS.items():
            importer.when_imported(module, partial(_note_executors, patches, module, kind))
        _let_threads_wake(engine, patches)

    def _starting(self, start: Callable[..., Any]) -> Callable[..., Any]:
        def start_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            state = running()
            if state is None:
                return start(function, *args, **kwargs)
            token = object()
            is_awaited = _is_called_by_program(state, sys._getframe(1))
            self._alive.add(token)
            try:
                return start(partial(self._live, state, token, is_awaited, function), *args, **kwargs)
            except BaseException:
                self._alive.discard(token)
                raise

        return start_thread

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
        """Whether any rank has threads."""
        return bool(self._alive)

    def _list(self) -> list[threading.Thread]:
        """`threading.enumerate`."""
        state, main = running(), threading.main_thread()
        if state is None:
            return _enumerate()
        return [thread for thread in _enumerate() if thread is main or self._is_of(thread, state)]

    def _count(self) -> int:
        """`threading.active_count`."""
        return len(self._list())

    def _is_of(self, thread: threading.Thread, state: RankState) -> bool:
        return thread.ident is None or self._of.get(thread.ident) is state  # without one: the rank is starting it

    def finish(self, state: RankState) -> None:
        """Shut down the rank's executors and wait for its threads that are no daemons, as a process does at its end.

        Threads that a library has started end as it has arranged, with the process.
        """
        for executor in state.executors or ():
            if (found := executor()) is not None:
                found.shutdown()
        for thread in _enumerate():
            if self._is_of(thread, state) and thread.ident in self._awaited and not thread.daemon:
                thread.join()


def _is_called_by_program(state: RankState, frame: FrameType | None) -> bool:
    """Whether code of the rank's own starts a thread: directly, or through `threading`."""
    while frame is not None and frame.f_globals is vars(threading):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") in state.modules


def _note_executors(patches: Patches, module: str, name: str) -> None:
    """Have a rank know the executors that its program makes: it has to shut them down."""
    kind = getattr(sys.modules[module], name)
    real = kind.__init__

    @functools.wraps(real)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        real(self, *args, **kwargs)
        state = running()
        if state is not None and _is_called_by_program(state, sys._getframe(1)):
            state.executors = [*(state.executors or ()), ref(self)]

    patches.attribute(kind, "__init__", init)


def _let_threads_wake(engine: Engine, patches: Patches) -> None:
    """A rank that waits for its thread, in real time, leaves the wait when the thread breaks the run off."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGURG"):
        return  # signals are the main thread's

    def on_signal(number: int, frame: FrameType | None) -> None:
        engine.leave_if_broken_off()

    patches.later(partial(signal.signal, signal.SIGURG, signal.signal(signal.SIGURG, on_signal)))
    engine.wake = partial(signal.pthread_kill, threading.get_ident(), signal.SIGURG)
