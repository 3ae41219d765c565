"""layouts FORM ITERATIONS: rings of 64 doubles, the form of their layout or call being what is compared.

FORM: contiguous, vector, subarray (Send and Recv on two ranks), exchange, replace (Sendrecv, Sendrecv_replace).
"""

import sys

import numpy as np
from mpi4py import MPI

N = 64
comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
right, left = (rank + 1) % n_ranks, (rank - 1) % n_ranks
grid, into = np.full((N, N), float(rank)), np.zeros((N, N))
forms = {
    "contiguous": MPI.DOUBLE.Create_contiguous(N),
    "vector": MPI.DOUBLE.Create_vector(N, 1, N),
    "subarray": MPI.DOUBLE.Create_subarray([N, N], [8, 8], [4, 4]),
}


def ring(datatype, iterations):
    datatype.Commit()
    for _ in range(iterations):
        if rank % 2:
            comm.Recv([into, 1, datatype], left)
            comm.Send([grid, 1, datatype], right)
        else:
            comm.Send([grid, 1, datatype], right)
            comm.Recv([into, 1, datatype], left)
    assert into.sum() == N * left


def exchange(iterations):
    row, theirs = grid[0], into[0]
    for _ in range(iterations):
        comm.Sendrecv(row, right, recvbuf=theirs, source=left)
    assert theirs[0] == left


def replace(iterations):
    row = grid[0]
    for _ in range(iterations):
        comm.Sendrecv_replace(row, right, source=left)
    assert row[0] == (rank - iterations) % n_ranks


form, iterations = sys.argv[1], int(sys.argv[2])
if form in forms:
    ring(forms[form], iterations)
else:
    {"exchange": exchange, "replace": replace}[form](iterations)
