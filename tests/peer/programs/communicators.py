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
elif how.startswith("create"):
    some = world.Get_group().Incl(range(0, world.Get_size(), colours))
    comm = MPI.COMM_NULL
    if how == "create":
        comm = world.Create(some)
    elif rank % colours == 0:
        comm = world.Create_group(some)
elif how == "shared":
    comm = world.Split_type(MPI.COMM_TYPE_SHARED)
elif how == "grid":
    comm = world.Create_cart([world.Get_size() // 2, 2], [True, False])
else:
    comm = world.Split(rank % colours, -rank)
    if how == "nested":
        comm = comm.Dup()
if comm != MPI.COMM_NULL:
    comm.Barrier()
    request = comm.Isend(bytearray(n_bytes), (comm.Get_rank() + 1) % comm.Get_size(), 0)
    comm.Recv(bytearray(n_bytes), MPI.ANY_SOURCE, MPI.ANY_TAG)
    request.Wait()
