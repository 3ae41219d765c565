"""late_receivers BYTES FLOP STEP ROUNDS: pairs of ranks; each receiver computes, by STEP longer for each rank before
it, and only then receives a synchronous send."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
n_bytes, rounds = int(sys.argv[1]), int(sys.argv[4])
flop, step = float(sys.argv[2]), float(sys.argv[3])
data = bytearray(n_bytes)
for i in range(rounds):
    if rank % 2 == 0:
        comm.Ssend(data, rank + 1, i)
    else:
        smpy.execute(flop + step * rank)
        comm.Recv(data, rank - 1, i)
