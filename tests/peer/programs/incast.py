"""incast KIND BYTES COUNT FLOP ACK: every rank sends COUNT messages to rank 0, which takes them from anybody."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
kind = sys.argv[1]
n_bytes, count = map(int, sys.argv[2:4])
flop, ack = float(sys.argv[4]), int(sys.argv[5])
data = bytearray(n_bytes + 100 * n_ranks)
if rank == 0:
    status = MPI.Status()
    for _ in range(count * (n_ranks - 1)):
        comm.Recv(data, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        source, tag = status.Get_source(), status.Get_tag()
        smpy.execute(flop * (1 + source + tag))
        if ack:
            comm.Send(memoryview(data)[:1], source, tag)
else:
    mine = memoryview(data)[: n_bytes + 100 * (rank % 3)]
    requests = []
    for i in range(count):
        if kind == "isend":
            requests.append(comm.Isend(mine, 0, i))
        elif kind == "ssend":
            comm.Ssend(mine, 0, i)
        else:
            comm.Send(mine, 0, i)
        if ack:
            comm.Recv(bytearray(1), 0, i)
    MPI.Request.Waitall(requests)
