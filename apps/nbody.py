"""Gravitation between all pairs of N bodies, on a ring of ranks.

    mpiexec -n 4 python apps/nbody.py
    smpy run -np 64 apps/nbody.py

Each rank holds a block of bodies. To find what pulls at them it must see all others: the blocks travel around the
ring, and while a rank computes with one block, the next is already on its way. After as many steps as there are
ranks every block has been everywhere. Bodies move by the leapfrog scheme, which keeps the energy within bounds; the
pull is softened, so that close bodies do not need short steps. Any number of ranks will do. Sums are taken in an order
that depends on it, so only those digits are printed that do not. Two blocks of k bodies need some 60 k^2 bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from blocks import block
from command_line import Parser
from mpi4py import MPI
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Options(NamedTuple):
    """The problem: how many bodies, from where, for how many steps of what time, and the softening length."""

    bodies: int
    steps: int
    dt: float
    softening: float
    seed: int


class Bodies(NamedTuple):
    """A block of bodies: positions and velocities have a row each body, masses an entry."""

    positions: Array
    velocities: Array
    masses: Array


class Totals(NamedTuple):
    """Total energy and centre of all bodies."""

    energy: float
    centre: Array


def make_bodies(mine: range, options: Options) -> Bodies:
    """These bodies, in a cube. The generator jumps to their numbers, which do not depend on who draws them."""
    bits = np.random.PCG64(options.seed)
    bits.advance(mine.start * 7)
    drawn = np.random.Generator(bits).random((len(mine), 7))
    return Bodies(2.0 * drawn[:, :3] - 1.0, drawn[:, 3:6] - 0.5, (0.5 + drawn[:, 6]) / options.bodies)


def pull(positions: Array, others: Array, softening: float) -> tuple[Array, Array]:
    """The acceleration and the potential of bodies from others, given as rows of x, y, z and mass.

    A body among the others does not accelerate itself, but adds to its own potential.
    """
    apart = others[None, :, :3] - positions[:, None, :]
    distance = np.sqrt(np.einsum("ijk,ijk->ij", apart, apart) + softening**2)
    potential = others[:, 3] / distance
    return np.einsum("ij,ijk->ik", potential / distance**2, apart), -potential.sum(axis=1)


def pull_of_all(comm: MPI.Intracomm, bodies: Bodies, options: Options) -> tuple[Array, Array]:
    """The acceleration and the potential of this rank's bodies from all bodies, whose blocks pass by."""
    following, preceding = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    acceleration = np.zeros_like(bodies.positions)
    potential = bodies.masses / options.softening  # amount that each body is about to add to its own
    here = np.column_stack([bodies.positions, bodies.masses])
    for step in range(1, comm.size + 1):
        requests = []
        coming = np.empty((len(block(options.bodies, comm.size, (comm.rank - step) % comm.size)), 4))
        if step < comm.size:
            requests = [comm.Irecv(coming, preceding), comm.Isend(here, following)]
        more_acceleration, more_potential = pull(bodies.positions, here, options.softening)
        acceleration += more_acceleration
        potential += more_potential
        MPI.Request.Waitall(requests)
        here = coming
    return acceleration, potential


def totals(comm: MPI.Intracomm, bodies: Bodies, potential: Array) -> Totals:
    """The energy and the centre of mass of all bodies."""
    squares = np.square(bodies.velocities).sum(axis=1)
    energy = 0.5 * bodies.masses @ (squares + potential)  # half the potential: each pair is met twice
    mine = np.array([energy, bodies.masses.sum(), *(bodies.masses @ bodies.positions)])
    overall = np.zeros(5)
    comm.Allreduce(mine, overall, op=MPI.SUM)
    return Totals(float(overall[0]), overall[2:] / overall[1])


def simulate(comm: MPI.Intracomm, bodies: Bodies, options: Options) -> tuple[Totals, Totals]:
    """Move the bodies, in place, by leapfrog steps: the totals at the start and at the end."""
    acceleration, potential = pull_of_all(comm, bodies, options)
    start = totals(comm, bodies, potential)
    for _ in range(options.steps):
        bodies.velocities[:] += 0.5 * options.dt * acceleration
        bodies.positions[:] += options.dt * bodies.velocities
        acceleration, potential = pull_of_all(comm, bodies, options)
        bodies.velocities[:] += 0.5 * options.dt * acceleration
    return start, totals(comm, bodies, potential)


def read_options() -> Options:
    """The command line."""
    parser = Parser(description="Gravitation between all pairs of bodies, on a ring of ranks.")
    parser.add_argument("--bodies", type=int, default=1024, help="how many (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="leapfrog steps (default: %(default)s)")
    parser.add_argument("--dt", type=float, default=0.01, help="the time of a step (default: %(default)s)")
    parser.add_argument("--softening", type=float, default=0.05, help="a length (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the bodies (default: %(default)s)")
    options = Options(**vars(parser.parse_args()))
    if min(options.bodies, options.steps) < 1:
        parser.error("--bodies and --steps are at least 1")
    if not (0.0 < options.dt < np.inf and 0.0 < options.softening < np.inf):
        parser.error("--dt and --softening are positive")
    if options.seed < 0:
        parser.error("--seed is not negative")
    return options


def main() -> None:
    """Simulate, and let rank 0 say what was conserved."""
    options = read_options()
    comm = MPI.COMM_WORLD
    bodies = make_bodies(block(options.bodies, comm.size, comm.rank), options)
    comm.Barrier()
    began_s = MPI.Wtime()
    start, end = simulate(comm, bodies, options)
    elapsed_s = MPI.Wtime() - began_s
    if comm.rank == 0:
        x, y, z = end.centre
        print(
            f"nbody: {options.bodies} bodies, {options.steps} steps, energy {start.energy:.9e} at the start and "
            f"{end.energy:.9e} at the end, centre of mass {x:.9f}, {y:.9f}, {z:.9f}"
        )
        print(f"time: {elapsed_s:.6f} s on {comm.size} ranks")


if __name__ == "__main__":
    main()
