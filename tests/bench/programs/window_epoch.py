"""window_epoch FORM: a window of 8 bytes a rank and a fence, or a barrier alone."""

import sys

from mpi4py import MPI

if sys.argv[1] == "window":
    win = MPI.Win.Allocate(8, comm=MPI.COMM_WORLD)
    win.Fence()
    win.Free()
else:
    MPI.COMM_WORLD.Barrier()
