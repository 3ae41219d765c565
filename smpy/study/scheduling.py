"""Points on Dask's workers: processes of this machine, or workers of a cluster that has a scheduler.

A few points more than there are workers are handed out at a time, so that a study of any length costs little memory and
ends soon after Ctrl-C. A point whose worker dies is handed out again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.memory import limit_bytes
from smpy.errors import SmpyError, UsageError
from smpy.runs.run_inputs import RunInputs
from smpy.study.carried_variables import CarriedVariables
from smpy.study.journal import Entry
from smpy.study.local_cluster import closing_soon, local_cluster
from smpy.study.perform import Task, perform

if TYPE_CHECKING:
    import distributed

Done = Callable[[Sequence[tuple[Task, Entry, RunInputs]]], None]

_TRIES_MAX: Final = 10  # starts of a point whose workers die
_AHEAD: Final = 3  # points handed out per worker
_LEAVE_S: Final = 10.0
_LOOK_S: Final = 0.5
_MEMORY_SHARE: Final = 0.9  # share of this process's memory limit for all points together


class SchedulerLostError(SmpyError):
    """The scheduler, or the connection to it, was lost."""


def n_workers_here() -> int:
    """Number of cores that this process may use, less one; at least one."""
    return max(1, len(os.sched_getaffinity(0)) - 1)


def memory_of_a_point(n_workers: int) -> int | None:
    """Memory limit of a point on this machine unless its study gives one, in bytes; None: not known."""
    whole_bytes = limit_bytes()
    return None if whole_bytes is None else int(whole_bytes * _MEMORY_SHARE / n_workers)


def run_tasks(
    tasks: Sequence[Task],
    done: Done,
    variables: CarriedVariables,
    *,
    n_workers: int,
    scheduler: str | None = None,
    show_dashboard: Callable[[str], None] | None = None,
) -> None:
    """Run points, each once.

    Parameters
    ----------
    tasks : sequence of Task
        In the order in which they are begun.
    done : callable
        Called with the points that have ended since its last call.
    variables : CarriedVariables
        Environment variables for the points.
    n_workers : int
        Processes on this machine.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers are used instead.
    show_dashboard : callable, optional
        Called with the address of the dashboard of this machine's workers.

    Raises
    ------
    UsageError
        If Dask or cryptography is not installed, there is no such scheduler, or no dashboard.
    SchedulerLostError
        If the scheduler, or the connection to it, is lost.
    SmpyError
        If workers do not start.
    KeyboardInterrupt
        If Ctrl-C came: points that were running here have ended.
    """
    try:
        import cryptography  # noqa: F401  # distributed makes keys with cryptography
        import dask
        import distributed
    except ImportError as error:
        raise UsageError(f"a study needs dask: {error}; pip install '.[study]'") from error
    with dask.config.set({"distributed.scheduler.allowed-failures": _TRIES_MAX}), ExitStack() as stack:
        stack.enter_context(_silence())
        if scheduler is None:
            client, here = stack.enter_context(local_cluster(n_workers, show_dashboard))
            points = _Points(client, tasks, done, variables, here.check, lambda: n_workers)
        else:
            if scheduler.startswith("tls://"):
                _check_certificate(scheduler, distributed.Security())
            try:
                client = distributed.Client(scheduler, timeout=_LEAVE_S, set_as_default=False)
            except (OSError, ValueError, TypeError, RuntimeError) as error:
                raise UsageError(f"there is no Dask scheduler at {scheduler}: {error}") from error
            stack.enter_context(closing_soon(client))
            points = _Points(client, tasks, done, variables, lambda: None, lambda: sum(client.nthreads().values()))
        try:
            points.run()
        except _LostError as error:
            where = f"the scheduler at {scheduler}" if scheduler else "the scheduler of this study"
            raise SchedulerLostError(f"{where} has gone; what has finished is kept: run the study again") from error


def _check_certificate(scheduler: str, security: distributed.Security) -> None:
    if not (security.tls_ca_file and security.tls_client_cert):
        raise UsageError(
            f"there is no certificate for the Dask scheduler at {scheduler}: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE "
            "and DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT (docs/studies.md)"
        )


@contextmanager
def _silence() -> Iterator[None]:
    """Silence the loggers of Dask and Tornado: a study reports dead workers itself."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in ("distributed", "tornado")]
    levels = {logging.getLogger(name): logging.getLogger(name).level for name in names}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


