"""Start-up is short."""

import subprocess
import sys
import time
from pathlib import Path

ATTEMPTS = 5
LIMIT_S = 0.3


def test_an_empty_program_on_one_rank_starts_and_ends_within_0_3_s(tmp_path: Path):
    program = tmp_path / "empty.py"
    program.write_text("", encoding="utf-8")
    command = [str(Path(sys.executable).with_name("smpy")), "run", "-np", "1", "--quiet", str(program)]
    took_s = []
    for _ in range(ATTEMPTS):
        start_s = time.perf_counter()
        subprocess.run(command, check=True, cwd=tmp_path)
        took_s.append(time.perf_counter() - start_s)
        if took_s[-1] < LIMIT_S:
            return
    raise AssertionError(f"the best of {ATTEMPTS} took {min(took_s):.3f} s")


def test_the_command_line_alone_loads_no_numpy():
    code = "import sys, smpy.cli.main, smpy.cli.run; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
