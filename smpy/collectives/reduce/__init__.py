"""Algorithms of MPI_Reduce."""
