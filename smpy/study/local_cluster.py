"""Dask on this machine for one study: only the study's processes can connect.

Any process that can connect to a scheduler or a worker of Dask can have it run code. So

* schedulers and workers listen on 127.0.0.1 alone;
* they speak TLS, with a key that is made for the study and that both sides must have. The study's process writes the
  key into its workers' standard input: no lasting file, no argument and no environment variable has it;
* the HTTP servers, which Dask always starts, and which require no key, have no pages. The dashboard is such a page:
  any user of this machine can look at it, and change nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import UsageError
from smpy.study.workers import HOST, HTTP_ADDRESS, Credentials, Workers, workers

if TYPE_CHECKING:
    import distributed

_CLOSE_S: Final = 10.0
_DASHBOARD_PAGES: Final = ["distributed.http.scheduler.info", "distributed.http.statics"]


@contextmanager
def local_cluster(
    n_workers: int, show_dashboard: Callable[[str], None] | None
) -> Iterator[tuple[distributed.Client, Workers]]:
    """A client of a new cluster of this machine, and its workers, while the body runs.

    Parameters
    ----------
    n_workers : int
        Number of worker processes.
    show_dashboard : callable or None
        Called with the dashboard's address; None: there is no dashboard.

    Raises
    ------
    UsageError
        If the dashboard cannot be shown.
    """
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
    with closing_soon(cluster):
        if show_dashboard is not None:
            show_dashboard(f"http://{HOST}:{cluster.scheduler.http_server.port}/status")
        with (
            workers(cluster.scheduler_address, n_workers, credentials) as here,
            closing_soon(distributed.Client(cluster, set_as_default=False)) as client,
        ):
            yield client, here


def _check_dashboard() -> None:
    try:
        import distributed.dashboard.scheduler  # noqa: F401
    except ImportError as error:
        raise UsageError(f"Dask's dashboard needs bokeh: {error}; pip install bokeh") from error


@contextmanager
def closing_soon(connection: Any) -> Iterator[Any]:
    """Close a cluster or a client after the body."""
    try:
        yield connection
    finally:
        with suppress(Exception):  # the other side may have gone
            connection.close(timeout=_CLOSE_S)
