"""The program of the trace here: messages, a choice, a poll, collectives, regions, computing."""

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
