"""EP of the NAS Parallel Benchmarks: Gaussian deviates by acceptance and rejection, counted in square annuli.

    mpiexec -n 4 python apps/npb/ep.py --class S
    smpy run -np 16384 --platform "fat-tree hosts=1024 cores=16" apps/npb/ep.py --class B --sampled

2^M pairs of uniform numbers, in batches of 2^16 that are dealt out in blocks; at the end, sums over all ranks [1]_.
Batches take alike times, so that with --sampled, under smpy, few of them run, until their mean time is known; the sums
are then not those of the class. Any number of ranks will do; those beyond the number of batches draw nothing.

References
----------
.. [1] D. Bailey et al., "The NAS Parallel Benchmarks", NASA report RNR-94-007, 1994, section 2.2.1. The sums to verify
   with are those of the source of NPB 3.3, `ep.f`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from gaussian import CLASSES, LOG2_PAIRS, Tally, verification
from lcg import powers
from mpi4py import MPI

sys.path.append(str(Path(__file__).resolve().parents[1]))

from blocks import block
from command_line import Parser


def batches_of(comm: MPI.Intracomm, n_batches: int, *, is_sampled: bool) -> Iterable[int]:
    """The rank's own; under smpy, a sampled run draws but some."""
    mine = block(n_batches, comm.size, comm.rank)
    if not is_sampled:
        return mine
    import smpy

    return smpy.sample("batch", mine, scope="world")


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
    elapsed_s = np.array([MPI.Wtime() - began_s])
    comm.Allreduce(MPI.IN_PLACE, elapsed_s, op=MPI.MAX)
    if comm.rank == 0:
        print(f"ep: class {options.name}, 2^{size.m} pairs, {tally.counts.sum()} Gaussian pairs")
        print(f"sums: {tally.sums[0]:.15e} {tally.sums[1]:.15e}")
        print("counts:", *tally.counts)
        print(f"verification: {verification(size, tally, n_batches)}")
        print(f"time: {elapsed_s[0]:.6f} s on {comm.size} ranks")


if __name__ == "__main__":
    main()
