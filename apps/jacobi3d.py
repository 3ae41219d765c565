"""Poisson's equation in the unit cube by Jacobi iteration, on a three-dimensional Cartesian communicator.

    mpiexec -n 4 python apps/jacobi3d.py
    smpy run -np 64 apps/jacobi3d.py

-laplace(u) = 3 pi^2 sin(pi x) sin(pi y) sin(pi z) with u = 0 on the boundary, whose solution is
sin(pi x) sin(pi y) sin(pi z), on n x n x n interior points. Each rank holds a box of points inside a halo of one point.
Before each iteration it exchanges its six faces with the ranks around it. A face is not contiguous in memory, so
a derived datatype describes where its points lie, and nothing is copied by hand. Printed numbers are maxima, so they
do not depend on the order in which ranks are reduced. Any number of ranks will do, as long as each has a point.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple

import numpy as np
from blocks import block
from command_line import Parser
from mpi4py import MPI
from numpy.typing import NDArray

Field = NDArray[np.float64]


class Options(NamedTuple):
    """The problem: points a side, iterations, and how often the change is looked at."""

    n: int
    iterations: int
    check_every: int
    tolerance: float


class Face(NamedTuple):
    """One of the six sides of a rank's box: who is beyond, what goes there, and where what comes from there belongs."""

    neighbour: int
    outgoing: MPI.Datatype
    incoming: MPI.Datatype


class Grid:
    """Place of this rank's box among the ranks and among the points.

    Parameters
    ----------
    comm : MPI.Intracomm
        The ranks.
    n : int
        Interior points a side.
    """

    def __init__(self, comm: MPI.Intracomm, n: int) -> None:
        self.n = n
        self.n_ranks = MPI.Compute_dims(comm.size, 3)
        self.cart = comm.Create_cart(self.n_ranks, periods=[False] * 3)
        self.blocks = [block(n, *place) for place in zip(self.n_ranks, self.cart.coords, strict=True)]
        self.shape = [len(points) + 2 for points in self.blocks]
        self.faces = [face for axis in range(3) for face in self.faces_across(axis)]

    def faces_across(self, axis: int) -> tuple[Face, Face]:
        """The two faces that an axis goes through. Beyond the edge of the cube the neighbour is PROC_NULL."""
        below, above = self.cart.Shift(axis, 1)
        last = len(self.blocks[axis])
        return (
            Face(below, self.layer(axis, 1), self.layer(axis, 0)),
            Face(above, self.layer(axis, last), self.layer(axis, last + 1)),
        )

    def layer(self, axis: int, index: int) -> MPI.Datatype:
        """The points of a box at one index of an axis, without the halo's edges, as a datatype."""
        sizes, starts = [len(points) for points in self.blocks], [1, 1, 1]
        sizes[axis], starts[axis] = 1, index
        return MPI.DOUBLE.Create_subarray(self.shape, sizes, starts).Commit()

    def coordinates(self) -> list[Field]:
        """The coordinates of the box's points, an array for each axis, shaped so that they broadcast."""
        return [(points + 1) / (self.n + 1) for points in np.ix_(*self.blocks)]

    def exchange_halo(self, u: Field) -> None:
        """Fill the halo of a box with the faces of the boxes around it."""
        requests = [self.cart.Irecv([u, 1, face.incoming], face.neighbour) for face in self.faces]
        requests += [self.cart.Isend([u, 1, face.outgoing], face.neighbour) for face in self.faces]
        MPI.Request.Waitall(requests)

    def largest(self, values: Field) -> float:
        """The maximum over all ranks' values."""
        overall = np.zeros(1)
        self.cart.Allreduce(np.array([values.max()]), overall, op=MPI.MAX)
        return float(overall[0])

    def free(self) -> None:
        """Give back what MPI keeps for the grid."""
        for face in self.faces:
            face.outgoing.Free()
            face.incoming.Free()
        self.cart.Free()


def solve(grid: Grid, options: Options) -> tuple[int, float, float]:
    """Iterate: the number of iterations, the last change seen and the error against the true solution."""
    z, y, x = grid.coordinates()
    truth = np.sin(pi * z) * np.sin(pi * y) * np.sin(pi * x)
    source = 3.0 * pi**2 * truth / (grid.n + 1) ** 2
    u = np.zeros(grid.shape)
    inside = u[1:-1, 1:-1, 1:-1]
    change = np.inf
    for iteration in range(1, options.iterations + 1):
        grid.exchange_halo(u)
        new = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1]
        new += u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
        new += u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
        new = (new + source) / 6.0
        if iteration % options.check_every == 0 or iteration == options.iterations:
            change = grid.largest(np.abs(new - inside))
        inside[:] = new
        if change <= options.tolerance:
            break
    return iteration, change, grid.largest(np.abs(inside - truth))


def read_options() -> Options:
    """The command line."""
    parser = Parser(description="Poisson's equation by Jacobi iteration on a 3-D grid of ranks.")
    parser.add_argument("--n", type=int, default=128, help="interior points a side (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=50, help="at most so many (default: %(default)s)")
    parser.add_argument("--check-every", type=int, default=10, help="iterations between two looks at the change")
    parser.add_argument("--tolerance", type=float, default=0.0, help="stop when no point changes by more")
    options = Options(**vars(parser.parse_args()))
    if min(options.n, options.iterations, options.check_every) < 1:
        parser.error("--n, --iterations and --check-every are at least 1")
    if not options.tolerance >= 0.0:
        parser.error("--tolerance is not negative")
    return options


def main() -> None:
    """Solve, and let rank 0 say how it went."""
    options = read_options()
    comm = MPI.COMM_WORLD
    n, grid_text = options.n, " x ".join(map(str, MPI.Compute_dims(comm.size, 3)))
    if max(MPI.Compute_dims(comm.size, 3)) > n:
        raise SystemExit(f"{grid_text} ranks are too many for {n} x {n} x {n} points" if comm.rank == 0 else 1)
    grid = Grid(comm, n)
    comm.Barrier()
    began_s = MPI.Wtime()
    iterations, change, error = solve(grid, options)
    elapsed_s = MPI.Wtime() - began_s
    grid.free()
    if comm.rank == 0:
        print(
            f"jacobi3d: {n} x {n} x {n} points on {grid_text} ranks, "
            f"{iterations} iterations, largest change {change:.12e}, largest error {error:.12e}"
        )
        print(f"time: {elapsed_s:.6f} s")


if __name__ == "__main__":
    main()
