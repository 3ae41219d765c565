"""Algorithms of MPI_Barrier."""
