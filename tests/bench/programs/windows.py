"""windows FORM N: FORM is put, lock, message, fence, exchange or fetch; message and exchange access no window."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
form, n = sys.argv[1], int(sys.argv[2])
out, into = np.zeros(1), np.zeros(1)
win = MPI.Win.Create(np.zeros(1), 8, comm=comm)
if form == "put":
    win.Lock_all()
    for _ in range(n if rank == 0 else 0):
        win.Put(out, 1)
        win.Flush(1)
    win.Unlock_all()
elif form == "lock":
    for _ in range(n if rank == 0 else 0):
        win.Lock(1)
        win.Put(out, 1)
        win.Unlock(1)
elif form == "message":
    for _ in range(n):
        if rank == 0:
            comm.Send(out, 1)
        else:
            comm.Recv(into, 0)
elif form == "fence":
    for _ in range(n):
        win.Fence()
        win.Put(out, (rank + 1) % n_ranks)
    win.Fence()
elif form == "exchange":
    for _ in range(n):
        requests = [comm.Irecv(into, (rank - 1) % n_ranks), comm.Isend(out, (rank + 1) % n_ranks)]
        MPI.Request.Waitall(requests)
        comm.Barrier()
        comm.Barrier()
else:
    win.Lock_all()
    for _ in range(n):
        win.Fetch_and_op(out, into, 0)
    win.Unlock_all()
comm.Barrier()
win.Free()
