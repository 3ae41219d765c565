"""Algorithms of MPI_Allreduce."""
