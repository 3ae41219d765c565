"""A sort of random integers that are spread over all ranks: afterwards rank 0 has the smallest, the last the largest.

    mpiexec -n 4 python sample_sort.py --keys 6000000
    mpiexec -n 4 python sample_sort.py --keys 16000000

Each rank sorts its keys. Some of them, at regular distances, go to rank 0, which finds keys that split all into equal
parts. Then each rank sends every other its part, by Alltoallv, and merges those it receives. No key may be lost: the
sum of all, modulo 2^64, stays the same.
"""

from __future__ import annotations

import argparse

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from stopwatch import Stopwatch

Keys = NDArray[np.int64]
N_SAMPLES = 64
"""Samples a rank."""


def sample_sort(comm: MPI.Intracomm, unsorted: Keys, watch: Stopwatch) -> Keys:
    """This rank's part of all ranks' keys in order."""
    with watch.phase("computing"):
        keys = np.sort(unsorted)
        samples = keys[np.arange(N_SAMPLES) * keys.size // N_SAMPLES]
        all_samples = np.empty(N_SAMPLES * comm.size if comm.rank == 0 else 0, dtype=np.int64)
    with watch.phase("Gather"):
        comm.Gather(samples, all_samples, root=0)
    with watch.phase("computing"):
        splitters = np.empty(comm.size - 1, dtype=np.int64)
        if comm.rank == 0:
            splitters[:] = np.sort(all_samples)[N_SAMPLES::N_SAMPLES]
    with watch.phase("Bcast"):
        comm.Bcast(splitters, root=0)
    with watch.phase("computing"):
        ends = np.append(np.searchsorted(keys, splitters), keys.size)
        n_sent = np.diff(ends, prepend=0)
        n_received = np.empty_like(n_sent)
    with watch.phase("Alltoall"):
        comm.Alltoall(n_sent, n_received)
    received = np.empty(n_received.sum(), dtype=np.int64)
    with watch.phase("Alltoallv"):
        comm.Alltoallv([keys, n_sent], [received, n_received])
    with watch.phase("computing"):
        received.sort(kind="stable")  # which merges parts that are in order
    return received


def checksum(comm: MPI.Intracomm, keys: Keys) -> tuple[int, int]:
    """Number of all ranks' keys, and their sum modulo 2^64."""
    mine = np.array([keys.size, keys.sum(dtype=np.uint64)], dtype=np.uint64)
    overall = np.zeros_like(mine)
    comm.Allreduce(mine, overall, op=MPI.SUM)
    return int(overall[0]), int(overall[1])


def main() -> None:
    """Draw keys, sort them, and check order and sum."""
    parser = argparse.ArgumentParser(description="Sort random integers on all ranks.")
    parser.add_argument("--keys", type=int, default=6_000_000, help="of all ranks (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the keys (default: %(default)s)")
    options = parser.parse_args()
    comm = MPI.COMM_WORLD
    n_own = options.keys * (comm.rank + 1) // comm.size - options.keys * comm.rank // comm.size
    if options.keys < comm.size:
        parser.error("there are fewer keys than ranks")
    unsorted = np.random.default_rng([options.seed, comm.rank]).integers(0, 2**62, n_own)

    watch = Stopwatch(comm)
    keys = sample_sort(comm, unsorted, watch)
    watch.stop()

    in_order = bool((keys[:-1] <= keys[1:]).all())
    ends = comm.allgather((in_order, keys[:1].tolist() + keys[-1:].tolist()))
    borders = [key for _, of_rank in ends for key in of_rank]
    if not all(ordered for ordered, _ in ends) or borders != sorted(borders):
        raise SystemExit("sample_sort: keys are not in order")
    if checksum(comm, keys) != checksum(comm, unsorted):
        raise SystemExit("sample_sort: keys were lost")
    if comm.rank == 0:
        print(f"sample_sort: {options.keys} keys in order")


if __name__ == "__main__":
    main()
