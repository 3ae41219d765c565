"""Programs under `smpy run`: as a command, and in this process."""

import contextlib
import gc
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from smpy.emulate.run.run import Outcome, run
from smpy.options import RunConfig

# A machine that is busy, or slow, fails no property. Each run draws other examples: few a run are many in the end.
settings.register_profile("at any speed", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("at any speed")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leaves the objects of all tests out of later garbage collections, which took a fourth of the time.

    Collections are rare: the ranks of runs that fail stay, and full collections look at all that they refer to.
    """
    gc.disable()
    collected = yield
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()
    return collected


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Processes of `-n auto`: half as many again as cores, since tests wait for processes that they start."""
    return max(1, min(8, len(os.sched_getaffinity(0)) * 3 // 2))


@pytest.hookimpl(tryfirst=True)  # before markers select
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "mpiexec" in getattr(item, "fixturenames", ()):
            item.add_marker("mpiexec")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Gives the runs of the tests a cache of their own."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@dataclass(frozen=True, slots=True)
class Ran:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Emulated:
    """Outcome and output of a run in this process."""

    outcome: Outcome
    out: str
    err: str

    @property
    def code(self) -> int:
        return self.outcome.exit_code

    @property
    def error(self) -> str:
        return str(self.outcome.error or "")


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")


@pytest.fixture
def smpy_run(tmp_path: Path) -> Callable[..., Ran]:
    """Runs the command line: `smpy_run(source, 2, "--quiet", files={...}, args=[...], stdin="...")`."""

    def command(
        source: str | None,
        n_ranks: int,
        *options: str,
        files: Mapping[str, str] | None = None,
        args: tuple[str, ...] = (),
        stdin: str = "",
    ) -> Ran:
        write_files(tmp_path, files or {})
        program = () if source is None else ("program.py",)
        if source is not None:
            write_files(tmp_path, {"program.py": source})
        smpy = Path(sys.executable).with_name("smpy")
        line = [str(smpy), "run", "-np", str(n_ranks), *options, *program, *args]
        environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            line, cwd=tmp_path, input=stdin, capture_output=True, encoding="utf-8", env=environment, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return command


@pytest.fixture
def emulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Emulated]:
    """Runs a program in this process, computing for free: `emulated(source, 2, files={...}, args=(...))`."""

    def here(source: str | None, n_ranks: int = 2, files: Mapping[str, str] | None = None, **config: Any) -> Emulated:
        write_files(tmp_path, files or {})
        if source is not None:
            write_files(tmp_path, {"program.py": source})
            config["program"] = str(tmp_path / "program.py")
        monkeypatch.chdir(tmp_path)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            outcome = run(RunConfig(n_ranks=n_ranks, **{"compute": "none", **config}))
        return Emulated(outcome, out.getvalue(), err.getvalue())

    return here


@pytest.fixture(scope="session")
def mpiexec() -> Callable[..., str]:
    """Runs a program under a real MPI and returns what it prints: `mpiexec(4, "program.py", "--its", "arguments")`."""
    beside = Path(sys.executable).with_name("mpiexec")
    path = str(beside) if beside.exists() else shutil.which("mpiexec")
    if path is None:
        pytest.skip("there is no mpiexec: pip install '.[mpi]' brings one")

    def printed(n_ranks: int, *program: str) -> str:
        line = [path, "-n", str(n_ranks), sys.executable, *program]
        real = subprocess.run(line, capture_output=True, encoding="utf-8", timeout=240, check=False)
        assert real.returncode == 0, real.stdout + real.stderr
        return real.stdout

    try:
        printed(1, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")
    except (AssertionError, subprocess.TimeoutExpired):
        pytest.skip("mpi4py is not installed, or it does not work with the library of mpiexec")
    return printed
