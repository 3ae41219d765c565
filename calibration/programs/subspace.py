"""The largest eigenvalues of a dense symmetric matrix, by subspace iteration with threads of BLAS in each rank.

    OMP_NUM_THREADS=2 mpiexec -n 1 python subspace.py --n 3000 --block 200 --steps 20
    smpy run -np 1 --cpus-per-task 2 subspace.py --n 3000 --block 200 --steps 20

Each rank has some rows of A. A step multiplies them with the whole block, makes the product orthonormal by Cholesky's
factorisation of its Gram matrix, which is summed by Allreduce, and gathers the block by Allgatherv. A's entries are
min(i, j), counted from 1, whose eigenvalues have a closed form.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from stopwatch import Stopwatch

Matrix = NDArray[np.float64]


def iterate(comm: MPI.Intracomm, rows: Matrix, block: Matrix, counts: list[int], steps: int, watch: Stopwatch) -> float:
    """The largest eigenvalue after some steps from a block of vectors."""
    n_vectors = block.shape[1]
    largest = 0.0
    for _ in range(steps):
        with watch.phase("computing"):
            product = rows @ block
            own = product.T @ product
        gram = np.empty_like(own)
        with watch.phase("Allreduce"):
            comm.Allreduce(own, gram)
        with watch.phase("computing"):
            factor = np.linalg.cholesky(gram)
            orthonormal = np.ascontiguousarray(np.linalg.solve(factor, product.T).T)
            largest = float(np.sqrt(np.linalg.eigvalsh(gram)[-1]))
        with watch.phase("Allgatherv"):
            comm.Allgatherv(orthonormal, [block, [n_rows * n_vectors for n_rows in counts]])
    return largest


def main() -> None:
    """Iterate, and compare the largest eigenvalue with the closed form."""
    parser = argparse.ArgumentParser(description="Find the largest eigenvalues of a dense symmetric matrix.")
    parser.add_argument("--n", type=int, default=3000, help="order of the matrix (default: %(default)s)")
    parser.add_argument("--block", type=int, default=200, help="vectors that are iterated (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="steps (default: %(default)s)")
    options = parser.parse_args()
    n, comm = options.n, MPI.COMM_WORLD
    starts = [part * n // comm.size for part in range(comm.size + 1)]
    counts = [end - first for first, end in pairwise(starts)]
    i = np.arange(1.0, n + 1)
    rows = np.minimum(i[starts[comm.rank] : starts[comm.rank + 1], None], i)
    block = np.cos(np.outer(i, np.arange(options.block) + 0.5) * (np.pi / n))

    watch = Stopwatch(comm)
    largest = iterate(comm, rows, block, counts, options.steps, watch)
    watch.stop()

    expected = 1 / (4 * np.sin(np.pi / (2 * (2 * n + 1))) ** 2)
    if abs(largest / expected - 1) > 1e-6:
        raise SystemExit("subspace: the eigenvalue is wrong")
    if comm.rank == 0:
        print(f"subspace: {options.block} vectors of order {n}, largest eigenvalue {largest:.6g}")


if __name__ == "__main__":
    main()
