"""Start as many children as the first argument says, which meet their parent at a barrier."""

import sys

from mpi4py import MPI

if len(sys.argv) > 1:
    MPI.COMM_SELF.Spawn(sys.executable, [__file__], int(sys.argv[1])).Barrier()
else:
    MPI.Comm.Get_parent().Barrier()
