"""The heat equation on a square, by explicit steps, on a two-dimensional grid of ranks.

    mpiexec -n 4 python heat.py --n 1200 --steps 60
    mpiexec -n 4 python heat.py --n 320 --steps 1200

Points on the edge stay cold. The start is a sine wave each way, which keeps its shape and shrinks by the same factor in
every step: so each point's value is known. A halo of one point is exchanged by Sendrecv; columns of it are a vector
type.
"""

from __future__ import annotations

import argparse
from math import pi, sin

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from stopwatch import Stopwatch

Field = NDArray[np.float64]
RATIO = 0.2
"""Diffusivity times time step over the square of the distance between points: stable up to 0.25."""


def start(n: int, rows: range, columns: range) -> Field:
    """The wave on a block of points, with a halo of zeros."""
    u = np.zeros((len(rows) + 2, len(columns) + 2))
    step = pi / (n + 1)
    u[1:-1, 1:-1] = np.sin(step * (np.array(rows) + 1))[:, None] * np.sin(step * (np.array(columns) + 1))
    return u


def exchange_halo(cart: MPI.Cartcomm, u: Field, column: MPI.Datatype) -> None:
    """Fill the halo with border points of the four blocks around this one."""
    north, south = cart.Shift(0, 1)
    west, east = cart.Shift(1, 1)
    cart.Sendrecv(u[-2, 1:-1], south, recvbuf=u[0, 1:-1], source=north)
    cart.Sendrecv(u[1, 1:-1], north, recvbuf=u[-1, 1:-1], source=south)
    flat, width = u.reshape(-1), u.shape[1]
    first, last = flat[width:], flat[2 * width - 1 :]  # the halo's columns, from their second row on
    inner_first, inner_last = flat[width + 1 :], flat[2 * width - 2 :]
    cart.Sendrecv([inner_last, 1, column], east, recvbuf=[first, 1, column], source=west)
    cart.Sendrecv([inner_first, 1, column], west, recvbuf=[last, 1, column], source=east)


def take_step(u: Field, new: Field) -> None:
    """Let heat flow between neighbours for one time step."""
    inner = u[1:-1, 1:-1]
    new[1:-1, 1:-1] = inner + RATIO * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner)


def main() -> None:
    """Take all steps, and compare with the shrunken wave."""
    parser = argparse.ArgumentParser(description="The heat equation on a 2-D grid of ranks.")
    parser.add_argument("--n", type=int, default=1200, help="points a side (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=60, help="time steps (default: %(default)s)")
    options = parser.parse_args()
    n, comm = options.n, MPI.COMM_WORLD
    cart = comm.Create_cart(MPI.Compute_dims(comm.size, 2)[::-1])  # two ranks are neighbours in a row
    row, column = cart.coords
    n_rows, n_columns = cart.dims
    rows = range(row * n // n_rows, (row + 1) * n // n_rows)
    columns = range(column * n // n_columns, (column + 1) * n // n_columns)
    u = start(n, rows, columns)
    new = np.zeros_like(u)
    column_type = MPI.DOUBLE.Create_vector(len(rows), 1, len(columns) + 2).Commit()

    watch = Stopwatch(comm)
    for _ in range(options.steps):
        with watch.phase("Sendrecv"):
            exchange_halo(cart, u, column_type)
        with watch.phase("computing"):
            take_step(u, new)
            u, new = new, u
    watch.stop()

    column_type.Free()
    cart.Free()
    factor = (1.0 - 8.0 * RATIO * sin(pi / (2 * (n + 1))) ** 2) ** options.steps
    off = np.abs(u - factor * start(n, rows, columns))[1:-1, 1:-1].max(initial=0.0)
    error = comm.allreduce(off, op=MPI.MAX)
    if error > 1e-12:
        raise SystemExit(f"heat: a point is off by {error:.1e}")
    if comm.rank == 0:
        print(f"heat: {n} x {n} points, {options.steps} steps, all as they should be")


if __name__ == "__main__":
    main()
