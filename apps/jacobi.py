"""Poisson's equation on the unit square by Jacobi iteration, on a two-dimensional grid of ranks.

    mpiexec -n 4 python apps/jacobi.py
    smpy run -np 4096 apps/jacobi.py

-laplace(u) = 2 pi^2 sin(pi x) sin(pi y) with u = 0 on the boundary, whose solution is sin(pi x) sin(pi y), on n x n
interior points. Each iteration replaces a point by the mean of its four neighbours and its share of the source; each
rank holds a block of points and a halo of one point, which it exchanges with the four ranks around it. Printed
numbers are maxima, so they do not depend on the order in which ranks are reduced.
"""

from __future__ import annotations

from math import isqrt, pi
from typing import NamedTuple

import numpy as np
from blocks import block
from command_line import Parser
from marked import iterations
from modelled import kernel
from mpi4py import MPI
from numpy.typing import NDArray

Field = NDArray[np.float64]


class Options(NamedTuple):
    """The problem: points a side, iterations, and how often the change is looked at."""

    n: int
    iterations: int
    check_every: int
    tolerance: float


class Grid:
    """Place of this rank's block among the ranks and among the points.

    Parameters
    ----------
    comm : MPI.Intracomm
        The ranks.
    n : int
        Interior points a side.
    """

    def __init__(self, comm: MPI.Intracomm, n: int) -> None:
        self.comm = comm
        self.n = n
        self.n_rows = next(d for d in range(isqrt(comm.size), 0, -1) if comm.size % d == 0)
        self.n_columns = comm.size // self.n_rows
        self.row, self.column = divmod(comm.rank, self.n_columns)
        self.rows = block(n, self.n_rows, self.row)
        self.columns = block(n, self.n_columns, self.column)
        self.north = self.neighbour(-1, 0)
        self.south = self.neighbour(1, 0)
        self.west = self.neighbour(0, -1)
        self.east = self.neighbour(0, 1)

    def neighbour(self, down: int, right: int) -> int:
        """The rank that many places away, PROC_NULL beyond the edge."""
        row, column = self.row + down, self.column + right
        inside = 0 <= row < self.n_rows and 0 <= column < self.n_columns
        return row * self.n_columns + column if inside else MPI.PROC_NULL

    def coordinates(self) -> tuple[Field, Field]:
        """The y of the block's rows and the x of its columns."""
        step = 1.0 / (self.n + 1)
        return (np.array(self.rows)[:, None] + 1) * step, (np.array(self.columns)[None, :] + 1) * step

    def exchange_halo(self, u: Field) -> None:
        """Fill the halo of a block with the border points of the blocks around it."""
        west_in, east_in = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        requests = [
            self.comm.Irecv(u[0, 1:-1], self.north),
            self.comm.Irecv(u[-1, 1:-1], self.south),
            self.comm.Irecv(west_in, self.west),
            self.comm.Irecv(east_in, self.east),
            self.comm.Isend(u[1, 1:-1], self.north),
            self.comm.Isend(u[-2, 1:-1], self.south),
            self.comm.Isend(u[1:-1, 1].copy(), self.west),
            self.comm.Isend(u[1:-1, -2].copy(), self.east),
        ]
        MPI.Request.Waitall(requests)
        u[1:-1, 0] = west_in
        u[1:-1, -1] = east_in

    def largest(self, values: Field) -> float:
        """The maximum over all ranks' values, none of them negative."""
        mine, overall = np.array([values.max(initial=0.0)]), np.zeros(1)
        self.comm.Allreduce(mine, overall, op=MPI.MAX)
        return float(overall[0])


# Bytes are those of all temporary arrays: of an operation on two arrays 24 a point, on one 16.


@kernel(flop="6*u.size", bytes="112*u.size", working_set_bytes="32*u.size")
def relaxed(u: Field, source: Field) -> Field:
    """The inner points after an iteration."""
    new: Field = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + source)
    return new


@kernel(flop="2*new.size", bytes="40*new.size", working_set_bytes="24*new.size")
def differences(new: Field, old: Field) -> Field:
    """Difference of each point."""
    return np.abs(new - old)


@kernel(bytes="16*new.size", working_set_bytes="16*new.size")
def store(new: Field, u: Field) -> None:
    """Let the inner points be the new ones."""
    u[1:-1, 1:-1] = new


def solve(grid: Grid, options: Options) -> tuple[int, float, float]:
    """Iterate: the number of iterations, the last change seen and the error against the true solution."""
    y, x = grid.coordinates()
    truth = np.sin(pi * y) * np.sin(pi * x)
    source = 2.0 * pi**2 * truth / (grid.n + 1) ** 2
    u = np.zeros((len(grid.rows) + 2, len(grid.columns) + 2))
    change = np.inf

    def advance(iteration: int) -> None:
        nonlocal change
        grid.exchange_halo(u)
        new = relaxed(u, source)
        if iteration % options.check_every == 0 or iteration == options.iterations:
            change = grid.largest(differences(new, u[1:-1, 1:-1]))
        store(new, u)

    made = range(1, options.iterations + 1)
    if options.tolerance == 0:
        for iteration in iterations("jacobi", made, comm=grid.comm, periods=(options.check_every,)):
            advance(iteration)
    else:
        for iteration in made:
            advance(iteration)
            if change <= options.tolerance:
                break
    return iteration, change, grid.largest(np.abs(u[1:-1, 1:-1] - truth))


def read_options() -> Options:
    """The command line."""
    parser = Parser(description="Poisson's equation by Jacobi iteration on a 2-D grid of ranks.")
    parser.add_argument("--n", type=int, default=2048, help="interior points a side (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=50, help="at most so many (default: %(default)s)")
    parser.add_argument("--check-every", type=int, default=10, help="iterations between two looks at the change")
    parser.add_argument("--tolerance", type=float, default=0.0, help="stop when no point changes by more; 0: never")
    options = Options(**vars(parser.parse_args()))
    if min(options.n, options.iterations, options.check_every) < 1:
        parser.error("--n, --iterations and --check-every are at least 1")
    if not options.tolerance >= 0:
        parser.error("--tolerance is not negative")
    return options


def main() -> None:
    """Solve, and let rank 0 say how it went."""
    options = read_options()
    comm = MPI.COMM_WORLD
    grid = Grid(comm, options.n)
    if grid.n_columns > options.n:
        reason = f"{grid.n_rows} x {grid.n_columns} ranks are too many for {options.n} x {options.n} points"
        raise SystemExit(reason if comm.rank == 0 else 1)
    comm.Barrier()
    began_s = MPI.Wtime()
    n_made, change, error = solve(grid, options)
    elapsed_s = MPI.Wtime() - began_s
    if comm.rank == 0:
        print(
            f"jacobi: {options.n} x {options.n} points on {grid.n_rows} x {grid.n_columns} ranks, "
            f"{n_made} iterations, largest change {change:.12e}, largest error {error:.12e}"
        )
        print(f"time: {elapsed_s:.6f} s")


if __name__ == "__main__":
    main()
