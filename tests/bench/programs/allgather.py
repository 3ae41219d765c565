"""allgather ITERATIONS: one number of every rank, asserted."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n_ranks = comm.Get_size()
mine, all_ranks = np.array([float(comm.Get_rank())]), np.zeros(n_ranks)
for _ in range(int(sys.argv[1])):
    comm.Allgather(mine, all_ranks)
    assert all_ranks[-1] == n_ranks - 1
