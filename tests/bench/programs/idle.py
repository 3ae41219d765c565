"""Ranks that are there, all at once: each waits for the one above it."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
if rank < n_ranks - 1:
    comm.Recv(bytearray(1), rank + 1)
if rank > 0:
    comm.Send(bytearray(1), rank - 1)
