"""Points on Dask's workers: processes of this machine, or those of a cluster that has a scheduler.

A few points more than there are workers are handed out at a time, so that a study of any length costs little memory and
ends soon after Ctrl-C. A point whose worker dies is handed out again.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import SmpyError, UsageError
from smpy.study.journal import Entry
from smpy.study.perform import Task, perform

if TYPE_CHECKING:
    from distributed import Client, Future

Done = Callable[[Sequence[tuple[Task, Entry, dict[str, str]]]], None]

_TRIES_MAX: Final = 10  # of a point whose workers die
_AHEAD: Final = 3  # points handed out, a worker
_LEAVE_S: Final = 10.0
_MEMORY_SHARE: Final = 0.9  # of what this machine has, for all points together


class SchedulerLostError(SmpyError):
    """The scheduler, or the connection to it, has gone."""


def n_workers_here() -> int:
    """Cores that this process may use, but for one; at least one."""
    return max(1, len(os.sched_getaffinity(0)) - 1)


def memory_of_a_point(n_workers: int) -> int:
    """What a point on this machine may hold unless its study says it, in bytes."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _MEMORY_SHARE / n_workers)


def run_tasks(tasks: Sequence[Task], done: Done, *, n_workers: int, scheduler: str | None = None) -> None:
    """Run points, each once.

    Parameters
    ----------
    tasks : sequence of Task
        In the order in which they are begun.
    done : callable
        Given those that have ended since the last time.
    n_workers : int
        Processes on this machine.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers are used instead.

    Raises
    ------
    UsageError
        If Dask is not installed, or there is no such scheduler.
    SchedulerLostError
        If it goes.
    KeyboardInterrupt
        If Ctrl-C came: points that were running have ended.
    """
    try:
        import dask
        import distributed
    except ImportError as error:
        raise UsageError(f'a study needs dask: {error}; pip install "smpy-mpi[study]"') from error
    with dask.config.set({"distributed.scheduler.allowed-failures": _TRIES_MAX}), ExitStack() as stack:
        stack.enter_context(_main_hidden())
        client = stack.enter_context(_client(scheduler, n_workers))
        try:
            _run(client, distributed, tasks, done, None if scheduler else n_workers)
        except (OSError, distributed.CancelledError, distributed.comm.CommClosedError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # a disk's, of `done`
            raise SchedulerLostError(_lost(scheduler)) from error


def _lost(scheduler: str | None) -> str:
    where = f"the scheduler at {scheduler}" if scheduler else "the scheduler of this study"
    return f"{where} has gone; what has finished is kept: run the study again"


@contextmanager
def _client(scheduler: str | None, n_workers: int) -> Iterator[Client]:
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # deaths of workers are ours to tell
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=_LEAVE_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"there is no Dask scheduler at {scheduler}: {error}") from error
        with _closing(client):
            yield client
        return
    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,  # points are processes of their own, and have limits of their own
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )
    with _closing(cluster), _closing(client := Client(cluster, set_as_default=False)):
        yield client


@contextmanager
def _main_hidden() -> Iterator[None]:
    """Worker processes do not import the script that started the study: it may have no guard against that."""
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    main.__spec__ = None
    if file is not None:
        del main.__file__
    try:
        yield
    finally:
        main.__spec__ = spec
        if file is not None:
            main.__file__ = file


@contextmanager
def _closing(what: Any) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(Exception):  # it may have gone already
            what.close(timeout=_LEAVE_S)


def _run(client: Client, distributed: Any, tasks: Sequence[Task], done: Done, n_workers: int | None) -> None:
    waiting = iter(tasks)
    tries: dict[str, int] = {}
    out: dict[Future, Task] = {}
    with client.as_current():
        completed = distributed.as_completed(raise_errors=False)

    def hand_out(task: Task) -> None:
        tries[task.key] = tries.get(task.key, 0) + 1
        future = client.submit(perform, task, key=f"smpy-{task.key}-{tries[task.key]}", pure=False)
        out[future] = task
        completed.add(future)

    def fill() -> None:
        n = n_workers if n_workers is not None else max(1, sum(client.nthreads().values()))
        while len(out) < _AHEAD * n and (task := next(waiting, None)) is not None:
            hand_out(task)

    fill()
    while out:
        ended = []
        for future in completed.next_batch():
            task = out.pop(future)
            if future.status == "finished":
                ended.append((task, *future.result()))
            elif future.status == "error":
                error = future.exception()
                if not isinstance(error, distributed.scheduler.KilledWorker):
                    ended.append((task, Entry({}, _in_words(error)), {}))
                elif tries[task.key] < _TRIES_MAX:
                    hand_out(task)
                else:
                    ended.append((task, Entry({}, f"its worker died {tries[task.key] * _TRIES_MAX} times"), {}))
            else:  # cancelled or lost: with the scheduler
                raise distributed.CancelledError(future.key)
            future.release()
        if ended:
            done(ended)
        fill()


def _in_words(error: BaseException) -> str:
    if isinstance(error, OSError):
        return f"what it leaves cannot be written: {error}"
    return f"{type(error).__name__}: {error}"
