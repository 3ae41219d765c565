"""Runs what is selected of mpi4py's test-suite, two modules at a time, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.suite.archive import NotThereError, find_source
from tests.suite.runner import ModuleRun, run_module

Result = Callable[[str, int], ModuleRun]


@pytest.fixture(scope="session")
def mpi4py_source(pytestconfig: pytest.Config) -> Path:
    if find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed, whose Python parts the suite tests, too")
    try:
        return find_source(pytestconfig.cache.mkdir("mpi4py"))
    except NotThereError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def result_of(request: pytest.FixtureRequest, mpi4py_source: Path) -> Iterator[Result]:
    """Result of a module on a number of ranks; those of all selected tests are started when the first is asked."""
    asked = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = [(params["module"], params["n_ranks"]) for params in asked if {"module", "n_ranks"} <= set(params)]
    wanted.sort(key=lambda case: (not case[0].startswith("test_util"), -case[1]))  # the longest first
    with ThreadPoolExecutor(max_workers=2) as workers:
        runs: dict[tuple[str, int], Future[ModuleRun]] = {
            (module, n_ranks): workers.submit(run_module, mpi4py_source, module, n_ranks)
            for module, n_ranks in dict.fromkeys(wanted)
        }
        yield lambda module, n_ranks: runs[module, n_ranks].result()
        for run in runs.values():
            run.cancel()
