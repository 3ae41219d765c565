"""Algorithms of MPI_Gather and MPI_Gatherv."""
