"""Start-up is short."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

ATTEMPTS = 40  # some seconds: a machine that is lent may be slow for one
LIMIT_S = 0.3


def _children_s() -> float:
    """Processor time of the children so far: what they would have taken with a core of their own."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.timed
def test_an_empty_program_on_one_rank_starts_and_ends_within_0_3_s(tmp_path: Path):
    program = tmp_path / "empty.py"
    program.write_text("", encoding="utf-8")
    command = [str(Path(sys.executable).with_name("smpy")), "run", "-np", "1", "--quiet", str(program)]
    took_s = []
    while len(took_s) < ATTEMPTS and min(took_s, default=LIMIT_S) >= LIMIT_S:
        start_s = _children_s()
        subprocess.run(command, check=True, cwd=tmp_path)
        took_s.append(_children_s() - start_s)
    assert min(took_s) < LIMIT_S


def test_the_command_line_alone_loads_no_numpy():
    code = "import sys, smpy.cli.main, smpy.cli.run; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
