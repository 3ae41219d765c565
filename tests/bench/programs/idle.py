"""Ranks that are all there at once, and wait for the last one."""

from mpi4py import MPI

MPI.COMM_WORLD.Barrier()
