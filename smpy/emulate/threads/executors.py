"""Pools of threads and processes on a rank: each rank has its own copy of the standard library's global state."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import rank_here, running
from smpy.emulate.threads.hashes import number_objects
from smpy.emulate.threads.helpers import is_called_by_program
from smpy.emulate.threads.locks import LockOfRank
from smpy.emulate.threads.starts import IS_IN_THREAD_POOL, counter_of_rank

if TYPE_CHECKING:
    from smpy.emulate.modules.imports import Importer

_EXECUTORS: Final = {
    "concurrent.futures.thread": "ThreadPoolExecutor",
    "concurrent.futures.process": "ProcessPoolExecutor",
}


def install_executors(patches: Patches, importer: Importer) -> None:
    """Give each rank its own pools until the patches are undone."""
    for module, kind in _EXECUTORS.items():
        importer.when_imported(module, partial(_note_executors, patches, module, kind))
    importer.when_imported("concurrent.futures._base", partial(_number_futures, patches))
    importer.when_imported("multiprocessing.pool", partial(_install_thread_pool, patches))


def _number_futures(patches: Patches) -> None:
    number_objects(patches, sys.modules["concurrent.futures._base"].Future)


def _note_executors(patches: Patches, module: str, name: str) -> None:
    """Record the executors that a rank's program makes: the rank has to shut them down."""
    kind = getattr(sys.modules[module], name)
    real = kind.__init__

    @functools.wraps(real)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        real(self, *args, **kwargs)
        state = running()
        if state is not None and is_called_by_program(state, sys._getframe(1)):
            state.executors = [*(state.executors or ()), ref(self)]

    patches.attribute(kind, "__init__", init)
    if name == "ThreadPoolExecutor":
        patches.attribute(sys.modules[module], "_global_shutdown_lock", LockOfRank())
        patches.attribute(kind, "_counter", staticmethod(counter_of_rank("pool", kind._counter)))


def install_queues(patches: Patches) -> None:
    """Make `queue` wait in simulated time, like `threading`; its compiled class would wait in real time."""
    queue: Any = sys.modules["queue"]
    patches.attribute(queue, "time", time.monotonic)
    patches.attribute(queue, "SimpleQueue", queue._PySimpleQueue)
    patches.attribute(sys.modules["_queue"], "SimpleQueue", queue._PySimpleQueue)


class _Notifier:
    """Queue by which a pool wakes its own thread that manages the workers."""

    _reader = None

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._count = threading.Semaphore(0)

    def put(self, item: Any) -> None:
        """Wake the thread."""
        self._items.append(item)
        self._count.release()

    def get(self) -> Any:
        """Take an item."""
        return self._items.popleft()

    def empty(self) -> bool:
        """Whether there is no item."""
        return not self._items

    def wait(self, timeout: float | None) -> None:
        """Wait for an item."""
        self._count.acquire(timeout=timeout)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _install_thread_pool(patches: Patches) -> None:
    """Make the threads of `multiprocessing.pool.ThreadPool` threads with timelines."""
    pool: Any = sys.modules["multiprocessing.pool"]
    patches.attribute(pool.ThreadPool, "__init__", _thread_pool_init(pool))
    wait = pool.Pool._wait_for_updates

    def wait_for_updates(sentinels: Any, change_notifier: Any, timeout: float | None = None) -> None:
        if not isinstance(change_notifier, _Notifier):
            wait(sentinels, change_notifier, timeout)
            return
        change_notifier.wait(timeout)
        while not change_notifier.empty():
            change_notifier.get()

    patches.attribute(pool.Pool, "_wait_for_updates", staticmethod(wait_for_updates))


def _thread_pool_init(pool: Any) -> Callable[..., None]:
    real = pool.ThreadPool.__init__

    @functools.wraps(real)
    def init(self: Any, processes: Any = None, initializer: Any = None, initargs: Any = ()) -> None:
        if rank_here() is None:
            real(self, processes, initializer, initargs)
            return
        token = IS_IN_THREAD_POOL.set(True)
        try:
            context = SimpleNamespace(SimpleQueue=_Notifier)
            pool.Pool.__init__(self, processes, initializer, initargs, context=context)
        finally:
            IS_IN_THREAD_POOL.reset(token)

    return init
