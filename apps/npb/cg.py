"""CG of the NAS Parallel Benchmarks: the smallest eigenvalue of a sparse matrix, by the power method [1]_.

    mpiexec -n 4 python apps/npb/cg.py --class S
    smpy run -np 16 --compute models --iterations skip apps/npb/cg.py --class W

Each of 15 iterations of the inverse power method makes 25 of conjugate gradients. Ranks hold blocks of rows; a product
gathers the whole vector. Both loops are marked: with `--iterations skip`, under smpy, few of their iterations are
performed, and the eigenvalue is not that of the class.

References
----------
.. [1] D. Bailey et al., "The NAS Parallel Benchmarks", NASA report RNR-94-007, 1994, section 2.2.3.
"""

from __future__ import annotations

import sys
from math import sqrt
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from sparse_matrix import CLASSES, Rows, Size, matrix

sys.path.append(str(Path(__file__).resolve().parents[1]))

from blocks import block
from command_line import Parser
from marked import iterations
from modelled import kernel

Vector = NDArray[np.float64]
N_GRADIENTS = 25
TOLERANCE = 1e-10


@kernel(flop="2*values.size", bytes="24*values.size", working_set_bytes="16*values.size")
def sums_of_rows(values: Vector, entries: Vector, starts: NDArray[np.int64]) -> Vector:
    """Sum of each row's entries times those of a vector; no row is empty."""
    sums: Vector = np.add.reduceat(values * entries, starts)
    return sums


class Block:
    """A rank's rows of the matrix.

    Parameters
    ----------
    comm : MPI.Intracomm
        The ranks, no more than rows.
    whole : Rows
        The matrix.
    n : int
        Its rows.
    """

    def __init__(self, comm: MPI.Intracomm, whole: Rows, n: int) -> None:
        self.comm = comm
        self.counts = [len(block(n, comm.size, rank)) for rank in range(comm.size)]
        mine = block(n, comm.size, comm.rank)
        self.n_rows, self.vector = len(mine), np.empty(n)
        part = slice(whole.starts[mine.start], whole.starts[mine.stop])
        self.columns, self.values = whole.columns[part], whole.values[part]
        self.starts = whole.starts[mine.start : mine.stop] - whole.starts[mine.start]

    def times(self, part: Vector) -> Vector:
        """Product with a vector, of which each rank has a part."""
        self.comm.Allgatherv(part, [self.vector, self.counts])
        return sums_of_rows(self.values, self.vector[self.columns], self.starts)

    def dot(self, a: Vector, b: Vector) -> float:
        """Scalar product of two vectors."""
        product = np.array([a @ b])
        self.comm.Allreduce(MPI.IN_PLACE, product, op=MPI.SUM)
        return float(product[0])


def gradients(rows: Block, x: Vector) -> tuple[Vector, float]:
    """Approximate solution z of A z = x by conjugate gradients, and the norm of x - A z."""
    z, residual, direction = np.zeros_like(x), x.copy(), x.copy()
    square = rows.dot(residual, residual)
    for _ in iterations("conjugate gradients", range(N_GRADIENTS), comm=rows.comm):
        image = rows.times(direction)
        step = square / rows.dot(direction, image)
        z += step * direction
        residual -= step * image
        square, before = rows.dot(residual, residual), square
        direction = residual + square / before * direction
    rest = x - rows.times(z)
    return z, sqrt(rows.dot(rest, rest))


def eigenvalue(rows: Block, size: Size) -> tuple[float, float]:
    """The eigenvalue, and the residual of the last solution."""
    x = np.ones(rows.n_rows)
    zeta = norm = 0.0
    for _ in iterations("power method", range(size.n_iterations), comm=rows.comm):
        z, norm = gradients(rows, x)
        zeta = size.shift + 1.0 / rows.dot(x, z)
        x = z / sqrt(rows.dot(z, z))
    return zeta, norm


def main() -> None:
    """Iterate, and let rank 0 say what was found."""
    parser = Parser(description="NAS CG: smallest eigenvalue of a sparse matrix.")
    parser.add_argument(
        "--class", dest="name", choices=CLASSES, default="S", help="problem size (default: %(default)s)"
    )
    name = parser.parse_args().name
    size, comm = CLASSES[name], MPI.COMM_WORLD
    rows = Block(comm, matrix(name), size.n)
    comm.Barrier()
    began_s = MPI.Wtime()
    zeta, norm = eigenvalue(rows, size)
    elapsed_s = np.array([MPI.Wtime() - began_s])
    comm.Allreduce(MPI.IN_PLACE, elapsed_s, op=MPI.MAX)
    if comm.rank == 0:
        verdict = "successful" if abs(zeta - size.zeta) <= TOLERANCE * size.zeta else "unsuccessful"
        print(f"cg: class {name}, {size.n} rows, {len(matrix(name).values)} entries")
        print(f"zeta: {zeta:.13f}, residual {norm:.3e}")
        print(f"verification: {verdict}")
        print(f"time: {elapsed_s[0]:.6f} s on {comm.size} ranks")


if __name__ == "__main__":
    main()
