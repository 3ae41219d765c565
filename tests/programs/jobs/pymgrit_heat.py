"""pymgrit: the heat equation, parallel in time."""

import logging

import numpy as np
from mpi4py import MPI
from ordered import in_order_of_ranks
from pymgrit.core.mgrit import Mgrit
from pymgrit.dahlquist.dahlquist import Dahlquist
from pymgrit.heat.heat_1d import Heat1D

if not hasattr(np, "in1d"):
    np.in1d = np.isin  # noqa: NPY201  # pymgrit 1.0.6 calls it by this name, which numpy had before 2.4


def source(x, t):
    """The right-hand side."""
    return -np.sin(np.pi * x) * (np.sin(t) - np.pi**2 * np.cos(t))


def solve(problem, comm):
    """Solve on all ranks: print what each knows."""
    mgrit = Mgrit(problem=problem, tol=1e-10, comm_time=comm, logging_lvl=logging.WARNING)
    info = mgrit.solve()
    print("norms of residuals", [f"{norm:.3e}" for norm in info["conv"]])
    print("values", [f"{float(np.sum(value.get_values())):.9e}" for value in mgrit.u[0][-3:]])


rod = {"x_start": 0, "x_end": 1, "nx": 33, "a": 1, "init_cond": lambda x: np.sin(np.pi * x), "rhs": source}
heat = [Heat1D(**rod, t_start=0, t_stop=2, nt=nt) for nt in (65, 17, 5)]
with in_order_of_ranks():
    solve([Dahlquist(t_start=0, t_stop=5, nt=nt) for nt in (101, 26)], MPI.COMM_WORLD)
    solve(heat, MPI.COMM_WORLD)
