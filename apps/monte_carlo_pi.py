"""Pi by throwing darts: the share of random points of a square that fall into its inscribed circle.

    mpiexec -n 4 python apps/monte_carlo_pi.py
    smpy run -np 64 apps/monte_carlo_pi.py --samples 100000000

Points are drawn in blocks of a fixed size, and block i has the i-th random stream that grows from the seed. Blocks are
dealt out to the ranks as cards are. So the same points are drawn whatever the number of ranks, and what they count is
an integer: the printed estimate depends on the samples, the block and the seed alone. Any number of ranks will do;
those beyond the number of blocks draw nothing.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np
from command_line import Parser
from mpi4py import MPI


class Options(NamedTuple):
    """Number of points, points a block, and seed of the random streams."""

    samples: int
    block: int
    seed: int


def points_inside(seed: int, block: int, n_points: int) -> int:
    """Draw one block: how many of its points lie in the quarter of a circle."""
    stream = np.random.SeedSequence(seed, spawn_key=(block,))  # SeedSequence(seed).spawn(...)[block], without others
    x, y = np.random.default_rng(stream).random((2, n_points))
    return int(np.count_nonzero(x * x + y * y < 1.0))


def count(comm: MPI.Intracomm, options: Options) -> int:
    """The points inside, of all ranks; rank 0 learns it, the others get 0."""
    n_blocks = -(-options.samples // options.block)
    mine, overall = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for block in range(comm.rank, n_blocks, comm.size):
        n_points = min(options.block, options.samples - block * options.block)  # the last block may be a short one
        mine += points_inside(options.seed, block, n_points)
    comm.Reduce(mine, overall, op=MPI.SUM, root=0)
    return int(overall[0])


def read_options() -> Options:
    """The command line."""
    parser = Parser(description="Pi by random points, the same on any number of ranks.")
    parser.add_argument("--samples", type=int, default=2**24, help="points of all ranks (default: %(default)s)")
    parser.add_argument("--block", type=int, default=2**14, help="points a random stream (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another one, other points (default: %(default)s)")
    options = Options(**vars(parser.parse_args()))
    if min(options.samples, options.block) < 1:
        parser.error("--samples and --block are at least 1")
    if options.seed < 0:
        parser.error("--seed is not negative")
    return options


def main() -> None:
    """Count, and let rank 0 say what it makes of it."""
    options = read_options()
    comm = MPI.COMM_WORLD
    comm.Barrier()
    began_s = MPI.Wtime()
    n_inside = count(comm, options)
    elapsed_s = MPI.Wtime() - began_s
    if comm.rank == 0:
        share = n_inside / options.samples
        standard_error = 4.0 * sqrt(share * (1.0 - share) / options.samples)
        print(
            f"monte_carlo_pi: {n_inside} of {options.samples} points inside, estimate {4.0 * share:.12f}, "
            f"error {4.0 * share - pi:.3e}, standard error {standard_error:.3e}"
        )
        print(f"time: {elapsed_s:.6f} s on {comm.size} ranks")


if __name__ == "__main__":
    main()
