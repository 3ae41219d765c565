"""Pools of workers: mpi4py's own code."""

raise ImportError("mpi4py.futures is Python code of mpi4py, which is not installed: pip install mpi4py")
