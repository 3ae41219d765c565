"""Conformance that programs seldom ask for: docstrings in mpi4py's form, sizes and addresses of handles as C has them."""
