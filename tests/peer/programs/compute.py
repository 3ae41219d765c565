"""compute SEED FLOP ROUNDS BYTES: drawn amounts of work and idling on shared cores, a message to the right between."""

import sys
import time

from draw import Draw
from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
flop, rounds, n_bytes = float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
drawn = Draw(int(sys.argv[1]) + rank)
out, into = bytearray(n_bytes), bytearray(n_bytes)
for i in range(rounds):
    if drawn.below(3) == 0:
        time.sleep((1 + drawn.below(1000)) / 1e6)
    smpy.execute(flop * (1 + drawn.below(100)))
    request = comm.Isend(out, (rank + 1) % n_ranks, i)
    smpy.execute(flop * (1 + drawn.below(100)))
    comm.Recv(into, (rank - 1) % n_ranks, i)
    request.Wait()
