"""The two-dimensional Fourier transform of an array that is distributed by rows.

    mpiexec -n 4 python apps/fft2d.py
    smpy run -np 64 apps/fft2d.py

A rank can transform along its rows by itself. To transform along columns, the ranks transpose the array: each sends a
block to every other, by Alltoall, or by Alltoallv when blocks differ in size. Then columns are rows. Another
transpose brings the array back to where it was. With --transpose-only just one transpose takes place.

The array has n x m complex numbers: noise, and a wave, which is a peak in the spectrum, in row 3 and column 5. It is
checked that the peak is there, and that the inverse transform gives the array back. The checksum is of the kind that
NPB's FT has: the sum of 1,024 entries of the spectrum, in rows j mod n and columns 3 j mod m. Any number of ranks will
do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from command_line import Parser
from modelled import kernel
from mpi4py import MPI
from numpy.typing import NDArray

Array = NDArray[np.complex128]

WAVE = (3, 5)
"""Turns of the wave down a column and along a row."""


class Options(NamedTuple):
    """The problem: rows and columns of the array, where its noise comes from, and whether it is only transposed."""

    n: int
    m: int
    seed: int
    transpose_only: bool


def block(n: int, n_blocks: int, index: int) -> slice:
    """The rows of one of `n_blocks` blocks of `n` rows, sizes differing by one at most."""
    return slice(index * n // n_blocks, (index + 1) * n // n_blocks)


def transpose(comm: MPI.Intracomm, rows: Array, n: int) -> Array:
    """This rank's rows of the transpose of an array of `n` rows, of which it is given its rows."""
    blocks = [rows[:, block(rows.shape[1], comm.size, rank)] for rank in range(comm.size)]
    outgoing = one_after_another(rows, blocks)
    n_columns = blocks[comm.rank].shape[1]
    incoming = np.empty((n, n_columns), dtype=rows.dtype)  # blocks of rows come in the order of rows
    if n % comm.size == 0 and rows.shape[1] % comm.size == 0:
        comm.Alltoall(outgoing, incoming)
    else:
        from_each = np.diff(np.arange(comm.size + 1) * n // comm.size) * n_columns
        comm.Alltoallv([outgoing, [part.size for part in blocks]], [incoming, from_each])
    return turned(incoming)


@kernel(bytes="64*rows.size", working_set_bytes="48*rows.size")
def one_after_another(rows: Array, blocks: list[Array]) -> Array:
    """Some blocks of columns, each as one piece; both copies count."""
    return np.concatenate([part.ravel() for part in blocks])


@kernel(bytes="32*rows.size", working_set_bytes="32*rows.size")
def turned(rows: Array) -> Array:
    """The transpose of what is here."""
    return np.ascontiguousarray(rows.T)


@kernel(name="zfft", flop="5*batch*n*log2(n)", bytes="32*batch*n", working_set_bytes="32*batch*n")
def along_rows(rows: Array, transform: Callable[[Array], Array], n: int, batch: int) -> Array:
    """Transforms along rows: `batch` of them, `n` numbers each."""
    return transform(rows)


def transform(comm: MPI.Intracomm, rows: Array, n: int, direction: Callable[[Array], Array]) -> Array:
    """This rank's rows of an array of `n` rows after a transform along its rows, then along its columns."""
    columns = transpose(comm, along_rows(rows, direction, rows.shape[1], rows.shape[0]), n)
    return transpose(comm, along_rows(columns, direction, n, columns.shape[0]), rows.shape[1])


def make_field(mine: slice, options: Options) -> Array:
    """These rows of the array. The generator jumps to their noise, so it does not depend on who draws it."""
    bits = np.random.PCG64(options.seed)
    bits.advance(mine.start * options.m * 2)  # two draws a complex number
    noise = np.random.Generator(bits).random((mine.stop - mine.start, options.m, 2)) - 0.5
    turns_down = np.arange(mine.start, mine.stop)[:, None] * WAVE[0] / options.n
    turns_right = np.arange(options.m)[None, :] * WAVE[1] / options.m
    wave: Array = np.exp(2j * np.pi * (turns_down + turns_right))
    return wave + noise[..., 0] + 1j * noise[..., 1]


def checksum(comm: MPI.Intracomm, mine: slice, rows: Array, n: int) -> complex:
    """The sum of 1,024 entries of an array of `n` rows, of which each rank adds those it has."""
    j = np.arange(1, 1025)
    j = j[(j % n >= mine.start) & (j % n < mine.stop)]
    overall = np.zeros(1, dtype=np.complex128)
    comm.Allreduce(np.array([rows[j % n - mine.start, 3 * j % rows.shape[1]].sum()]), overall, op=MPI.SUM)
    return complex(overall[0])


def largest(comm: MPI.Intracomm, mine: slice, rows: Array) -> tuple[float, int, int]:
    """The largest absolute value of an array, and its row and column."""
    values = np.abs(rows)
    if values.size:
        row, column = divmod(int(values.argmax()), values.shape[1])
        found = (float(values[row, column]), (mine.start + row) * values.shape[1] + column)
    else:
        found = (-1.0, 0)
    value, place = comm.allreduce(found, op=MPI.MAXLOC)
    return value, *divmod(place, rows.shape[1])


def run_transpose(comm: MPI.Intracomm, options: Options) -> tuple[str, float]:
    """Transpose an array whose entries say where they are: the result, and the time in seconds."""
    n, m = options.n, options.m
    all_rows, all_columns = np.arange(n, dtype=np.float64), np.arange(m, dtype=np.float64)
    field = all_rows[block(n, comm.size, comm.rank), None] + 1j * all_columns[None, :]
    comm.Barrier()
    began_s = MPI.Wtime()
    turned = transpose(comm, field, n)
    elapsed_s = MPI.Wtime() - began_s
    mine = block(m, comm.size, comm.rank)
    error, _, _ = largest(comm, mine, turned - (all_rows[None, :] + 1j * all_columns[mine, None]))
    return (
        f"transpose of {n} x {m}, checksum {checksum(comm, mine, turned, m):.8e}, largest error {error:.1e}",
        elapsed_s,
    )


def run_transform(comm: MPI.Intracomm, options: Options) -> tuple[str, float]:
    """Transform forth and back: the result, and the time in seconds."""
    n, m, mine = options.n, options.m, block(options.n, comm.size, comm.rank)
    field = make_field(mine, options)
    comm.Barrier()
    began_s = MPI.Wtime()
    spectrum = transform(comm, field, n, np.fft.fft)
    again = transform(comm, spectrum, n, np.fft.ifft)
    elapsed_s = MPI.Wtime() - began_s
    height, row, column = largest(comm, mine, spectrum)
    error, _, _ = largest(comm, mine, again - field)
    found = f"peak {height:.8e} at {row}, {column}, checksum {checksum(comm, mine, spectrum, n):.8e}"
    return f"transform of {n} x {m}, {found}, largest error {error:.1e}", elapsed_s


def read_options() -> Options:
    """The command line."""
    parser = Parser(description="The 2-D Fourier transform of an array distributed by rows.")
    parser.add_argument("--n", type=int, default=1024, help="rows (default: %(default)s)")
    parser.add_argument("--m", type=int, default=1024, help="columns (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the noise (default: %(default)s)")
    parser.add_argument("--transpose-only", action="store_true", help="no transform: one transpose, and its time")
    options = Options(**vars(parser.parse_args()))
    if options.n <= WAVE[0] or options.m <= WAVE[1]:
        parser.error(f"the wave needs --n above {WAVE[0]} and --m above {WAVE[1]}")
    if options.seed < 0:
        parser.error("--seed is not negative")
    return options


def main() -> None:
    """Run, and let rank 0 say how it went."""
    options = read_options()
    comm = MPI.COMM_WORLD
    result, elapsed_s = (run_transpose if options.transpose_only else run_transform)(comm, options)
    if comm.rank == 0:
        print(f"fft2d: {result}")
        print(f"time: {elapsed_s:.6f} s on {comm.size} ranks")


if __name__ == "__main__":
    main()
