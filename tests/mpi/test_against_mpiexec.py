"""Random programs receive the same bytes under `smpy run` and under a real mpiexec."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parent / "random_program.py"
N_STEPS = 60


def printed(command):
    """The lines that a command prints."""
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.parametrize(("seed", "n_ranks"), [("a", 2), ("b", 3), ("c", 4), ("d", 3)])
def test_a_random_program_receives_what_it_does_under_mpiexec(mpiexec, seed, n_ranks):
    arguments = [str(PROGRAM), seed, str(N_STEPS)]
    theirs = mpiexec(n_ranks, *arguments, "blocking").splitlines()
    smpy = Path(sys.executable).with_name("smpy")
    ours = printed([smpy, "run", "-np", str(n_ranks), "--compute", "none", *arguments, "all"])
    assert len(theirs) >= N_STEPS
    assert ours == theirs
