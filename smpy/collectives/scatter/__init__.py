"""Algorithms of MPI_Scatter and MPI_Scatterv."""
