"""alltoall ITERATIONS DOUBLES: every rank sends every rank its own number, asserted."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n_ranks, width = comm.Get_size(), int(sys.argv[2])
mine, all_ranks = np.full((n_ranks, width), float(comm.Get_rank())), np.zeros((n_ranks, width))
for _ in range(int(sys.argv[1])):
    comm.Alltoall(mine, all_ranks)
    assert all_ranks[0, 0] == 0
    assert all_ranks[-1, -1] == n_ranks - 1
