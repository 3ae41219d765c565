"""Conjugate gradients on a sparse matrix, distributed by blocks of rows.

    mpiexec -n 4 python apps/conjugate_gradient.py
    smpy run -np 64 apps/conjugate_gradient.py

The matrix is that of n x n points on a grid, each tied to its four neighbours and, by a few long links, to points far
away: link k ties i to (c_k - i) mod n^2, where the c_k are random. It has 4 + links on its diagonal and -1 for each
tie (entries in the same place add), so it is symmetric and positive definite. The right side is made from a solution
that is known.

A rank that multiplies its rows by a vector needs some entries that others hold. It finds out once which they are and
tells their owners (the inspector); then each product exchanges just those. Any number of ranks will do. Sums are
reduced in an order that depends on it, so only those digits are printed that do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from blocks import block
from command_line import Parser
from marked import iterations
from modelled import kernel
from mpi4py import MPI
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]


class Options(NamedTuple):
    """The problem: points a side, long links a point, and when to stop."""

    n: int
    links: int
    tolerance: float
    iterations: int


class Rows(NamedTuple):
    """A block of rows in CSR: the entries of row i are those from starts[i] up to the next row's start."""

    starts: Indices
    columns: Indices
    values: Vector


def make_rows(mine: range, options: Options) -> Rows:
    """These rows of the matrix. Every row has as many entries: a tie that does not exist is a zero on the diagonal."""
    n, rows = options.n, np.array(mine, dtype=np.int64)
    y, x = np.divmod(rows, n)
    centres = np.random.default_rng(1).integers(n * n, size=options.links)
    ties = [(rows - n, y > 0), (rows - 1, x > 0), (rows + 1, x < n - 1), (rows + n, y < n - 1)]
    ties += [((centre - rows) % (n * n), rows >= 0) for centre in centres]
    columns = np.stack([rows, *(np.where(exists, other, rows) for other, exists in ties)], axis=1)
    values = np.stack([np.full(len(rows), 4.0 + options.links), *(-1.0 * exists for _, exists in ties)], axis=1)
    return Rows(np.arange(len(rows)) * columns.shape[1], columns.ravel(), values.ravel())


class Matrix:
    """A square sparse matrix whose rows, and the entries of whose vectors, lie in blocks on the ranks.

    It is made of this rank's rows, none of them empty, whose columns are counted in the whole matrix.
    """

    def __init__(self, comm: MPI.Intracomm, n_rows: int, rows: Rows) -> None:
        self.comm = comm
        self.starts, self.values = rows.starts, rows.values
        mine = block(n_rows, comm.size, comm.rank)
        self.n_own = len(mine)
        is_own = (rows.columns >= mine.start) & (rows.columns < mine.stop)
        wanted = np.unique(rows.columns[~is_own])
        # Own entries of a vector come first here, then entries from elsewhere, in the order of `wanted`.
        place_elsewhere = self.n_own + np.searchsorted(wanted, rows.columns)
        self.columns = np.where(is_own, rows.columns - mine.start, place_elsewhere)
        self.entries = np.zeros(self.n_own + len(wanted))

        first_rows = np.arange(comm.size) * n_rows // comm.size
        owners = np.searchsorted(first_rows, wanted, side="right") - 1
        n_wanted = np.bincount(owners, minlength=comm.size)
        n_asked = np.zeros_like(n_wanted)
        comm.Alltoall(n_wanted, n_asked)
        asked = np.zeros(n_asked.sum(), dtype=np.int64)
        comm.Alltoallv([wanted, n_wanted], [asked, n_asked])
        self.asked = asked - mine.start
        self.sources, self.readers = parts(n_wanted, self.n_own), parts(n_asked, 0)

    def times(self, vector: Vector) -> Vector:
        """This rank's part of the product with a vector, of which it is given its part."""
        asked = vector[self.asked]
        requests = [self.comm.Irecv(self.entries[part], source) for source, part in self.sources]
        requests += [self.comm.Isend(asked[part], reader) for reader, part in self.readers]
        self.entries[: self.n_own] = vector
        MPI.Request.Waitall(requests)
        return sums_of_rows(self.values, self.entries, self.columns, self.starts)

    def dot(self, a: Vector, b: Vector) -> float:
        """The scalar product of two vectors."""
        overall = np.zeros(1)
        self.comm.Allreduce(np.array([product(a, b)]), overall, op=MPI.SUM)
        return float(overall[0])


# Bytes are those of all temporary arrays.


