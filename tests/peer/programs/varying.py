"""varying OPERATION BYTES ROOT ROUNDS FLOP: collectives on blocks of different sizes, rounds in a row."""

import sys
from itertools import accumulate

from mpi4py import MPI
from sizes import own_size, pair_size

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
operation = sys.argv[1]
n_bytes, root, rounds = map(int, sys.argv[2:5])
own = [own_size(n_bytes, i) for i in range(n_ranks)]
to = [pair_size(n_bytes, rank, i) for i in range(n_ranks)]
source = [pair_size(n_bytes, i, rank) for i in range(n_ranks)]
to_at, source_at = ([0, *accumulate(sizes)][:-1] for sizes in (to, source))
one, every, out, into = (bytearray(size) for size in (own[rank], sum(own), sum(to), sum(source)))
types = [MPI.BYTE] * n_ranks
smpy.execute(float(sys.argv[5]) * (rank * 7 % n_ranks))
for _ in range(rounds):
    if operation == "gatherv":
        comm.Gatherv(one, [every, own] if rank == root else None, root)
    elif operation == "scatterv":
        comm.Scatterv([every, own] if rank == root else None, one, root)
    elif operation == "allgatherv":
        comm.Allgatherv(one, [every, own])
    elif operation == "alltoallv":
        comm.Alltoallv([out, to], [into, source])
    elif operation == "alltoallw":
        comm.Alltoallw([out, to, to_at, types], [into, source, source_at, types])
    else:
        comm.Reduce_scatter([every, MPI.BYTE], [one, MPI.BYTE], own, MPI.BOR)
