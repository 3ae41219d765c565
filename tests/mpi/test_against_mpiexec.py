"""Random programs receive the same bytes under `smpy run` and under a real mpiexec."""

import shutil
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


@pytest.fixture(scope="module")
def mpiexec():
    """The path of an mpiexec whose library an mpi4py can use."""
    path = shutil.which("mpiexec")
    if path is None:
        pytest.skip("there is no mpiexec")
    probe = [path, "-n", "1", sys.executable, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"]
    if subprocess.run(probe, capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("mpi4py is not installed, or it does not work with the library of mpiexec")
    return path


@pytest.mark.parametrize(("seed", "n_ranks"), [("a", 2), ("b", 3), ("c", 4), ("d", 3)])
def test_a_random_program_receives_what_it_does_under_mpiexec(mpiexec, seed, n_ranks):
    arguments = [str(PROGRAM), seed, str(N_STEPS)]
    theirs = printed([mpiexec, "-n", str(n_ranks), sys.executable, *arguments, "blocking"])
    smpy = Path(sys.executable).with_name("smpy")
    ours = printed([smpy, "run", "-np", str(n_ranks), "--compute", "none", *arguments, "all"])
    assert len(theirs) >= N_STEPS
    assert ours == theirs
