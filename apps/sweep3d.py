"""Sweep3D's wavefronts: eight sweeps over a two-dimensional grid of ranks, and the formulas for their time beside.

    mpiexec -n 4 python apps/sweep3d.py
    smpy run -np 16 apps/sweep3d.py --blocks 20 --work 1e-3

A sweep starts in a corner of the grid. A rank receives the faces of a block from its two neighbours on that side,
computes the block and sends its faces to the other two. An octant of directions is a sweep of `--blocks` blocks; two
octants start in each corner, one after the other. A block's computing is a given time; what a face holds is the number
of its wave, one more than the largest that came in, so that the numbers of the last blocks say whether every message
came in its place.

Beside the time stand the recurrence of the messages' dates, and the plug-and-play model of Mudalige, Vernon and Jarvis
(2008), for a network that `--latency`, `--bandwidth` and `--overhead` describe. Any number of ranks will do.
"""

from __future__ import annotations

from itertools import product
from math import isqrt
from typing import NamedTuple

import numpy as np
from command_line import Parser
from modelled import spend_seconds
from mpi4py import MPI
from numpy.typing import NDArray

Face = NDArray[np.int64]
OCTANTS = ((-1, -1), (-1, -1), (-1, 1), (-1, 1), (1, -1), (1, -1), (1, 1), (1, 1))
"""Direction of each sweep among the rows and the columns of ranks."""


class Options(NamedTuple):
    """The sweeps, and the network of the formulas."""

    rows: int
    blocks: int
    work: float
    numbers: int
    latency: float
    bandwidth: float
    overhead: float
    envelope: int


class Costs(NamedTuple):
    """Seconds of a block's work, of a call on one side of a message, and of a message between the two calls."""

    work_s: float
    overhead_s: float
    message_s: float


class Grid:
    """Place of this rank, and the ranks around it."""

    def __init__(self, comm: MPI.Comm, n_rows: int) -> None:
        self.comm = comm
        self.n_rows, self.n_columns = n_rows, comm.size // n_rows
        self.row, self.column = divmod(comm.rank, self.n_columns)

    def rank_at(self, row: int, column: int) -> int:
        """Rank of a place, PROC_NULL beyond the edge."""
        is_inside = 0 <= row < self.n_rows and 0 <= column < self.n_columns
        return row * self.n_columns + column if is_inside else MPI.PROC_NULL


def sweep(grid: Grid, octant: tuple[int, int], n_blocks: int, work_s: float, n_numbers: int, wave: int) -> int:
    """Sweep in one direction; the number of this rank's last wave."""
    down, right = octant
    before = grid.rank_at(grid.row - down, grid.column), grid.rank_at(grid.row, grid.column - right)
    after = grid.rank_at(grid.row + down, grid.column), grid.rank_at(grid.row, grid.column + right)
    faces = np.zeros(n_numbers, np.int64), np.zeros(n_numbers, np.int64)
    for _ in range(n_blocks):
        for source, face in zip(before, faces, strict=True):
            grid.comm.Recv(face, source)
        wave = 1 + max(wave, int(faces[0][-1]), int(faces[1][-1]))
        spend_seconds(work_s)
        for target in after:
            grid.comm.Send(np.full(n_numbers, wave), target)
    return wave


def recurrence(n_rows: int, n_columns: int, n_blocks: int, costs: Costs) -> NDArray[np.float64]:
    """Dates at which the ranks are done, if messages do not hinder each other: (rows, columns)."""
    done = np.zeros((n_rows, n_columns)).tolist()
    for down, right in OCTANTS:
        rows, columns = range(n_rows)[::down], range(n_columns)[::right]
        from_above = [[0.0] * n_blocks for _ in range(n_columns)]
        for row in rows:
            from_left = [0.0] * n_blocks
            for column in columns:
                date_s = done[row][column]
                for block in range(n_blocks):
                    if row != rows[0]:
                        date_s = max(date_s, from_above[column][block]) + costs.overhead_s
                    if column != columns[0]:
                        date_s = max(date_s, from_left[block]) + costs.overhead_s
                    date_s += costs.work_s
                    if row != rows[-1]:
                        date_s += costs.overhead_s
                        from_above[column][block] = date_s + costs.message_s
                    if column != columns[-1]:
                        date_s += costs.overhead_s
                        from_left[block] = date_s + costs.message_s
                done[row][column] = date_s
    return np.array(done)


