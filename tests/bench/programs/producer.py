"""producer MESSAGES: rank 0 computes and sends 60 KB, again and again; rank 1 keeps pace."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
data = bytearray(60_000)
for _ in range(int(sys.argv[1])):
    if comm.Get_rank() == 0:
        smpy.execute(1e7)
        comm.Send(data, 1)
    else:
        comm.Recv(data, 0)
