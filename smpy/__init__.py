"""Runs an mpi4py program on a simulated cluster and tells how long it would have taken."""
