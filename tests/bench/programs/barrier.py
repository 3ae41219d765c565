"""One Barrier and one Allreduce."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
comm.Barrier()
total = np.zeros(1)
comm.Allreduce(np.ones(1), total)
assert total[0] == comm.Get_size()
