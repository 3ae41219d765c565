"""The grid of processes: who stands where, and the two ways messages go."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from mpi4py import MPI

COLLECTIVE_TAG = 9001


def power_of_two(n: int) -> int:
    """The largest power of two that is not above `n`."""
    return 1 << (n.bit_length() - 1)


class Grid:
    """P x Q processes with a communicator a row and a communicator a column.

    Parameters
    ----------
    comm : MPI.Intracomm
        All ranks; the first P x Q take part.
    n_rows, n_columns : int
        P and Q.
    pmap : str
        "row" when consecutive ranks fill a row.

    Attributes
    ----------
    is_inside : bool
        Whether this rank takes part; nothing else is there when it does not.
    """

    def __init__(self, comm: MPI.Intracomm, n_rows: int, n_columns: int, pmap: str) -> None:
        rank = comm.rank
        self.n_rows, self.n_columns = n_rows, n_columns
        self.is_inside = rank < n_rows * n_columns
        self.all = comm.Split(0 if self.is_inside else MPI.UNDEFINED, rank)
        if not self.is_inside:
            return
        if pmap == "row":
            self.row, self.column = divmod(rank, n_columns)
        else:
            self.column, self.row = divmod(rank, n_rows)
        self.along_row = self.all.Split(self.row, self.column)
        self.along_column = self.all.Split(self.column, self.row)

    def free(self) -> None:
        """Give the communicators back."""
        if self.is_inside:
            self.along_row.Free()
            self.along_column.Free()
            self.all.Free()


def tree(place: int, size: int) -> Iterator[tuple[bool, int]]:
    """A binomial tree down from place 0: step by step, whether this place receives, and from or to which other."""
    step = power_of_two(size - 1) if size > 1 else 0
    while step:
        if place % step == 0:
            other = place ^ step
            if place & step or other < size:
                yield bool(place & step), other
        step //= 2


def agree(comm: MPI.Comm, values: np.ndarray) -> None:
    """The largest of all ranks' values, in place: HPL's own reduction along a binomial tree, and the way back."""
    others, step = np.empty_like(values), 1
    while step < comm.size:
        partner = comm.rank ^ step
        if comm.rank & step:
            comm.Send(values, partner, COLLECTIVE_TAG)
            break
        if partner < comm.size:
            comm.Recv(others, partner, COLLECTIVE_TAG)
            np.maximum(values, others, out=values)
        step *= 2
    tell(comm, values)


def tell(comm: MPI.Comm, values: np.ndarray) -> None:
    """Broadcast rank 0's values along a binomial tree."""
    for receives, other in tree(comm.rank, comm.size):
        if receives:
            comm.Recv(values, other, COLLECTIVE_TAG)
        else:
            comm.Send(values, other, COLLECTIVE_TAG)
