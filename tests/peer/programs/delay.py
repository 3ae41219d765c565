"""delay SEED SECONDS ROUNDS: drawn seconds of computing that are told, some below the threshold, on shared cores; a
message between."""

import sys

from draw import Draw
from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
seconds, rounds = float(sys.argv[2]), int(sys.argv[3])
drawn = Draw(int(sys.argv[1]) + rank)
out, into = bytearray(100), bytearray(100)
for i in range(rounds):
    smpy.inject_seconds(seconds * (1 + drawn.below(100)))
    comm.Sendrecv(out, (rank + 1) % n_ranks, i, into, (rank - 1) % n_ranks, i)
