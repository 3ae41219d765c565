"""allreduce ITERATIONS: one number summed over all ranks, asserted."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n_ranks = comm.Get_size()
mine, total = np.array([float(comm.Get_rank())]), np.zeros(1)
for _ in range(int(sys.argv[1])):
    comm.Allreduce(mine, total)
    assert total[0] == 0.5 * n_ranks * (n_ranks - 1)
