"""Overhead of runs started from Python."""

import subprocess
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

import pytest

import smpy

N_RUNS = 20
ATTEMPTS = 10  # a machine that is lent may be slow for a while
LIMIT_S = 0.06  # a run, where importing numpy takes 0.1 s; a slower machine gets as much more
NUMPY_S = 0.1


def _numpy_s() -> float:
    start_s = perf_counter()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    return perf_counter() - start_s


@pytest.mark.timed
def test_small_runs_cost_little_above_themselves(program: Callable[[str], str]):
    program("from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")
    smpy.simulate("program.py", ranks=2, compute="none")
    for _ in range(ATTEMPTS):
        costs_s = []
        for _ in range(N_RUNS):
            start_s = perf_counter()
            run = smpy.simulate("program.py", ranks=2, compute="none")
            costs_s.append(perf_counter() - start_s - run.summary.wall_s)
        cost_s, limit_s = median(costs_s), LIMIT_S * max(1.0, _numpy_s() / NUMPY_S)
        if cost_s < limit_s:
            return
    pytest.fail(f"a run took {cost_s:.3f} s above itself at last, with a limit of {limit_s:.3f} s")
