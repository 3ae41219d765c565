"""pipeline BYTES BLOCKS FLOP: blocks pass through all ranks, each of which works on them."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
n_bytes, blocks = map(int, sys.argv[1:3])
flop = float(sys.argv[3])
data = bytearray(n_bytes)
for block in range(blocks):
    if rank > 0:
        comm.Recv(data, rank - 1, block)
    smpy.execute(flop * (1 + (rank + block) % 2))
    if rank < n_ranks - 1:
        comm.Send(data, rank + 1, block)
