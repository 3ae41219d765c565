"""Records what the programs print under a real MPI: `python -m tests.programs [NAME ...]`, with mpiexec on the path."""

from __future__ import annotations

import datetime as dt
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from tests.programs.table import ALL, DEMOS, JOBS, RECORDED, Job
from tests.suite.archive import find_source

_LIBRARY: Final = "from mpi4py import MPI; print(MPI.Get_library_version().splitlines()[0])"

_TIME_LIMIT_S: Final = 600  # ranks that poll share few cores


def main() -> None:
    """Run the jobs that are named, or all, and put down what they print."""
    recorded: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    with tempfile.TemporaryDirectory() as cache:
        demos = find_source(Path(cache)) / "demo"
        for job in ALL:
            if job.name in sys.argv[1:] or len(sys.argv) == 1:
                print(job.name)
                recorded[job.name] = _record(job, demos)
                in_order = {job.name: recorded[job.name] for job in ALL if job.name in recorded}
                RECORDED.write_text(json.dumps(in_order, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _record(job: Job, demos: Path) -> Mapping[str, Any]:
    outputs = {str(n_ranks): _run(job, n_ranks, demos).splitlines() for n_ranks in job.ranks}
    ask = ["mpiexec", "-n", "1", sys.executable, "-c", _LIBRARY]
    library = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    args = [f"jobs/{job.script}", *("DEMOS" if arg == DEMOS else arg for arg in job.args)]
    return {
        "command": " ".join(["mpiexec -n N python", *args]),
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "mpi": " ".join(library.split()),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("mpi4py", "numpy", *job.packages)},
        "output": outputs,
    }


def _run(job: Job, n_ranks: int, demos: Path) -> str:
    command = ["mpiexec", "-n", str(n_ranks), sys.executable, *job.command(demos)]
    done = subprocess.run(
        command, cwd=JOBS, input=job.stdin, capture_output=True, encoding="utf-8", timeout=_TIME_LIMIT_S, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
