"""`_thread` and `threading` on a rank: the choice of threads that get a timeline, and the patched functions.

A thread gets a timeline unless it is a helper that waits in compiled code. Helpers are threads of `multiprocessing`
(not of its thread pools), of pools of processes, of child processes of `asyncio`, and those whose whole body is
compiled (`target=os.read`).
"""

from __future__ import annotations

import _thread
import importlib
import itertools
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, is_for_all, rank_here, running
from smpy.emulate.threads.hashes import number_objects
from smpy.emulate.threads.helpers import Helpers, is_called_by_program
from smpy.emulate.threads.local_values import SHARED_VALUES, Local, values_of
from smpy.emulate.threads.locks import Lock, ReentrantLock, Sentinel, ThreadsUnderWay
from smpy.emulate.threads.rank_threads import RankThread, RankThreads

if TYPE_CHECKING:
    from smpy.emulate.rank_switch_hooks import RankSwitchHooks
    from smpy.engine.engine import Engine

_HELPED: Final = ("multiprocessing", "concurrent.futures.process", "asyncio.unix_events", "subprocess")
_real_ident: Final = _thread.get_ident

IS_IN_THREAD_POOL: Final[ContextVar[bool]] = ContextVar("is in thread pool", default=False)
"""Whether a pool of threads is being made: its helpers get timelines, too."""


