"""The product of two square matrices on a two-dimensional grid of ranks, by SUMMA (van de Geijn, Watts 1997).

    mpiexec -n 4 python summa.py --n 1600 --block 64
    mpiexec -n 4 python summa.py --n 2400 --block 96

Each rank has a block of A, of B and of C = A B. In every round, a panel of some columns of A goes along rows of the
grid, one of some rows of B along its columns, both by Bcast, and each rank adds their product to its block of C. The
entries are i + k and k - j: integers, so that sums are exact and C has a closed form.
"""

from __future__ import annotations

import argparse
from bisect import bisect_right
from itertools import pairwise

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from stopwatch import Stopwatch

Matrix = NDArray[np.float64]


def summa(cart: MPI.Cartcomm, a: Matrix, b: Matrix, starts: list[list[int]], block: int, watch: Stopwatch) -> Matrix:
    """This rank's block of the product; rows and columns of the grid begin at `starts`."""
    with watch.phase("Sub"):
        along_row, along_column = cart.Sub([False, True]), cart.Sub([True, False])
    row_starts, column_starts = starts
    row, column = cart.coords
    n = row_starts[-1]
    c = np.zeros((a.shape[0], b.shape[1]))
    for first, end in pairwise(sorted({*range(0, n, block), *row_starts, *column_starts})):
        owner_of_a = bisect_right(column_starts, first) - 1
        owner_of_b = bisect_right(row_starts, first) - 1
        with watch.phase("packing"):
            panel_a = np.empty((a.shape[0], end - first))
            if column == owner_of_a:
                panel_a[:] = a[:, first - column_starts[column] : end - column_starts[column]]
            panel_b = np.empty((end - first, b.shape[1]))
            if row == owner_of_b:
                panel_b[:] = b[first - row_starts[row] : end - row_starts[row]]
        with watch.phase("Bcast"):
            along_row.Bcast(panel_a, root=owner_of_a)
            along_column.Bcast(panel_b, root=owner_of_b)
        with watch.phase("computing"):
            c += panel_a @ panel_b
    along_row.Free()
    along_column.Free()
    return c


def main() -> None:
    """Multiply, and compare with the closed form."""
    parser = argparse.ArgumentParser(description="Multiply two matrices on a 2-D grid of ranks.")
    parser.add_argument("--n", type=int, default=1600, help="order of the matrices (default: %(default)s)")
    parser.add_argument("--block", type=int, default=64, help="columns of a panel (default: %(default)s)")
    options = parser.parse_args()
    n, comm = options.n, MPI.COMM_WORLD
    cart = comm.Create_cart(MPI.Compute_dims(comm.size, 2))
    starts = [[part * n // n_parts for part in range(n_parts + 1)] for n_parts in cart.dims]
    i, j = (
        np.arange(of_axis[place], of_axis[place + 1], dtype=np.float64)
        for of_axis, place in zip(starts, cart.coords, strict=True)
    )
    k = np.arange(n, dtype=np.float64)
    a, b = i[:, None] + k[starts[1][cart.coords[1]] :][: j.size], k[starts[0][cart.coords[0]] :][: i.size, None] - j

    watch = Stopwatch(comm)
    c = summa(cart, a, b, starts, options.block, watch)
    watch.stop()
    cart.Free()

    sum_of_k, sum_of_squares = n * (n - 1) // 2, n * (n - 1) * (2 * n - 1) // 6
    expected = sum_of_squares + (i[:, None] - j) * sum_of_k - n * i[:, None] * j
    if not comm.allreduce(np.array_equal(c, expected), op=MPI.LAND):
        raise SystemExit("summa: the product is wrong")
    if comm.rank == 0:
        print(f"summa: product of order {n}, panels of {options.block}, exact")


if __name__ == "__main__":
    main()
