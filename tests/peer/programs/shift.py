"""shift BYTES DISTANCE ROUNDS OPEN: Sendrecv along the ranks; open ends talk to nobody."""

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
n_bytes, distance, rounds, is_open = map(int, sys.argv[1:5])
dest, source = rank + distance, rank - distance
if is_open:
    dest = dest if dest < n_ranks else MPI.PROC_NULL
    source = source if source >= 0 else MPI.PROC_NULL
else:
    dest, source = dest % n_ranks, source % n_ranks
out, into = bytearray(n_bytes), bytearray(n_bytes)
for i in range(rounds):
    comm.Sendrecv(out, dest, i, into, source, i)
