"""permutation SEED BYTES ROUNDS: in every round each rank sends to its image under a drawn permutation."""

import sys

from draw import Draw
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
seed, n_bytes, rounds = map(int, sys.argv[1:4])
drawn = Draw(seed)
out, into = bytearray(n_bytes), bytearray(n_bytes)
for i in range(rounds):
    image = drawn.permutation(n_ranks)
    requests = [comm.Irecv(into, image.index(rank), i), comm.Isend(out, image[rank], i)]
    MPI.Request.Waitall(requests)
