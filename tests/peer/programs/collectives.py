"""collectives OPERATION BYTES ROOT ROUNDS FLOP: the operation, rounds in a row, after an unequal start."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
operation = sys.argv[1]
n_bytes, root, rounds = map(int, sys.argv[2:5])
one, other = bytearray(n_bytes), bytearray(n_bytes)
every = bytearray(n_bytes * n_ranks)
smpy.execute(float(sys.argv[5]) * (rank * 7 % n_ranks))
for _ in range(rounds):
    if operation == "barrier":
        comm.Barrier()
    elif operation == "bcast":
        comm.Bcast(one, root)
    elif operation == "reduce":
        comm.Reduce([one, MPI.BYTE], [other, MPI.BYTE], MPI.BOR, root)
    elif operation == "allreduce":
        comm.Allreduce([one, MPI.BYTE], [other, MPI.BYTE], MPI.BOR)
    elif operation == "gather":
        comm.Gather(one, every if rank == root else None, root)
    elif operation == "allgather":
        comm.Allgather(one, every)
    elif operation == "alltoall":
        comm.Alltoall(every, bytearray(n_bytes * n_ranks))
    else:
        comm.Scatter(every if rank == root else None, one, root)
