"""The two-dimensional Fourier transform of an array that is distributed by rows.

    mpiexec -n 4 python apps/fft2d.py
    smpy run -np 64 apps/fft2d.py

A rank can transform along its rows by itself. To transform along columns, the ranks transpose the array: each sends a
block to every other, by Alltoall, or by Alltoallv when blocks differ in size. Then columns are rows. Another
transpose brings the array back to where it was. With --transpose-only just one transpose takes place.

The array has n x m complex numbers: one wave, which is a peak in the spectrum, and noise. It is checked that the peak
is where it belongs, and that the inverse transform gives the array back. The checksum is of the kind that NPB's FT
has: the sum of 1,024 entries of the spectrum, of row j mod n and column 3 j mod m. Any number of ranks will do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

Array = NDArray[np.complex128]


class Options(NamedTuple):
    """The problem: rows and columns of the array, its wave, its noise, and whether it is only transposed."""

    n: int
    m: int
    wave: tuple[int, int]
    seed: int
    transpose_only: bool


def block(n: int, n_blocks: int, index: int) -> range:
    """The rows of one of `n_blocks` blocks of `n` rows, sizes differing by one at most."""
    return range(index * n // n_blocks, (index + 1) * n // n_blocks)


def block_sizes(n: int, n_blocks: int) -> NDArray[np.int64]:
    """How many rows each block has."""
    return np.diff(np.arange(n_blocks + 1) * n // n_blocks)


def transpose(comm: MPI.Intracomm, rows: Array, n: int) -> Array:
    """This rank's rows of the transpose of an array of `n` rows, of which it is given its rows."""
    m = rows.shape[1]
    n_rows, n_columns = block_sizes(n, comm.size), block_sizes(m, comm.size)
    outgoing = np.ascontiguousarray(rows.T)  # what goes to one rank, its columns, is now contiguous
    incoming = np.empty((n_columns[comm.rank] * n,), dtype=rows.dtype)
    if n % comm.size == 0 and m % comm.size == 0:
        comm.Alltoall(outgoing, incoming)
    else:
        to_each, from_each = len(rows) * n_columns, n_rows * n_columns[comm.rank]
        comm.Alltoallv([outgoing, to_each], [incoming, from_each])
    return beside_each_other(incoming, n_rows, int(n_columns[comm.rank]))


def beside_each_other(blocks: Array, widths: NDArray[np.int64], height: int) -> Array:
    """One array of blocks that lie behind each other in memory, all of one height."""
    whole = np.empty((height, widths.sum()), dtype=blocks.dtype)
    if widths.min() == widths.max():
        whole.reshape(height, len(widths), -1)[:] = blocks.reshape(len(widths), height, -1).transpose(1, 0, 2)
        return whole
    ends = np.cumsum(widths)
    for width, end in zip(widths, ends, strict=True):
        whole[:, end - width : end] = blocks[(end - width) * height : end * height].reshape(height, width)
    return whole


def transform(comm: MPI.Intracomm, rows: Array, n: int, along_rows: Callable[[Array], Array]) -> Array:
    """This rank's rows of an array of `n` rows after a transform along its rows, then along its columns."""
    columns = transpose(comm, along_rows(rows), n)
    return transpose(comm, along_rows(columns), rows.shape[1])


def make_field(mine: range, options: Options) -> Array:
    """These rows of the array. The generator jumps to their noise: numbers do not depend on who draws them."""
    bits = np.random.PCG64(options.seed)
    bits.advance(mine.start * options.m * 2)  # a complex number is two numbers drawn
    noise = np.random.Generator(bits).random((len(mine), options.m, 2)) - 0.5
    turns_down = np.array(mine)[:, None] * options.wave[0] % options.n / options.n
    turns_right = np.arange(options.m)[None, :] * options.wave[1] % options.m / options.m
    return np.exp(2j * np.pi * (turns_down + turns_right)) + noise[..., 0] + 1j * noise[..., 1]


def checksum(comm: MPI.Intracomm, mine: range, rows: Array, n: int) -> complex:
    """The sum of 1,024 entries of the whole array, of which each rank adds those it has."""
    j = np.arange(1, 1025)
    j = j[(j % n >= mine.start) & (j % n < mine.stop)]
    overall = np.zeros(1, dtype=np.complex128)
    comm.Allreduce(np.array([rows[j % n - mine.start, 3 * j % rows.shape[1]].sum()]), overall, op=MPI.SUM)
    return complex(overall[0])


def largest(comm: MPI.Intracomm, values: NDArray[np.float64]) -> float:
    """The maximum over all ranks' values, none of them negative."""
    overall = np.zeros(1)
    comm.Allreduce(np.array([values.max(initial=0.0)]), overall, op=MPI.MAX)
    return float(overall[0])


def peak(comm: MPI.Intracomm, mine: range, rows: Array) -> tuple[float, tuple[int, int]]:
    """How high the highest entry of the whole array is, and its row and column."""
    sizes = np.abs(rows)
    here = int(sizes.argmax()) if sizes.size else 0
    height = float(sizes.flat[here]) if sizes.size else -1.0
    height, place = comm.allreduce((height, mine.start * rows.shape[1] + here), op=MPI.MAXLOC)
    return height, divmod(place, rows.shape[1])


def run_transpose(comm: MPI.Intracomm, options: Options) -> tuple[str, float]:
    """Transpose an array whose entries say where they are: the result and the time in seconds."""
    n, m = options.n, options.m
    rows = np.array(block(n, comm.size, comm.rank))[:, None] + 1j * np.arange(m)[None, :]
    comm.Barrier()
    began_s = MPI.Wtime()
    turned = transpose(comm, rows, n)
    elapsed_s = MPI.Wtime() - began_s
    mine = block(m, comm.size, comm.rank)
    error = largest(comm, np.abs(turned - np.arange(n)[None, :] - 1j * np.array(mine)[:, None]))
    total = checksum(comm, mine, turned, m)
    return f"transpose of {n} x {m}, checksum {total:.9e}, largest error {error:.1e}", elapsed_s


def run_transform(comm: MPI.Intracomm, options: Options) -> tuple[str, float]:
    """Transform forth and back: the result and the time in seconds."""
    n, m, mine = options.n, options.m, block(options.n, comm.size, comm.rank)
    field = make_field(mine, options)
    comm.Barrier()
    began_s = MPI.Wtime()
    spectrum = transform(comm, field, n, np.fft.fft)
    again = transform(comm, spectrum, n, np.fft.ifft)
    elapsed_s = MPI.Wtime() - began_s
    total = checksum(comm, mine, spectrum, n)
    height, place = peak(comm, mine, spectrum)
    error = largest(comm, np.abs(again - field))
    found = f"peak {height:.9e} at {place[0]}, {place[1]}, checksum {total:.9e}, largest error {error:.1e}"
    return f"transform of {n} x {m}, {found}", elapsed_s
