"""Algorithms of MPI_Bcast."""
