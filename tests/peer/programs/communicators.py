"""communicators HOW BYTES COLOURS: a new communicator, then a barrier and a ring inside it."""

import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
how, n_bytes, colours = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if how == "dup":
    comm = world.Dup()
elif how == "holes":
    comm = world.Split(rank % colours or MPI.UNDEFINED, 0)
else:
    comm = world.Split(rank % colours, -rank)
    if how == "nested":
        comm = comm.Dup()
if comm != MPI.COMM_NULL:
    comm.Barrier()
    request = comm.Isend(bytearray(n_bytes), (comm.Get_rank() + 1) % comm.Get_size(), 0)
    comm.Recv(bytearray(n_bytes), MPI.ANY_SOURCE, MPI.ANY_TAG)
    request.Wait()
