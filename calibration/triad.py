"""y += x again and again, over working sets of several sizes: `python triad.py --bytes 1000000`, by `truth.py`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.append(str(Path(__file__).parent.parent / "apps"))

from modelled import kernel


@kernel(flop="len(x)*times", bytes="24*len(x)*times", working_set_bytes="16*len(x)")
def add_again_and_again(x: np.ndarray, y: np.ndarray, times: int) -> None:
    """Add x to y so many times."""
    for _ in range(times):
        np.add(y, x, out=y)


def main() -> None:
    parser = argparse.ArgumentParser(description="The time of y += x.")
    parser.add_argument("--bytes", type=int, required=True, help="of both arrays together")
    n = parser.parse_args().bytes // 16
    times = max(2 * 10**8 // n, 1)
    x, y = np.ones(n), np.ones(n)
    add_again_and_again(x, y, 1)
    MPI.COMM_WORLD.Barrier()
    began_s = MPI.Wtime()
    add_again_and_again(x, y, times)
    elapsed_s = MPI.Wtime() - began_s
    if MPI.COMM_WORLD.rank == 0:
        print(f"time: {elapsed_s:.6f} s")


if __name__ == "__main__":
    main()
