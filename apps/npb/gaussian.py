"""Deviates that EP draws and counts, its classes and the sums to verify with (`ep.py` says where they are from).

Nothing here keeps anything of a rank in globals, so that all simulated ranks can share one copy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from lcg import after, uniform
from mpi4py import MPI
from numpy.typing import NDArray

__smpy_shared__ = True

SEED = 271_828_183
LOG2_PAIRS = 16  # pairs of a batch
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
    """Results of a rank: sums of deviates, pairs by annulus, and behind these its number of batches."""

    def __init__(self) -> None:
        self.sums = np.zeros(2)
        self._counts = np.zeros(N_ANNULI + 1, np.int64)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Pairs in each annulus."""
        return self._counts[:N_ANNULI]

    @property
    def n_batches(self) -> int:
        """Batches that were drawn."""
        return int(self._counts[N_ANNULI])

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
        self._counts[:N_ANNULI] += np.bincount(annulus, minlength=N_ANNULI)
        self._counts[N_ANNULI] += 1

    def reduce(self, comm: MPI.Intracomm) -> None:
        """Add up those of all ranks."""
        for mine in (self.sums, self._counts):
            comm.Allreduce(MPI.IN_PLACE, mine, op=MPI.SUM)


def verification(size: Class, tally: Tally, n_batches: int) -> str:
    """Whether the sums are those of the class."""
    if tally.n_batches < n_batches:
        return f"none, since {tally.n_batches} of {n_batches} batches were drawn"
    expected: NDArray[np.float64] = np.array([size.sum_x, size.sum_y])
    is_right = bool((np.abs((tally.sums - expected) / expected) <= TOLERANCE).all())
    return "successful" if is_right else "FAILED"
