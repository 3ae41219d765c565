"""bigmpi4py: data frames and arrays, scattered and gathered."""

import bigmpi4py
import numpy as np
import pandas as pd
from mpi4py import MPI
from ordered import in_order_of_ranks

comm = MPI.COMM_WORLD
with in_order_of_ranks():
    is_root = comm.rank == 0
    part = bigmpi4py.scatter(pd.DataFrame({"a": range(10), "b": list("abcdefghij")}) if is_root else None, comm)
    print(part.values.tolist())
    frame = bigmpi4py.gather(part, comm)
    print(frame.values.tolist() if is_root else None)
    print(bigmpi4py.bcast(np.arange(4) if is_root else None, comm).tolist())
