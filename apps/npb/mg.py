"""MG of the NAS Parallel Benchmarks: Poisson's equation on a periodic cube, by V-cycles of multigrid [1]_.

    mpiexec -n 4 python apps/npb/mg.py --class S
    smpy run -np 16 --compute models apps/npb/mg.py --class W

Ranks, a power of two of them, hold slabs of planes with a halo of one plane. Grids with a plane a rank or fewer are
held by all ranks, who gather the first of them. The loop of V-cycles is marked, for `--iterations skip`.

References
----------
.. [1] D. Bailey et al., "The NAS Parallel Benchmarks", NASA report RNR-94-007, 1994, section 2.2.2.
"""

from __future__ import annotations

import sys
from math import sqrt
from pathlib import Path

import numpy as np
from charges import CLASSES, charges
from mpi4py import MPI
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1]))

from command_line import Parser
from marked import iterations
from modelled import kernel

Grid = NDArray[np.float64]
Weights = tuple[float, float, float, float]
"""Weights of a point, its 6 neighbours, the 12 behind an edge, and the 8 behind a corner."""

OPERATOR: Weights = (-8 / 3, 0.0, 1 / 6, 1 / 12)
SMOOTHER: Weights = (-3 / 8, 1 / 32, -1 / 64, 0.0)
RESTRICTION: Weights = (1 / 2, 1 / 4, 1 / 8, 1 / 16)
TOLERANCE = 1e-8


@kernel(flop="30*planes.size", bytes="100*planes.size", working_set_bytes="32*planes.size")
def weighted(planes: Grid, weights: Weights) -> Grid:
    """Weighted sums over the 27 points around each point of the inner planes."""
    faces = np.roll(planes, 1, 1) + np.roll(planes, -1, 1) + np.roll(planes, 1, 2) + np.roll(planes, -1, 2)
    pair = np.roll(planes, 1, 1) + np.roll(planes, -1, 1)
    corners = np.roll(pair, 1, 2) + np.roll(pair, -1, 2)
    sums: Grid = (
        weights[0] * planes[1:-1]
        + weights[1] * (faces[1:-1] + planes[:-2] + planes[2:])
        + weights[2] * (corners[1:-1] + faces[:-2] + faces[2:])
        + weights[3] * (corners[:-2] + corners[2:])
    )
    return sums


@kernel(flop="12*coarse.size", bytes="80*coarse.size", working_set_bytes="72*coarse.size")
def interpolated(coarse: Grid) -> Grid:
    """The finer grid, in whose planes 1, 3, ... the coarse points lie; the first coarse plane is the halo below."""
    for axis in (2, 1):
        coarse = _doubled(coarse, 0.5 * (coarse + np.roll(coarse, 1, axis)), axis)
    return _doubled(coarse[1:], 0.5 * (coarse[:-1] + coarse[1:]), 0)


def _doubled(points: Grid, between: Grid, axis: int) -> Grid:
    """Points, each behind the one between it and the point before."""
    shape = list(points.shape)
    shape[axis] *= 2
    return np.stack([between, points], axis=axis + 1).reshape(shape)


