"""pingpong KIND BYTES ROUNDS PEER: ranks 0 and PEER exchange one message to and fro."""

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
kind, n_bytes, rounds, peer = sys.argv[1], *map(int, sys.argv[2:5])
data = bytearray(n_bytes)


def give(dest):
    if kind == "send":
        comm.Send(data, dest, 7)
    elif kind == "ssend":
        comm.Ssend(data, dest, 7)
    else:
        post = comm.Isend if kind == "isend" else comm.Issend
        post(data, dest, 7).Wait()


for _ in range(rounds):
    if rank == 0:
        give(peer)
        comm.Recv(data, peer, 7)
    elif rank == peer:
        comm.Recv(data, 0, 7)
        give(0)
