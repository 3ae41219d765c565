"""Lloyd's k-means on points that are spread over all ranks.

    mpiexec -n 4 python k_means.py --points 200000 --clusters 16 --iterations 10
    mpiexec -n 4 python k_means.py --points 20000 --clusters 64 --iterations 60

Each rank finds the nearest centre of each of its points. Sums of points and their number, by centre, are added over all
ranks by Allreduce, and give the next centres. The points lie closely around planted ones far apart: in the end each
centre has to be the mean of the points that were planted around one.
"""

from __future__ import annotations

import argparse

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from stopwatch import Stopwatch

Points = NDArray[np.float64]
Labels = NDArray[np.int64]
N_DIMENSIONS = 8


def nearest_centres(points: Points, centres: Points) -> Labels:
    """Index of the centre that is nearest, by point."""
    squares = (centres**2).sum(axis=1) - 2.0 * points @ centres.T  # less the square of the point, which is the same
    return squares.argmin(axis=1)


def sums_by_label(points: Points, labels: Labels, n_labels: int) -> Points:
    """Sum of the points with each label, and in a last column their number."""
    columns = [np.bincount(labels, weights=column, minlength=n_labels) for column in points.T]
    return np.column_stack([*columns, np.bincount(labels, minlength=n_labels)])


def means(sums: Points, otherwise: Points) -> Points:
    """Mean of the points with each label, or another point where there are none."""
    n_points = sums[:, -1:]
    return np.where(n_points > 0, sums[:, :-1] / np.maximum(n_points, 1), otherwise)


def main() -> None:
    """Plant clusters, find them, and compare."""
    parser = argparse.ArgumentParser(description="K-means by Lloyd's iteration.")
    parser.add_argument("--points", type=int, default=200_000, help="of all ranks (default: %(default)s)")
    parser.add_argument("--clusters", type=int, default=16, help="how many (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=10, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the points (default: %(default)s)")
    options = parser.parse_args()
    comm, n_clusters = MPI.COMM_WORLD, options.clusters
    planted = np.random.default_rng(options.seed).uniform(-100.0, 100.0, (n_clusters, N_DIMENSIONS))
    n_own = options.points * (comm.rank + 1) // comm.size - options.points * comm.rank // comm.size
    random = np.random.default_rng([options.seed, comm.rank + 1])
    labels = random.integers(0, n_clusters, n_own)
    points = planted[labels] + random.normal(size=(n_own, N_DIMENSIONS))

    watch = Stopwatch(comm)
    centres = planted + np.random.default_rng(options.seed).normal(0.0, 3.0, planted.shape)
    for _ in range(options.iterations):
        with watch.phase("computing"):
            sums = sums_by_label(points, nearest_centres(points, centres), n_clusters)
        with watch.phase("Allreduce"):
            comm.Allreduce(MPI.IN_PLACE, sums, op=MPI.SUM)
        with watch.phase("computing"):
            centres = means(sums, centres)
    watch.stop()

    expected = sums_by_label(points, labels, n_clusters)
    comm.Allreduce(MPI.IN_PLACE, expected, op=MPI.SUM)
    error = np.abs(centres - means(expected, centres)).max()
    if error > 1e-9:
        raise SystemExit(f"k_means: a centre is off by {error:.1e}")
    if comm.rank == 0:
        print(f"k_means: {options.points} points, {n_clusters} clusters, all found")


if __name__ == "__main__":
    main()