class _LostError(Exception):
    """The scheduler was lost while points were out."""


@contextmanager
def _asked() -> Iterator[None]:
    """Turn errors of a lost scheduler in the body into `_LostError`."""
    from distributed import CancelledError

    try:
        yield
    except (OSError, RuntimeError, ValueError, CancelledError) as error:  # a closing client raises these, too
        raise _LostError from error


class _Points:
    """Points that are handed out: a few more than there are workers."""

    def __init__(
        self,
        client: Any,
        tasks: Sequence[Task],
        done: Done,
        variables: CarriedVariables,
        check: Callable[[], None],
        n_threads: Callable[[], int],
    ) -> None:
        self._client, self._done, self._variables = client, done, variables
        self._check, self._n_threads = check, n_threads
        self._waiting = iter(tasks)
        self._tries: dict[str, int] = {}
        self._out: dict[Any, Task] = {}
        self._ended: SimpleQueue[Any] = SimpleQueue()

    def run(self) -> None:
        """Hand out all points, and report those that finish."""
        self._fill()
        while self._out:
            try:
                futures = [self._ended.get(timeout=_LOOK_S)]
            except Empty:
                self._check()
                if self._client.status != "running":
                    raise _LostError from None
                self._fill()  # there may be more workers now
                continue
            with suppress(Empty):
                while True:
                    futures.append(self._ended.get_nowait())
            self._take_all(futures)
            self._fill()

    def _take_all(self, futures: Sequence[Any]) -> None:
        """Report finished points, even if the scheduler is lost meanwhile."""
        ended: list[tuple[Task, Entry, RunInputs]] = []
        try:
            for future in futures:
                found = self._take(future)
                if found is not None:
                    ended.append(found)
        finally:
            if ended:
                self._done(ended)

    def _fill(self) -> None:
        with _asked():
            n = _AHEAD * max(1, self._n_threads())
        while len(self._out) < n and (task := next(self._waiting, None)) is not None:
            self._hand_out(task)

    def _hand_out(self, task: Task) -> None:
        self._tries[task.key] = self._tries.get(task.key, 0) + 1
        task = replace(task, variables=self._variables.now())
        with _asked():
            future = self._client.submit(perform, task, key=f"smpy-{task.key}-{self._tries[task.key]}", pure=False)
        self._out[future] = task
        future.add_done_callback(self._ended.put)

    def _take(self, future: Any) -> tuple[Task, Entry, RunInputs] | None:
        """Task, entry and reads of a point that has ended; None: it is handed out again."""
        from distributed.scheduler import KilledWorker

        task = self._out.pop(future)
        if future.status == "finished":
            with _asked():
                found: tuple[Entry, RunInputs] = future.result()
            future.release()
            if not self._variables.has_missed(task.variables, found[1]):
                return task, *found
            self._hand_out(task)
            return None
        if future.status != "error":
            raise _LostError
        with _asked():
            error = future.exception()
        if not isinstance(error, KilledWorker):
            return task, Entry({}, _in_words(error), is_outside=isinstance(error, OSError)), RunInputs()
        if self._tries[task.key] < _TRIES_MAX:
            self._hand_out(task)
            return None
        return task, Entry({}, f"its worker died {_TRIES_MAX * _TRIES_MAX} times while it ran"), RunInputs()


def _in_words(error: BaseException) -> str:
    if isinstance(error, OSError):
        return f"what it leaves cannot be written: {error}"
    return f"{type(error).__name__}: {error}"
