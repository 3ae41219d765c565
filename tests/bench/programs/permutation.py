"""permutation BYTES ROUNDS: every round each rank sends to its image under a scrambled permutation, memory folded.

The number of ranks is a power of two.
"""

import sys

import numpy as np
from mpi4py import MPI

import smpy


def fold(x):
    return x ^ x >> 5


def unfold(x):
    return x ^ x >> 5 ^ x >> 10 ^ x >> 15


comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
n_bytes, rounds = map(int, sys.argv[1:3])
mask = n_ranks - 1
out, into = smpy.folded(n_bytes, np.uint8), smpy.folded(n_bytes, np.uint8)
for i in range(rounds):
    factor, offset = (2 * i + 1) * 1597 | 1, i * 7919 + 3
    inverse = pow(factor, -1, n_ranks)
    dest = fold((fold(rank * factor & mask) + offset) * factor & mask)
    source = unfold((unfold(rank) * inverse - offset) & mask) * inverse & mask
    MPI.Request.Waitall([comm.Irecv(into, source, i), comm.Isend(out, dest, i)])
