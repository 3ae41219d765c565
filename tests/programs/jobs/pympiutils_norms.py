"""pympiutils: NumPy's functions on arrays that are divided among ranks."""

import numpy as np
from mpi4py import MPI
from ordered import in_order_of_ranks
from pympiutils import pympiutils as pu

with in_order_of_ranks():
    layout = pu.generate_mpi_layout(nglob=17, nprocs=MPI.COMM_WORLD.size, MPI=MPI)
    print(layout.nloc, [*map(int, layout.nlocal_sizes)], [*map(int, layout.displ)])
    mpi = pu.make_mpi_info(layout.nloc, MPI, isGlobal=False)
    whole = np.arange(17.0) if MPI.COMM_WORLD.rank == 0 else None
    part = pu.xglob2loc(whole, layout, MPI)
    print(part.tolist(), round(float(pu.norm(part, mpi)), 9), float(pu.dot(part, part, mpi)))
    print(float(pu.mmin(part, mpi)), float(pu.mmax(part, mpi)), bool(pu.mallclose(part, part, mpi=mpi)))
    back = pu.xloc2glob(part, layout, MPI)
    print(None if back is None else np.asarray(back).tolist())
