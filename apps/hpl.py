"""High-Performance Linpack, after HPL 2.x, in Python.

    mpiexec -n 4 python apps/hpl.py --n 1000 --p 2 --q 2
    smpy run -np 4096 apps/hpl.py --n 20000 --p 8 --q 512 --skeleton

Solves a dense system of N equations by LU factorisation with partial pivoting on a P x Q grid of ranks, with HPL's
algorithm and its messages, and prints HPL's result lines. The problem stands in HPL.dat in the working directory, or
in the file that --dat names; flags override it. With --skeleton, which needs `smpy run`, the two kernels take
their modelled time and no numbers are computed.
"""

from __future__ import annotations

import sys

import numpy as np
from linpack.arguments import read
from linpack.grid import Grid, agree, tell
from linpack.kernels import Kernels, Numbers, Skeleton
from linpack.panel import Matrix
from linpack.problem import Outcome, Residual, check, generate
from linpack.settings import BadSettings, Settings
from linpack.solve import Singular, solve
from mpi4py import MPI

LINE = 80


def main() -> int:
    world = MPI.COMM_WORLD
    job = world.bcast(read(sys.argv[1:], world.size) if world.rank == 0 else None)
    if isinstance(job, int):
        return job
    try:
        kernels = (
            Numbers() if job.skeleton is None else Skeleton(*job.skeleton, job.is_folded, is_on_device=job.is_on_device)
        )
    except BadSettings as error:
        if world.rank == 0:
            print(f"hpl.py: {error}", file=sys.stderr)
        return 2
    if world.rank == 0:
        print_heading()
    outcomes = [perform(world, settings, kernels) for settings in job.runs]
    if world.rank == 0:
        print_footing(outcomes)
    return 1 if Outcome.FAILED in outcomes or Outcome.SKIPPED in outcomes else 0


def perform(world: MPI.Intracomm, settings: Settings, kernels: Kernels) -> Outcome:
    """One run, as the ranks of its grid see it; the others skip it without a word."""
    grid = Grid(world, settings.p, settings.q, settings.pmap)
    outcome = Outcome.UNCHECKED
    if grid.is_inside:
        matrix = Matrix(grid, kernels, settings)
        if kernels.is_real:
            generate(matrix, grid)
        outcome = measure(grid, matrix, kernels, settings)
    grid.free()
    return outcome


def measure(grid: Grid, matrix: Matrix, kernels: Kernels, settings: Settings) -> Outcome:
    """Solve, tell the time, and check."""
    is_first = grid.all.rank == 0
    agree(grid.all, np.zeros(3, np.int32))  # HPL asks whether all have the memory they need
    tell(grid.all, np.zeros(1, np.int32))  # its barrier
    start_s = MPI.Wtime()
    try:
        solve(grid, matrix, kernels, settings)
    except Singular as error:  # on all ranks of the grid
        if is_first:
            print(f"hpl.py: Error code returned by solve is {error.column}, skip", file=sys.stderr)
        return Outcome.SKIPPED
    elapsed_s = np.array([MPI.Wtime() - start_s])
    agree(grid.all, elapsed_s)
    residual = check(matrix, grid) if kernels.is_real and settings.threshold > 0 else None
    if is_first:
        print_result(settings, float(elapsed_s[0]), residual)
    if residual is None:
        return Outcome.UNCHECKED
    return Outcome.PASSED if residual.scaled < settings.threshold else Outcome.FAILED


def print_heading() -> None:
    print("=" * LINE)
    print("T/V                N    NB     P     Q               Time                 Gflops")
    print("-" * LINE)


def print_result(settings: Settings, elapsed_s: float, residual: Residual | None) -> None:
    """HPL's lines for one run."""
    n = settings.n
    gflops = (n / 1e9) * (n / elapsed_s) * (2.0 / 3.0 * n + 1.5) if elapsed_s > 0 else 0.0
    print(
        f"{settings.variant():<8}{n:12d} {settings.nb:5d} {settings.p:5d} {settings.q:5d} "
        f"{elapsed_s:18.2f}     {gflops:18.3e}"
    )
    if residual is None:
        return
    word = "PASSED" if residual.scaled < settings.threshold else "FAILED"
    print("-" * LINE)
    print(f"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {residual.scaled:16.7f} ...... {word}")
    if word == "FAILED":
        print(f"||Ax-b||_oo  . . . . . . . . . . . . . . . . . = {residual.residual_oo:18.6f}")
        print(f"||A||_oo . . . . . . . . . . . . . . . . . . . = {residual.a_oo:18.6f}")
        print(f"||A||_1  . . . . . . . . . . . . . . . . . . . = {residual.a_1:18.6f}")
        print(f"||x||_oo . . . . . . . . . . . . . . . . . . . = {residual.x_oo:18.6f}")
        print(f"||x||_1  . . . . . . . . . . . . . . . . . . . = {residual.x_1:18.6f}")
        print(f"||b||_oo . . . . . . . . . . . . . . . . . . . = {residual.b_oo:18.6f}")


def print_footing(outcomes: list[Outcome]) -> None:
    """HPL's last lines."""
    print("=" * LINE)
    print()
    print(f"Finished {len(outcomes):6d} tests with the following results:")
    if Outcome.UNCHECKED in outcomes:
        print(f"         {outcomes.count(Outcome.UNCHECKED):6d} tests completed without checking,")
    else:
        print(f"         {outcomes.count(Outcome.PASSED):6d} tests completed and passed residual checks,")
        print(f"         {outcomes.count(Outcome.FAILED):6d} tests completed and failed residual checks,")
    print(f"         {outcomes.count(Outcome.SKIPPED):6d} tests skipped because of illegal input values.")


if __name__ == "__main__":
    sys.exit(main())
