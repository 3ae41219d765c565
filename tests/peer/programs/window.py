"""window BYTES WINDOW ROUNDS: the lower half of the ranks sends WINDOW messages at a time to the upper half."""

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
n_bytes, window, rounds = map(int, sys.argv[1:4])
half = n_ranks // 2
sender = rank < half
peer = rank + half if sender else rank - half
parts = [bytearray(n_bytes) for _ in range(window)]
for _ in range(rounds if rank < 2 * half else 0):
    post = comm.Isend if sender else comm.Irecv
    MPI.Request.Waitall([post(part, peer, i) for i, part in enumerate(parts)])
    if sender:
        comm.Recv(bytearray(0), peer, window)
    else:
        comm.Send(bytearray(0), peer, window)
