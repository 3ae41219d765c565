"""EP of the NAS Parallel Benchmarks: Gaussian deviates by acceptance and rejection, counted in square annuli.

    mpiexec -n 4 python apps/npb/ep.py --class S
    smpy run -np 16384 --platform "fat-tree hosts=1024 cores=16" apps/npb/ep.py --class B --sampled

2^M pairs of uniform numbers, in batches of 2^16 that are dealt out in blocks; at the end, sums over all ranks [1]_.
Batches take alike times, so that with --sampled, under smpy, few of them run, until their mean time is known; the sums
are then not those of the class. Any number of ranks will do; those beyond the number of batches draw nothing.

References
----------
.. [1] D. Bailey et al., "The NAS Parallel Benchmarks", NASA report RNR-94-007, 1994, section 2.2.1. The sums to verify
   with, and the classes W and larger, are those of NPB 3.4.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lcg import after, powers, uniform
from mpi4py import MPI
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1]))

from blocks import block
from command_line import Parser

SEED = 271_828_183
LOG2_PAIRS = 16  # of a batch
N_ANNULI = 10
TOLERANCE = 1e-8


class Class(NamedTuple):
    """A problem size: 2^m pairs, and the sums of their deviates."""

    m: int
    sum_x: float
    sum_y: float


CLASSES = {
    "S": Class(24, -3.247834652034740e3, -6.958407078382297e3),
    "W": Class(25, -2.863319731645753e3, -6.320053679109499e3),
    "A": Class(28, -4.295875165629892e3, -1.580732573678431e4),
    "B": Class(30, 4.033815542441498e4, -2.660669192809235e4),
    "C": Class(32, 4.764367927995374e4, -8.084072988043731e4),
    "D": Class(36, 1.982481200946593e5, -1.020596636361769e5),
}


class Tally:
    """What a rank has found: sums of deviates, pairs by annulus, and batches."""

    def __init__(self) -> None:
        self.sums = np.zeros(2)
        self.counts = np.zeros(N_ANNULI, np.int64)
        self.n_batches = np.zeros(1, np.int64)

    def add(self, batch: int) -> None:
        """Draw a batch."""
        n_numbers = 2 << LOG2_PAIRS
        x, y = 2.0 * uniform(after(SEED, batch * n_numbers), n_numbers).reshape(-1, 2).T - 1.0
        t = x * x + y * y
        is_inside = t <= 1.0
        t = t[is_inside]
        factor = np.sqrt(-2.0 * np.log(t) / t)
        x, y = x[is_inside] * factor, y[is_inside] * factor
        self.sums += x.sum(), y.sum()
        annulus = np.maximum(np.abs(x), np.abs(y)).astype(np.int64)
        self.counts += np.bincount(annulus, minlength=N_ANNULI)
        self.n_batches += 1

    def reduce(self, comm: MPI.Intracomm) -> None:
        """Add up those of all ranks."""
        for mine in (self.sums, self.counts, self.n_batches):
            comm.Allreduce(MPI.IN_PLACE, mine, op=MPI.SUM)


def batches_of(comm: MPI.Intracomm, n_batches: int, *, is_sampled: bool) -> Iterable[int]:
    """The rank's own; under smpy, a sampled run draws but some."""
    mine = block(n_batches, comm.size, comm.rank)
    if not is_sampled:
        return mine
    import smpy

    return smpy.sample("batch", mine, scope="world")


def verification(size: Class, tally: Tally, n_batches: int) -> str:
    """Whether the sums are those of the class."""
    n_run = int(tally.n_batches[0])
    if n_run < n_batches:
        return f"none, since {n_run} of {n_batches} batches were drawn"
    expected: NDArray[np.float64] = np.array([size.sum_x, size.sum_y])
    is_right = bool((np.abs((tally.sums - expected) / expected) <= TOLERANCE).all())
    return "successful" if is_right else "FAILED"


def main() -> None:
    """Draw, and let rank 0 say what was found."""
    parser = Parser(description="NAS EP: Gaussian deviates, embarrassingly parallel.")
    parser.add_argument(
        "--class", dest="name", choices=CLASSES, default="S", help="problem size (default: %(default)s)"
    )
    parser.add_argument("--sampled", action="store_true", help="under smpy, draw until the time of a batch is known")
    options = parser.parse_args()
    size = CLASSES[options.name]
    n_batches = 2 ** (size.m - LOG2_PAIRS)
    comm, tally = MPI.COMM_WORLD, Tally()
    powers(2 << LOG2_PAIRS)
    comm.Barrier()
    began_s = MPI.Wtime()
    for batch in batches_of(comm, n_batches, is_sampled=options.sampled):
        tally.add(batch)
    tally.reduce(comm)
    longest_s = comm.allreduce(MPI.Wtime() - began_s, op=MPI.MAX)
    if comm.rank == 0:
        print(f"ep: class {options.name}, 2^{size.m} pairs, {tally.counts.sum()} Gaussian pairs")
        print(f"sums: {tally.sums[0]:.15e} {tally.sums[1]:.15e}")
        print("counts:", *tally.counts)
        print(f"verification: {verification(size, tally, n_batches)}")
        print(f"time: {longest_s:.6f} s on {comm.size} ranks")


if __name__ == "__main__":
    main()
