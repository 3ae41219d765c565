"""Ranks that are there."""

from mpi4py import MPI  # noqa: F401 - importing it is all a rank does
