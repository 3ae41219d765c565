"""alltoallv CALL ITERATIONS: every rank sends every rank one double, asserted; CALL: alltoall or alltoallv."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n_ranks = comm.Get_size()
mine, all_ranks = np.full(n_ranks, float(comm.Get_rank())), np.zeros(n_ranks)
counts, displacements = [1] * n_ranks, list(range(n_ranks))
for _ in range(int(sys.argv[2])):
    if sys.argv[1] == "alltoall":
        comm.Alltoall(mine, all_ranks)
    else:
        comm.Alltoallv([mine, counts, displacements, MPI.DOUBLE], [all_ranks, counts, displacements, MPI.DOUBLE])
    assert all_ranks[0] == 0
    assert all_ranks[-1] == n_ranks - 1
