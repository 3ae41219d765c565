"""Algorithms of MPI_Allgather and MPI_Allgatherv."""
