"""completion HOW BYTES COUNT FLOP: rank 0 posts COUNT receives from every other rank, then completes them."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
how, n_bytes, count, flop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
others = n_ranks - 1
if rank == 0:
    n = count * others
    data = [bytearray(2 * n_bytes) for _ in range(n)]
    requests = [comm.Irecv(data[i], 1 + i % others, i // others) for i in range(n)]
else:
    n = count
    smpy.execute(flop * (n_ranks - rank))
    requests = [comm.Isend(bytearray(n_bytes + n_bytes * ((rank + i) % 3) // 3), 0, i) for i in range(n)]
if rank or how == "waitall":
    MPI.Request.Waitall(requests)
elif how == "backwards":
    for request in reversed(requests):
        request.Wait()
elif how == "waitany":
    for _ in range(n):
        smpy.execute(flop * 0.01 * (1 + MPI.Request.Waitany(requests)))
else:
    done = 0
    while done < n:
        some = len(MPI.Request.Waitsome(requests))
        smpy.execute(flop * 0.01 * some)
        done += some
