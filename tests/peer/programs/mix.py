"""mix SEED STEPS MESSAGES: every step draws messages between any two ranks, sized around the thresholds, and work."""

import sys

from draw import Draw
from mpi4py import MPI

import smpy

SIZES = (0, 1, 241, 242, 717, 1411, 3469, 5761, 9361, 15409, 40000, 65456, 65457, 65535, 65536, 300000)

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
seed, steps, messages = map(int, sys.argv[1:4])
drawn = Draw(seed)
out = memoryview(bytearray(max(SIZES)))
for _ in range(steps):
    requests = []
    for i in range(messages):
        source, dest, n_bytes = drawn.below(n_ranks), drawn.below(n_ranks), SIZES[drawn.below(len(SIZES))]
        worker, flop = drawn.below(n_ranks), 1e4 * (1 + drawn.below(100))
        if rank == dest:
            requests.append(comm.Irecv(bytearray(max(SIZES)), source, i))
        if rank == source:
            requests.append(comm.Isend(out[:n_bytes], dest, i))
        if rank == worker:
            smpy.execute(flop)
    MPI.Request.Waitall(requests)
    if drawn.below(4) == 0:
        comm.Barrier()
