"""`asyncio` on a rank: each rank has its own event loop, whose waits pass in simulated time.

The interpreter keeps one running loop per thread, and all ranks share one thread. The running loop is therefore
exchanged when the running rank changes, as long as some rank runs a loop. A loop that waits only for its next
scheduled call sleeps in simulated time. A loop that also waits for descriptors, child processes or executors waits in
real time (`smpy.emulate.process.timed_waits`).
"""

from __future__ import annotations

import asyncio
import inspect
import selectors
import sys
import threading
from asyncio import base_events, events, futures, selector_events, unix_events
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.process.timed_waits import wait
from smpy.emulate.rank_switch_hooks import RankSwitchHooks
from smpy.emulate.ranks import RankState, rank_here
from smpy.emulate.threads.rank_threads import RankThreads

_HAS_TASK_OF_THREAD: Final = sys.version_info >= (3, 14)  # older versions keep tasks by loop


class _Running:
    """The event loop that a rank runs, and its current task."""

    __slots__ = ("loop", "task")

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.task: Any = None


class _Exchange:
    """Exchanges the interpreter's running loop for that of the running rank."""

    def __init__(self, switches: RankSwitchHooks, threads: RankThreads) -> None:
        self._switches = switches
        self._threads = threads
        self._set: Callable[[Any], None] = asyncio._set_running_loop
        self._in_force: _Running | None = None
        self._n_running = 0

    def set_running_loop(self, loop: Any) -> None:
        """`asyncio._set_running_loop`: event loops call it when they begin, and with None when they end."""
        self._set(loop)
        state = rank_here()
        if state is None:
            return
        n_before, owner = self._n_running, self._threads.current() or state
        self._n_running += (loop is not None) - (owner.running_loop is not None)
        owner.running_loop = self._in_force = None if loop is None else _Running(loop)
        if self._n_running and not n_before:
            self._switches.watch(self._on_switch)
        elif n_before and not self._n_running:
            self._switches.ignore(self._on_switch)

    def _on_switch(self) -> None:
        state = rank_here()
        next_ = None if state is None else (self._threads.current() or state).running_loop
        before = self._in_force
        if next_ is before:
            return
        if _HAS_TASK_OF_THREAD and before is not None:
            before.task = asyncio.current_task(before.loop)
            if before.task is not None:
                asyncio.tasks._leave_task(before.loop, before.task)
        assert next_ is None or isinstance(next_, _Running)
        self._in_force = next_
        self._set(None if next_ is None else next_.loop)
        if next_ is not None and next_.task is not None:
            asyncio.tasks._enter_task(next_.loop, next_.task)


_select: Final = inspect.unwrap(selectors.DefaultSelector.select)  # the real one, also during a run


class _Selector(selectors.DefaultSelector):
    """Selector of an event loop; it always holds the one descriptor by which other threads wake the loop."""

    n_jobs = 0  # jobs of executors and child processes that have not ended

    def __init__(self) -> None:
        super().__init__()
        self.wake_up = threading.Semaphore(0)

    def select(self, timeout: float | None = None) -> Any:
        poll = partial(_select, self)
        state = rank_here()
        if state is None:
            return poll(timeout)
        is_real = len(self.get_map()) > 1 or self.n_jobs > 0 or (timeout is None and threading.active_count() > 1)
        if state.n_threads and len(self.get_map()) == 1:
            return self._wait_for_threads(state, poll, timeout)
        return wait(state, poll, timeout, is_real=is_real, what="asyncio's event loop, in which no call is scheduled,")

    def _wait_for_threads(self, state: RankState, poll: Any, timeout: float | None) -> Any:
        """Wait until another thread of the rank wakes the loop."""
        if (ready := poll(0)) or (timeout is not None and timeout <= 0):
            return ready
        self.wake_up.acquire(timeout=timeout)
        return poll(0)


class _OfRank:
    """Attribute of an event loop policy's `_local`, kept per rank and per other thread."""

    threads: RankThreads | None = None

    def __init__(self, name: str, default: object) -> None:
        self._name = name
        self._default = default

    def _table(self, local: object) -> dict[Any, Any]:
        state = rank_here()
        if state is None:
            return vars(local)
        owner = (None if self.threads is None else self.threads.current()) or state
        if owner.event_loops is None:
            owner.event_loops = {}
        return owner.event_loops.setdefault(local, {})

    def __get__(self, local: object, owner: type) -> Any:
        return self._table(local).get(self._name, self._default)

    def __set__(self, local: object, value: object) -> None:
        self._table(local)[self._name] = value


