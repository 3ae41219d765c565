"""Conformance that few programs ask for: docstrings in mpi4py's form, sizes and addresses of handles as in C."""
