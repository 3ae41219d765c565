"""The program of the traces here: messages, a choice, a poll, collectives, regions, computing, a window, a file."""

import numpy
import smpy
from mpi4py import MPI

world = MPI.COMM_WORLD
half = world.Split(world.rank % 2)
with smpy.region("all"):
    for step in range(3):
        arrives = world.irecv(source=MPI.ANY_SOURCE)
        leaves = world.isend(step, (world.rank + 1) % world.size)
        arrives.test()
        MPI.Request.Waitany([arrives])
        leaves.wait()
        half.allreduce(1)
        world.Bcast(numpy.zeros(10_000), root=step)
        world.Ibarrier().Wait()
        with smpy.region("work"):
            smpy.execute(1e6 * (1 + world.rank))
# ruff: noqa: I001, ICN001  # lines as the trace has them
window = MPI.Win.Allocate(8 * world.size, 8, comm=world)
window.Lock(0)
window.Put(numpy.ones(1), 0, world.rank)
window.Unlock(0)
file = MPI.File.Open(world, "numbers", MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
file.Write_at_all(8 * world.rank, numpy.ones(1))
file.Iread_at(0, numpy.ones(1)).Wait()
file.Close()
window.Free()
