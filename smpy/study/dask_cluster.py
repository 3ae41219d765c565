"""Connection of a study to Dask: to a cluster of its own on this machine, or to a scheduler that others use, too.

Any process that can connect to a scheduler or a worker of Dask can have it run code. So, on this machine,

* schedulers and workers listen on 127.0.0.1 alone;
* they speak TLS, with a key that is made for the study and that both sides must have. The study's process writes the
  key into its workers' standard input: no lasting file, no argument and no environment variable has it;
* the HTTP servers, which Dask always starts, and which require no key, have no pages. The dashboard is such a page:
  any user of this machine can look at it, and change nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.memory import limit_bytes
from smpy.errors import UsageError
from smpy.study.workers import HOST, HTTP_ADDRESS, Credentials, Workers, workers

if TYPE_CHECKING:
    import distributed

TRIES_MAX: Final = 10
"""Starts of a task whose workers die, before Dask gives it up."""

_CLOSE_S: Final = 10.0
_CONNECT_S: Final = 10.0
_MEMORY_SHARE: Final = 0.9  # share of this process's memory limit for all points together
_DASHBOARD_PAGES: Final = ["distributed.http.scheduler.info", "distributed.http.statics"]


@dataclass(frozen=True, slots=True)
class DaskConnection:
    """A client of Dask, and what it knows of the workers.

    Attributes
    ----------
    client : distributed.Client
        The client.
    check : callable
        Raises an error if workers of this machine do not start.
    n_threads : callable
        Returns the number of tasks that run at a time.
    """

    client: Any
    check: Callable[[], None]
    n_threads: Callable[[], int]


def n_workers_here() -> int:
    """Number of cores that this process may use, less one; at least one."""
    return max(1, len(os.sched_getaffinity(0)) - 1)


def memory_of_a_point(n_workers: int) -> int | None:
    """Memory limit of a point on this machine unless its study gives one, in bytes; None: not known."""
    whole_bytes = limit_bytes()
    return None if whole_bytes is None else int(whole_bytes * _MEMORY_SHARE / n_workers)


@contextmanager
def dask_connection(
    n_workers: int, scheduler: str | None, show_dashboard: Callable[[str], None] | None
) -> Iterator[DaskConnection]:
    """A connection to Dask while the body runs, in which loggers of Dask are silent.

    Parameters
    ----------
    n_workers : int
        Number of worker processes on this machine.
    scheduler : str or None
        Address of a scheduler whose workers are used instead.
    show_dashboard : callable or None
        Called with the address of the dashboard of this machine's workers; None: there is no dashboard.

    Raises
    ------
    UsageError
        If Dask or cryptography is not installed, there is no such scheduler, or no dashboard.
    """
    try:
        import cryptography  # noqa: F401  # distributed makes keys with cryptography
        import dask
        import distributed
    except ImportError as error:
        raise UsageError(f"a study needs dask: {error}; pip install '.[study]'") from error
    with dask.config.set({"distributed.scheduler.allowed-failures": TRIES_MAX}), _silence():
        if scheduler is None:
            with _local_cluster(n_workers, show_dashboard) as (client, here):
                yield DaskConnection(client, here.check, lambda: n_workers)
            return
        if scheduler.startswith("tls://"):
            _check_certificate(scheduler, distributed.Security())
        try:
            client = distributed.Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise UsageError(f"there is no Dask scheduler at {scheduler}: {error}") from error
        with _closing_soon(client):
            yield DaskConnection(client, lambda: None, lambda: sum(client.nthreads().values()))


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


@contextmanager
def _local_cluster(
    n_workers: int, show_dashboard: Callable[[str], None] | None
) -> Iterator[tuple[distributed.Client, Workers]]:
    """A client of a new cluster of this machine, and its workers, while the body runs."""
    import dask
    import distributed

    if show_dashboard is not None:
        _check_dashboard()
    security = distributed.Security.temporary()
    credentials = Credentials(security.tls_worker_cert, security.tls_worker_key)
    pages = _DASHBOARD_PAGES if show_dashboard is not None else []
    with dask.config.set({"distributed.scheduler.http.routes": pages}):
        cluster = distributed.LocalCluster(
            n_workers=0,
            processes=False,
            host=HOST,
            security=security,
            silence_logs=logging.CRITICAL,
            dashboard_address=HTTP_ADDRESS,
            scheduler_kwargs={"dashboard": show_dashboard is not None},
        )
    with _closing_soon(cluster):
        if show_dashboard is not None:
            show_dashboard(f"http://{HOST}:{cluster.scheduler.http_server.port}/status")
        with (
            workers(cluster.scheduler_address, n_workers, credentials) as here,
            _closing_soon(distributed.Client(cluster, set_as_default=False)) as client,
        ):
            yield client, here


def _check_dashboard() -> None:
    try:
        import distributed.dashboard.scheduler  # noqa: F401
    except ImportError as error:
        raise UsageError(f"Dask's dashboard needs bokeh: {error}; pip install bokeh") from error


@contextmanager
def _closing_soon(connection: Any) -> Iterator[Any]:
    """Close a cluster or a client after the body."""
    try:
        yield connection
    finally:
        with suppress(Exception):  # the other side may have gone
            connection.close(timeout=_CLOSE_S)