class _Local(threading.local):
    """Attribute `_local` of an event loop policy: holds the loop of the running rank or thread."""

    _loop = _OfRank("_loop", None)
    _set_called = _OfRank("_set_called", False)


def install_event_loops(patches: Patches, switches: RankSwitchHooks, threads: RankThreads) -> None:
    """Give every rank, and each of its threads, its own event loops until the patches are undone."""
    patches.attribute(_OfRank, "threads", threads)
    _allow_descriptors(patches)
    patches.attribute(events, "_set_running_loop", _Exchange(switches, threads).set_running_loop)
    patches.attribute(asyncio, "_set_running_loop", events._set_running_loop)
    patches.attribute(futures, "wrap_future", _counting(futures.wrap_future))
    patches.attribute(asyncio, "wrap_future", futures.wrap_future)
    base = base_events.BaseEventLoop
    patches.attribute(base, "shutdown_default_executor", _counted(base.shutdown_default_executor))
    loop: Any = selector_events.BaseSelectorEventLoop
    patches.attribute(loop, "__init__", _with_selector(loop.__init__))
    patches.attribute(loop, "_write_to_self", _waking(loop._write_to_self))
    policy = getattr(events, "_BaseDefaultEventLoopPolicy", None) or events.BaseDefaultEventLoopPolicy
    patches.attribute(policy, "_Local", _Local)
    patches.attribute(events, "_event_loop_policy", None)
    watcher = getattr(unix_events, "_ThreadedChildWatcher", None) or unix_events.ThreadedChildWatcher
    patches.attribute(watcher, "add_child_handler", _watching(watcher.add_child_handler))


def _allow_descriptors(patches: Patches) -> None:
    """Raise the process's limit of descriptors, usually a thousand: every loop of every rank needs three."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
        patches.later(partial(resource.setrlimit, resource.RLIMIT_NOFILE, limits))


def replace_uvloop(patches: Patches) -> None:
    """Make `uvloop`, which waits in real time, return loops of the standard library, which do the same."""
    patches.attribute(sys.modules["uvloop"], "Loop", asyncio.SelectorEventLoop)


def _with_selector(real: Callable[..., None]) -> Callable[..., None]:
    def init(self: Any, selector: Any = None) -> None:
        real(self, _Selector() if selector is None and rank_here() is not None else selector)

    return init


def _waking(real: Callable[..., None]) -> Callable[..., None]:
    """`_write_to_self`, with which another thread wakes a loop."""

    def write_to_self(self: Any) -> None:
        real(self)
        if isinstance(self._selector, _Selector):
            self._selector.wake_up.release()

    return write_to_self


def _counting(real: Callable[..., Any]) -> Callable[..., Any]:
    """`asyncio.wrap_future` that counts the future as a job: an event loop waits for executors in real time."""

    def wrap_future(future: Any, *, loop: Any = None) -> Any:
        wrapped = real(future, loop=loop)
        if wrapped is not future and not wrapped.done():
            _count(wrapped.get_loop(), 1)
            wrapped.add_done_callback(lambda _: _count(wrapped.get_loop(), -1))
        return wrapped

    return wrap_future


def _counted(real: Callable[..., Any]) -> Callable[..., Any]:
    async def shutdown_default_executor(self: Any, *args: Any, **kwargs: Any) -> None:
        _count(self, 1)
        try:
            await real(self, *args, **kwargs)
        finally:
            _count(self, -1)

    return shutdown_default_executor


def _watching(real: Callable[..., None]) -> Callable[..., None]:
    """Method `add_child_handler` of a watcher with one thread per child process: counts the child as a job."""

    def add_child_handler(self: Any, pid: int, callback: Callable[..., None], *args: Any) -> None:
        loop = asyncio.get_running_loop()

        def ended(*result: Any) -> None:
            _count(loop, -1)
            callback(*result)

        _count(loop, 1)
        real(self, pid, ended, *args)

    return add_child_handler


def _count(loop: Any, n: int) -> None:
    """Add `n` to the number of jobs that the loop may wait for."""
    selector = getattr(loop, "_selector", None)
    if isinstance(selector, _Selector):
        selector.n_jobs += n
