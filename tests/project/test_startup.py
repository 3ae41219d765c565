"""Start-up is short."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

ATTEMPTS = 40  # some seconds: a machine that is lent may be slow for one
LIMIT_S = 0.3
NUMPY_S = 0.1  # time to import numpy on a machine that the limit is for; a slower one gets as much more


def _children_s() -> float:
    """Processor time of the children so far: what they would have taken with a core of their own."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _took_s(command: list[str], folder: Path) -> float:
    start_s = _children_s()
    subprocess.run(command, check=True, cwd=folder)
    return _children_s() - start_s


@pytest.mark.timed
def test_an_empty_program_on_one_rank_starts_and_ends_within_0_3_s(tmp_path: Path):
    program = tmp_path / "empty.py"
    program.write_text("", encoding="utf-8")
    command = [str(Path(sys.executable).with_name("smpy")), "run", "-np", "1", "--quiet", str(program)]
    reference = [sys.executable, "-c", "import numpy"]
    for _ in range(ATTEMPTS):
        took_s = _took_s(command, tmp_path)
        limit_s = LIMIT_S * max(1.0, _took_s(reference, tmp_path) / NUMPY_S)
        if took_s < limit_s:
            return
    pytest.fail(f"it took {took_s:.2f} s of processor time at last, with a limit of {limit_s:.2f} s")
