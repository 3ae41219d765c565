"""pylops_mpi: linear operators on distributed arrays."""

import numpy as np
import pylops
import pylops_mpi
from mpi4py import MPI
from ordered import in_order_of_ranks

with in_order_of_ranks():
    x = pylops_mpi.DistributedArray(global_shape=12)
    x[:] = np.arange(x.local_shape[0]) + MPI.COMM_WORLD.rank
    print(x.local_array.tolist(), np.round(x.norm(), 9), np.round(x.dot(x), 9))
    block = np.arange(1, 1 + x.local_shape[0] * 2).reshape(2, -1).astype(float)
    diagonal = pylops_mpi.MPIBlockDiag(ops=[pylops.MatrixMult(block)])
    y = diagonal @ x
    print(y.local_array.tolist(), y.asarray().tolist(), (diagonal.H @ y).asarray().tolist())
    print((pylops_mpi.MPIFirstDerivative(12) @ x).asarray().tolist())
