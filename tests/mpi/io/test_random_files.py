"""Random programs of files leave and read the bytes of a plain model, in smpy and under a real MPI."""

import subprocess
import sys
from pathlib import Path

import pytest

from smpy.mpi import MPI
from tests.mpi.conftest import run_world
from tests.mpi.io.random_files import run

PROGRAM = Path(__file__).with_name("random_files.py")
N_STEPS = 40
LEAST = "10000"


def outcome(n_ranks, seed, path):
    return run_world(n_ranks, lambda rank: run(MPI, seed, N_STEPS, str(path)))


@pytest.mark.parametrize(("n_ranks", "seed"), [(1, "a"), (2, "b"), (3, "c"), (5, "d"), (8, "e")])
def test_random_accesses_move_the_bytes_of_a_plain_model(tmp_path, n_ranks, seed):
    outcome(n_ranks, seed, tmp_path / "data")


@pytest.mark.campaign
@pytest.mark.parametrize("hundred", range(10))
def test_a_thousand_random_programs_move_the_bytes_of_a_plain_model(tmp_path, hundred):
    for number in range(100):
        outcome(1 + number % 8, f"{hundred}.{number}", tmp_path / f"data{number}")


def test_the_same_program_takes_the_same_time_again(tmp_path):
    first, second = (outcome(4, "f", tmp_path / name) for name in "ab")
    assert first.finish_s == second.finish_s
    assert first.returned == second.returned


@pytest.mark.slow
@pytest.mark.parametrize(("n_ranks", "seed"), [(2, "g"), (3, "h"), (4, "i")])
def test_a_random_program_reads_and_leaves_what_it_does_under_mpiexec(mpiexec, tmp_path, n_ranks, seed):
    theirs = mpiexec(n_ranks, str(PROGRAM), seed, str(N_STEPS), str(tmp_path / "theirs"), LEAST)
    smpy = Path(sys.executable).with_name("smpy")
    command = [smpy, "run", "-np", str(n_ranks), "--compute", "none", "--quiet"]
    line = [*command, PROGRAM, seed, str(N_STEPS), tmp_path / "ours", LEAST]
    ours = subprocess.run(line, capture_output=True, text=True, timeout=100, check=False)
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == theirs
