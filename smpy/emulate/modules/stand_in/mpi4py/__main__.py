"""`python -m mpi4py`."""

from mpi4py.run import main

main()
