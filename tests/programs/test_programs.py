"""Programs and packages that others wrote print on simulated ranks what they print under a real MPI."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs.table import ALL, JOBS, RECORDED, Job
from tests.suite.archive import NotThereError, find_source

pytestmark = pytest.mark.slow
CASES = [pytest.param(job, n_ranks, id=f"{job.name}-{n_ranks}") for job in ALL for n_ranks in job.ranks]


@pytest.fixture(scope="session")
def demos(pytestconfig: pytest.Config) -> Path | str:
    """Folder of mpi4py's demonstrations, or why there is none."""
    try:
        return find_source(pytestconfig.cache.mkdir("mpi4py")) / "demo"
    except NotThereError as error:
        return str(error)


@pytest.mark.parametrize(("job", "n_ranks"), CASES)
def test_prints_what_it_prints_under_a_real_mpi(job: Job, n_ranks: int, demos: Path | str):
    missing = [module for module in job.modules if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"pip install -e '.[programs]': there is no {', '.join(missing)}")
    if job.needs_demos and isinstance(demos, str):
        pytest.skip(demos)
    folder = demos if isinstance(demos, Path) else None
    smpy = Path(sys.executable).with_name("smpy")
    command = [smpy, "run", "-np", str(n_ranks), "--compute", "none", "--quiet", *job.command(folder)]
    done = subprocess.run(
        command, cwd=JOBS, input=job.stdin, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert done.stdout.splitlines() == recorded[job.name]["output"][str(n_ranks)]
