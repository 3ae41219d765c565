"""Algorithms of MPI_Scan and MPI_Exscan."""