@kernel(flop="2*values.size", bytes="56*values.size", working_set_bytes="32*values.size")
def sums_of_rows(values: Vector, entries: Vector, columns: Indices, starts: Indices) -> Vector:
    """The product of some rows with a vector, of which they are given the entries that they need."""
    sums: Vector = np.add.reduceat(values * entries[columns], starts)
    return sums


@kernel(flop="2*a.size", bytes="16*a.size", working_set_bytes="16*a.size")
def product(a: Vector, b: Vector) -> float:
    """The scalar product of what is here."""
    return float(a @ b)


@kernel(flop="2*x.size", bytes="40*x.size", working_set_bytes="24*x.size")
def add(x: Vector, factor: float, direction: Vector) -> None:
    """Go that far in a direction."""
    x += factor * direction


@kernel(flop="2*residual.size", bytes="40*residual.size", working_set_bytes="24*residual.size")
def combination(residual: Vector, factor: float, direction: Vector) -> Vector:
    """The next direction."""
    return residual + factor * direction


def parts(counts: Indices, start: int) -> list[tuple[int, slice]]:
    """The ranks whose count is not zero, and where their part lies in an array that has all parts in rank order."""
    ends = start + np.cumsum(counts)
    return [(int(rank), slice(ends[rank] - counts[rank], ends[rank])) for rank in np.flatnonzero(counts)]


def solve(matrix: Matrix, right: Vector, options: Options) -> tuple[int, Vector]:
    """Conjugate gradients from zero until the residual is small beside the right side: iterations and solution."""
    x, residual, direction = np.zeros_like(right), right.copy(), right.copy()
    square = matrix.dot(residual, residual)
    goal = options.tolerance**2 * square

    def advance() -> None:
        nonlocal square, direction
        image = matrix.times(direction)
        curvature = matrix.dot(direction, image)
        step = square / curvature if curvature else 0.0
        add(x, step, direction)
        add(residual, -step, image)
        square, previous = matrix.dot(residual, residual), square
        direction = combination(residual, square / previous if previous else 0.0, direction)

    if goal == 0:
        for _ in iterations("conjugate gradients", range(options.iterations), comm=matrix.comm):
            advance()
        return options.iterations, x
    for n_made in range(options.iterations):
        if square <= goal:
            return n_made, x
        advance()
    return options.iterations, x


def read_options() -> Options:
    """The command line."""
    parser = Parser(description="Conjugate gradients on a sparse matrix in blocks of rows.")
    parser.add_argument("--n", type=int, default=128, help="points a side, n^2 rows (default: %(default)s)")
    parser.add_argument("--links", type=int, default=1, help="long links a point (default: %(default)s)")
    residual = "relative residual to reach; 0: make all iterations (default: %(default)s)"
    parser.add_argument("--tolerance", type=float, default=1e-8, help=residual)
    parser.add_argument("--iterations", type=int, default=1000, help="at most so many (default: %(default)s)")
    options = Options(**vars(parser.parse_args()))
    if min(options.n, options.iterations, options.links + 1) < 1:
        parser.error("--n and --iterations are at least 1, --links is not negative")
    if options.tolerance and not 1e-14 <= options.tolerance < 1.0:
        parser.error("--tolerance is 0, or lies between 1e-14, what double precision can reach, and 1")
    return options


def main() -> None:
    """Make a system whose solution is known, solve it, and let rank 0 say how well."""
    options = read_options()
    comm = MPI.COMM_WORLD
    n_rows = options.n**2
    mine = block(n_rows, comm.size, comm.rank)
    comm.Barrier()
    began_s = MPI.Wtime()
    matrix = Matrix(comm, n_rows, make_rows(mine, options))
    ready_s = MPI.Wtime()
    truth = np.cos(np.array(mine, dtype=np.float64))
    right = matrix.times(truth)
    n_made, x = solve(matrix, right, options)
    elapsed_s = MPI.Wtime() - ready_s
    rest, error = right - matrix.times(x), x - truth
    residual = np.sqrt(matrix.dot(rest, rest) / matrix.dot(right, right))
    error = np.sqrt(matrix.dot(error, error) / matrix.dot(truth, truth))
    if comm.rank == 0:
        print(
            f"conjugate_gradient: {n_rows} rows, {options.links} long links a point, {n_made} iterations, "
            f"relative residual {residual:.3e}, relative error {error:.3e}"
        )
        print(f"time: {ready_s - began_s:.6f} s to inspect, {elapsed_s:.6f} s to solve, on {comm.size} ranks")


if __name__ == "__main__":
    main()
