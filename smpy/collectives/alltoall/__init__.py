"""Algorithms of MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw."""