class Slabs:
    """Planes of a grid by rank; a small grid is held by each.

    Parameters
    ----------
    comm : MPI.Intracomm
        The ranks.
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.comm = comm
        self.below, self.above = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size

    def is_shared(self, n: int) -> bool:
        """Whether ranks have slabs of a grid of n planes."""
        return self.comm.size > 1 and n > self.comm.size

    def with_halo(self, grid: Grid) -> Grid:
        """The planes, between those of the ranks around, or the grid's own last and first."""
        wide = np.empty((len(grid) + 2, *grid.shape[1:]))
        wide[1:-1] = grid
        if self.is_shared(grid.shape[1]):
            self.comm.Sendrecv(wide[-2], self.above, recvbuf=wide[0], source=self.below)
            self.comm.Sendrecv(wide[1], self.below, recvbuf=wide[-1], source=self.above)
        else:
            wide[0], wide[-1] = grid[-1], grid[0]
        return wide

    def residual(self, u: Grid, right: Grid) -> Grid:
        """Right side less the operator of a solution."""
        rest: Grid = right - weighted(self.with_halo(u), OPERATOR)
        return rest

    def smooth(self, residual: Grid) -> Grid:
        """Approximate solution for a residual."""
        return weighted(self.with_halo(residual), SMOOTHER)

    def coarser(self, residual: Grid) -> Grid:
        """The residual on the coarser grid."""
        coarse = weighted(self.with_halo(residual), RESTRICTION)[1::2, 1::2, 1::2]
        if not self.is_shared(residual.shape[1]) or self.is_shared(coarse.shape[1]):
            return coarse
        whole = np.empty((coarse.shape[1], *coarse.shape[1:]))
        self.comm.Allgather(np.ascontiguousarray(coarse), whole)
        return whole

    def finer(self, u: Grid) -> Grid:
        """A correction on the finer grid."""
        wide, n = self.with_halo(u)[:-1], 2 * u.shape[1]
        if self.is_shared(n) and not self.is_shared(u.shape[1]):
            n_mine = u.shape[1] // self.comm.size
            wide = wide[self.comm.rank * n_mine : (self.comm.rank + 1) * n_mine + 1]
        return interpolated(wide)

    def cycle(self, residual: Grid) -> Grid:
        """Correction that a V-cycle finds for a residual, down to the grid of 2 x 2 x 2 points."""
        if residual.shape[1] == 2:
            return self.smooth(residual)
        u = self.finer(self.cycle(self.coarser(residual)))
        return u + self.smooth(self.residual(u, residual))

    def norm(self, grid: Grid) -> float:
        """Root mean square over all points."""
        total = np.array([float((grid * grid).sum())])
        self.comm.Allreduce(MPI.IN_PLACE, total, op=MPI.SUM)
        return sqrt(total[0] / grid.shape[1] ** 3)


def solve(slabs: Slabs, n: int, n_iterations: int) -> float:
    """Norm of the residual after some V-cycles."""
    n_planes = n // slabs.comm.size
    right = np.zeros((n_planes, n, n))
    for number, (z, y, x) in enumerate(charges(n).tolist()):
        if z // n_planes == slabs.comm.rank:
            right[z % n_planes, y, x] = 1.0 if number < len(charges(n)) // 2 else -1.0
    u = np.zeros_like(right)
    residual = slabs.residual(u, right)
    for _ in iterations("V-cycles", range(n_iterations), comm=slabs.comm):
        correction = u + slabs.finer(slabs.cycle(slabs.coarser(residual)))
        u = correction + slabs.smooth(slabs.residual(correction, right))
        residual = slabs.residual(u, right)
    return slabs.norm(residual)


def main() -> None:
    """Solve, and let rank 0 say what is left."""
    parser = Parser(description="NAS MG: Poisson's equation by multigrid.")
    parser.add_argument(
        "--class", dest="name", choices=CLASSES, default="S", help="problem size (default: %(default)s)"
    )
    name = parser.parse_args().name
    size, comm = CLASSES[name], MPI.COMM_WORLD
    if comm.size & (comm.size - 1) or comm.size > size.n // 2:
        parser.error(f"{comm.size} ranks: give a power of two, {size.n // 2} at most")
    charges(size.n)
    comm.Barrier()
    began_s = MPI.Wtime()
    norm = solve(Slabs(comm), size.n, size.n_iterations)
    elapsed_s = np.array([MPI.Wtime() - began_s])
    comm.Allreduce(MPI.IN_PLACE, elapsed_s, op=MPI.MAX)
    if comm.rank == 0:
        verdict = "successful" if abs(norm - size.norm) <= TOLERANCE * size.norm else "unsuccessful"
        print(f"mg: class {name}, {size.n}^3 points, {size.n_iterations} iterations")
        print(f"norm of the residual: {norm:.13e}")
        print(f"verification: {verdict}")
        print(f"time: {elapsed_s[0]:.6f} s on {comm.size} ranks")


if __name__ == "__main__":
    main()
