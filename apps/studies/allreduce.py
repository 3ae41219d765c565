"""Measure the time of an Allreduce of a given size.

    mpiexec -n 4 python apps/studies/allreduce.py --bytes 1024
    smpy run -np 64 apps/studies/allreduce.py --bytes 1024

All ranks add up vectors of that size, again and again; the slowest rank's mean time is printed.
"""

from __future__ import annotations

import argparse

import numpy as np
from mpi4py import MPI


def main() -> None:
    parser = argparse.ArgumentParser(description="Times Allreduce.")
    parser.add_argument("--bytes", type=int, default=1024, help="of the vector (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=10, help="how often (default: %(default)s)")
    options = parser.parse_args()
    world = MPI.COMM_WORLD
    mine = np.full(max(1, options.bytes // 8), float(world.rank))
    total = np.empty_like(mine)
    world.Barrier()
    start_s = MPI.Wtime()
    for _ in range(options.repetitions):
        world.Allreduce(mine, total)
    spent_s = np.array((MPI.Wtime() - start_s) / options.repetitions)
    slowest_s = np.empty_like(spent_s)
    world.Reduce(spent_s, slowest_s, MPI.MAX)
    assert total[0] == world.size * (world.size - 1) / 2
    if world.rank == 0:
        print(f"allreduce of {mine.nbytes} bytes on {world.size} ranks: {float(slowest_s):.9f} s")


if __name__ == "__main__":
    main()
