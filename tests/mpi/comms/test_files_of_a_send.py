"""Number of files between a program's Send and the kernel."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path

import numpy as np

import smpy
from smpy.engine.kernel import lib
from smpy.mpi import MPI
from tests.mpi.conftest import run_world

HOME = Path(smpy.__file__).parent
files = []

def look(frame, event, function):
    path = Path(frame.f_code.co_filename)
    if event == "call" and path.is_relative_to(HOME) and str(path.relative_to(HOME)) not in files:
        files.append(str(path.relative_to(HOME)))
    elif event == "c_call" and function is lib.sim_append_send:
        files.append("the kernel")

def main(rank):
    world, memory = MPI.COMM_WORLD, np.ones(4)
    if rank:
        for _ in range(2):
            world.Recv(memory, 0)
        return
    world.Send(memory, 1)
    sys.setprofile(look)
    world.Send(memory, 1)
    sys.setprofile(None)

run_world(2, main)
print(*files, sep="\\n")
"""


def test_five_files_at_most_lie_between_a_send_and_the_kernel():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, "SMPY_SURFACE": "python"},
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "the kernel" in run.stdout
    assert len(set(run.stdout.split("\n")) - {"the kernel", ""}) <= 5, run.stdout