def plug_and_play_s(n_rows: int, n_columns: int, n_blocks: int, costs: Costs) -> float:
    """Time by the plug-and-play model: two half and two full diagonals fill, and eight stacks of blocks follow."""
    work_s, send_s = costs.work_s, costs.overhead_s
    message_s = 2 * costs.overhead_s + costs.message_s
    start_s = np.zeros((n_rows, n_columns))
    for row, column in product(range(n_rows), range(n_columns)):
        ways_s = [0.0]
        if row:
            ways_s.append(start_s[row - 1, column] + work_s + message_s + send_s * (column > 0))
        if column:
            ways_s.append(start_s[row, column - 1] + work_s + send_s * (row < n_rows - 1) + message_s)
        start_s[row, column] = max(ways_s)
    n_calls = min(n_rows - 1, 2) + min(n_columns - 1, 2)
    fill_s = 2 * start_s[0, -1] + 2 * start_s[-1, -1]
    return float(fill_s) + len(OCTANTS) * n_blocks * (work_s + n_calls * send_s)


def read_options(n_ranks: int) -> Options:
    """The command line."""
    parser = Parser(description="Eight sweeps over a grid of ranks.")
    parser.add_argument("--rows", type=int, default=0, help="rows of ranks (default: as square as can be)")
    parser.add_argument("--blocks", type=int, default=20, help="blocks of a sweep (default: %(default)s)")
    parser.add_argument("--work", type=float, default=1e-3, help="seconds of a block (default: %(default)s)")
    parser.add_argument("--numbers", type=int, default=125, help="numbers of 8 bytes in a face (default: %(default)s)")
    parser.add_argument("--latency", type=float, default=20e-6, help="seconds of a message (default: %(default)s)")
    parser.add_argument("--bandwidth", type=float, default=1e9, help="bytes a second (default: %(default)s)")
    parser.add_argument("--overhead", type=float, default=0.0, help="seconds of a call (default: %(default)s)")
    parser.add_argument("--envelope", type=int, default=0, help="bytes of a message's head (default: %(default)s)")
    options = Options(**vars(parser.parse_args()))
    rows = options.rows or next(d for d in range(isqrt(n_ranks), 0, -1) if n_ranks % d == 0)
    if options.rows < 0 or n_ranks % rows:
        parser.error(f"--rows divides the number of ranks, {n_ranks}")
    if min(options.blocks, options.numbers) < 1:
        parser.error("--blocks and --numbers are at least 1")
    if not 1e-6 <= options.work <= 3600:
        parser.error("--work is from 1e-6 to 3600")
    costs = options.latency, options.overhead, options.envelope
    if not (min(costs) >= 0 and options.bandwidth > 0):
        parser.error("--latency, --overhead and --envelope are not negative, and --bandwidth is above 0")
    return options._replace(rows=rows)


def report(grid: Grid, options: Options, elapsed_s: float, n_wrong: int) -> None:
    """Print the time and, beside it, the formulas."""
    n_bytes = 8 * options.numbers + options.envelope
    costs = Costs(options.work, options.overhead, options.latency + n_bytes / options.bandwidth)
    shape = grid.n_rows, grid.n_columns, options.blocks
    recurrence_s = recurrence(*shape, costs).max()
    print(f"sweep3d: {shape[0]} x {shape[1]} ranks, 8 sweeps of {options.blocks} blocks, {n_wrong} ranks wrong")
    print(f"time:          {elapsed_s:.11f} s")
    print(f"recurrence:    {recurrence_s:.11f} s")
    print(f"plug and play: {plug_and_play_s(*shape, costs):.11f} s")


def main() -> None:
    """Sweep, compare the waves with those of the recurrence, and let rank 0 print the time from the first start on."""
    comm = MPI.COMM_WORLD
    options = read_options(comm.size)
    grid = Grid(comm, options.rows)
    began_s, wave = MPI.Wtime(), 0
    for octant in OCTANTS:
        wave = sweep(grid, octant, options.blocks, options.work, options.numbers, wave)
    ended_s = MPI.Wtime()
    spans = np.array([-began_s, ended_s])
    latest, waves = np.empty_like(spans), np.empty(comm.size, np.int64)
    comm.Reduce(spans, latest, MPI.MAX)
    comm.Gather(np.array([wave]), waves)
    n_wrong = np.zeros(1, np.int64)
    if comm.rank == 0:
        expected = recurrence(grid.n_rows, grid.n_columns, options.blocks, Costs(1, 0, 0))
        n_wrong[0] = np.count_nonzero(waves != expected.ravel())
        report(grid, options, latest.sum(), n_wrong[0])
    comm.Bcast(n_wrong)
    if n_wrong[0]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
