"""lossy_mpi: collectives that wait for nobody longer than they were told to."""

import numpy as np
from lossy_mpi.pool import Pool
from mpi4py import MPI
from ordered import in_order_of_ranks

pool = Pool(MPI.COMM_WORLD, 0, timeout=5.0, n_tries=10)
pool.ready()
with in_order_of_ranks():
    squares = pool.gather(pool.rank**2)
    print(squares if pool.is_root else None)
    print(pool.bcast({"from": pool.rank}))
    print(np.asarray(pool.mask).shape, pool.is_root)