class Threads:
    """All threads that ranks start.

    Parameters
    ----------
    engine : Engine
        The engine of the run.
    patches : Patches
        Records the replaced functions, to restore them.
    switches : RankSwitchHooks
        Hooks called when another rank or thread runs.

    Attributes
    ----------
    at_first : callable or None
        Called once, before the first thread starts.
    """

    def __init__(self, engine: Engine, patches: Patches, switches: RankSwitchHooks) -> None:
        self._engine = engine
        self._switches = switches
        self._is_watching = False
        self.at_first: Callable[[], None] | None = None
        self.helpers = Helpers(engine, patches)
        self.own = RankThreads(engine)
        self.own.at_begin = self._on_switch
        self.own.at_end = self._on_end
        self._enumerate = threading.enumerate
        ThreadsUnderWay.threads, ThreadsUnderWay.has_helpers = self.own, self.helpers.are_alive
        ThreadsUnderWay.ident = self.own.ident
        patches.later(self._finish)
        _keep_import_locks(patches)
        _install_starts(patches, self)
        _install_names(patches, self)

    def _finish(self) -> None:
        ThreadsUnderWay.threads, ThreadsUnderWay.has_helpers = None, bool
        ThreadsUnderWay.ident = _real_ident
        SHARED_VALUES.enter(-1)
        self.own.forget()

    # ---- starts ----

    def start(
        self, real: Callable[..., Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Start a thread, as `_thread.start_new_thread` does."""
        state = running()
        if state is None or state.is_child:
            return real(function, args, kwargs)
        if not state.engine.is_here() or _is_helper(function):
            return self.helpers.start(state, real, function, (args, kwargs), {})
        return self._start_own(state, function, args, kwargs).ident

    def start_joinable(self, real: Callable[..., Any], function: Callable[..., Any], handle: Any, daemon: bool) -> Any:
        """Start a thread, as `_thread.start_joinable_thread` does (Python 3.13 and later)."""
        from smpy.emulate.threads.handles import ThreadHandle

        state = running()
        own_handle = handle.real if isinstance(handle, ThreadHandle) else handle
        if state is None or state.is_child or not isinstance(handle, ThreadHandle | None):
            started = real(function, handle=own_handle, daemon=daemon)
            return started if own_handle is handle else handle
        if not state.engine.is_here() or _is_helper(function):
            started = self.helpers.start(state, real, function, (), {"handle": own_handle, "daemon": daemon})
            return started if handle is None else handle
        handle = ThreadHandle() if handle is None else handle
        handle.begin(self._start_own(state, function, (), {}))
        return handle

    def _start_own(self, state: RankState, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if not self._is_watching:
            self._is_watching = True
            if self.at_first is not None:
                self.at_first()
                self.at_first = None
            self._switches.watch(self._on_switch)
        return self.own.start(state, _thread_of(function), function, args, kwargs)

    def _on_switch(self) -> None:
        current = self.own.current()
        if current is not None:
            SHARED_VALUES.enter(current.timeline)
            values_of(current.state).enter(current.timeline)
            return
        SHARED_VALUES.enter(-1)
        state = running()
        if state is not None and state.local_values is not None:
            state.local_values.enter(-1)

    def _on_end(self, thread: RankThread) -> None:
        SHARED_VALUES.drop(thread.timeline)
        values_of(thread.state).drop(thread.timeline)
        if self._is_watching and not self.own.living:
            self._is_watching = False
            self._switches.ignore(self._on_switch)

    # ---- threads of a rank ----

    def listed(self) -> list[threading.Thread]:
        """Threads that `threading.enumerate` returns."""
        state, main = running(), threading.main_thread()
        if state is None:
            return self._enumerate()
        own = {thread.ident for thread in self.own.of(state)}
        return [
            thread
            for thread in self._enumerate()
            if thread is main or thread.ident in own or self.helpers.is_of(thread.ident, state)
        ]

    def finish(self, state: RankState) -> None:
        """Wait for the rank's non-daemon threads, as a process does at its end, and drop the others."""
        if state.waits_for_threads:
            self._join_all(state)
        for thread in self.own.of(state):
            self.own.drop(thread)

    def _join_all(self, state: RankState) -> None:
        while state.exit_functions:
            state.exit_functions.pop()()
        for executor in state.executors or ():
            if (pool := executor()) is not None:
                pool.shutdown()
        while awaited := [thread for thread in self.own.of(state) if not thread.is_daemon]:
            for thread in awaited:
                if thread.thread is not None:
                    thread.thread.join()
        for helper in self.helpers.awaited(state):
            helper.join()

    def sentinel(self, real: Callable[[], Any]) -> Any:
        """Lock released at the end of the calling thread, as `_thread._set_sentinel` returns it (Python up to 3.12)."""
        current = self.own.current()
        if current is None:
            return real()
        current.sentinel = Sentinel()
        return current.sentinel


def _thread_of(function: Callable[..., Any]) -> threading.Thread | None:
    """`threading.Thread` object whose start calls `function`; None if there is none."""
    thread = getattr(function, "__self__", None)
    return thread if isinstance(thread, threading.Thread) else None


def _is_helper(function: Callable[..., Any]) -> bool:
    """Whether a thread must be one of the operating system."""
    thread = _thread_of(function)
    target = function if thread is None else getattr(thread, "_target", None)
    if isinstance(target, BuiltinFunctionType):
        return True
    if IS_IN_THREAD_POOL.get():
        return False
    kind = "" if thread is None else type(thread).__module__
    if kind.startswith("multiprocessing.dummy"):
        return False
    return any(
        isinstance(name, str) and (name == helped or name.startswith(f"{helped}."))
        for name in (kind, getattr(target, "__module__", ""))
        for helped in _HELPED
    )


def _keep_import_locks(patches: Patches) -> None:
    """Keep the real `_thread` in the import system: while it imports for all ranks, no rank may yield."""
    real = ModuleType("_thread")
    vars(real).update(vars(_thread))
    patches.entry(vars(importlib._bootstrap), "_thread", real)


def _install_starts(patches: Patches, threads: Threads) -> None:
    real = _thread.start_new_thread

    def start_new_thread(function: Any, args: Any, kwargs: Any = None, /) -> Any:
        if not callable(function) or not isinstance(args, tuple) or not isinstance(kwargs, dict | None):
            return real(function, args, *(() if kwargs is None else (kwargs,)))  # raises the real error
        return threads.start(real, function, args, kwargs or {})

    patches.attribute(_thread, "start_new_thread", start_new_thread)
    patches.attribute(_thread, "start_new", start_new_thread)
    patches.attribute(threading, "_start_new_thread", _thread.start_new_thread)
    module: Any = _thread
    joinable = getattr(module, "start_joinable_thread", None)
    if joinable is None:
        return

    def start_joinable_thread(function: Callable[..., Any], handle: Any = None, daemon: bool = True) -> Any:
        return threads.start_joinable(joinable, function, handle, daemon)

    from smpy.emulate.threads.handles import ThreadHandle

    patches.attribute(_thread, "start_joinable_thread", start_joinable_thread)
    patches.attribute(threading, "_start_joinable_thread", module.start_joinable_thread)
    patches.attribute(threading, "_ThreadHandle", ThreadHandle)


def _install_names(patches: Patches, threads: Threads) -> None:
    """Replace locks, identifiers and thread-local values by those of ranks, under all their names."""
    patches.attribute(threading, "enumerate", threads.listed)
    patches.attribute(threading, "active_count", lambda: len(threads.listed()))
    patches.attribute(_thread, "get_ident", threads.own.ident)
    patches.attribute(threading, "get_ident", _thread.get_ident)
    for name in ("allocate_lock", "allocate"):
        patches.attribute(_thread, name, lambda: Lock())  # noqa: PLW0108  # a class would not look like a builtin
    for name in ("_allocate_lock", "Lock"):
        patches.attribute(threading, name, Lock if isinstance(vars(threading)[name], type) else _thread.allocate_lock)
    patches.attribute(threading, "_CRLock", ReentrantLock)
    patches.attribute(_thread, "RLock", ReentrantLock)
    patches.attribute(_thread, "_local", Local)
    patches.attribute(threading, "local", Local)
    if (set_sentinel := getattr(_thread, "_set_sentinel", None)) is not None:
        patches.attribute(threading, "_set_sentinel", lambda: threads.sentinel(set_sentinel))
    patches.attribute(threading, "_counter", counter_of_rank("thread", threading._counter))  # type: ignore[attr-defined]
    patches.attribute(threading, "excepthook", threading.excepthook)  # programs replace it
    number_objects(patches, threading.Thread)
    event: Any = threading.Event
    patches.attribute(event, "is_set", _catching_up(threads, event.is_set))
    register = threading._register_atexit  # type: ignore[attr-defined]

    def register_atexit(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        state = running()
        if state is None or is_for_all() or not is_called_by_program(state, sys._getframe(1)):
            register(function, *args, **kwargs)
        else:
            state.exit_functions = [*(state.exit_functions or ()), lambda: function(*args, **kwargs)]

    patches.attribute(threading, "_register_atexit", register_atexit)


def counter_of_rank(name: str, real: Callable[[], int]) -> Callable[[], int]:
    """Counter with which the standard library numbers things: each rank has its own."""
    first = 1 if name == "thread" else 0

    def count() -> int:
        state = running()
        if state is None:
            return real()
        if state.thread_numbers is None:
            state.thread_numbers = {}
        return next(state.thread_numbers.setdefault(name, itertools.count(first)))

    return count


def _catching_up(threads: Threads, real: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any) -> Any:
        if threads.own.living and (state := rank_here()) is not None:
            threads.own.catch_up(state)
        return real(self)

    return method
