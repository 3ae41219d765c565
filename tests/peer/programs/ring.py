"""ring BYTES ROUNDS FLOP: each rank passes a message to its right neighbour and computes."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
n_bytes, rounds = map(int, sys.argv[1:3])
flop = float(sys.argv[3])
right, left = (rank + 1) % n_ranks, (rank - 1) % n_ranks
out, into = bytearray(n_bytes), bytearray(n_bytes)
for i in range(rounds):
    request = comm.Isend(out, right, i)
    comm.Recv(into, left, i)
    request.Wait()
    smpy.execute(flop * (1 + (rank + i) % 3))
