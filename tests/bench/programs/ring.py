"""ring DOUBLES ITERATIONS DATA: Isend to the right, Recv from the left, Wait.

DATA: every (each number asserted), sample (one in each 32 KiB), none (folded memory).
"""

import sys

import numpy as np
from mpi4py import MPI

import smpy


def every(n, iterations):
    out = [np.full(n, rank + 0.5 * turn) for turn in range(2)]
    wanted = [np.full(n, left + 0.5 * turn).tobytes() for turn in range(2)]
    into = np.empty(n)
    for i in range(iterations):
        request = comm.Isend(out[i % 2], right)
        comm.Recv(into, left)
        assert into.tobytes() == wanted[i % 2]
        request.Wait()


def sample(n, iterations):
    out, into = [np.zeros(n), np.zeros(n)], np.zeros(n)
    for i in range(iterations):
        out[i % 2][::4096] = rank + i
        request = comm.Isend(out[i % 2], right)
        comm.Recv(into, left)
        assert (into[::4096] == left + i).all()
        request.Wait()


def none(n, iterations):
    out, into = smpy.folded(n, np.float64), smpy.folded(n, np.float64)
    for _ in range(iterations):
        request = comm.Isend(out, right)
        comm.Recv(into, left)
        request.Wait()


comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
right, left = (rank + 1) % n_ranks, (rank - 1) % n_ranks
{"every": every, "sample": sample, "none": none}[sys.argv[3]](int(sys.argv[1]), int(sys.argv[2]))
