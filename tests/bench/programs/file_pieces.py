"""file_pieces FORM MEGABYTES PATH: all ranks write a file in pieces of 1 MB and read it, by `pieces` or in `rows`.

Rows are 8 kB wide and a rank's own column of an array.
"""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

form, n_pieces, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
PIECE, ROW = 1 << 20, 8192
comm = MPI.COMM_WORLD
own = range(comm.rank, n_pieces, comm.size)
data = np.ones(PIECE, "B")
file = MPI.File.Open(comm, path, MPI.MODE_RDWR | MPI.MODE_CREATE)
if form == "rows":
    n_rows = n_pieces * PIECE // (ROW * comm.size)
    column = MPI.BYTE.Create_subarray([n_rows, comm.size * ROW], [n_rows, ROW], [0, comm.rank * ROW]).Commit()
    file.Set_view(0, MPI.BYTE, column)
    for call in (file.Write_all, file.Read_all):
        file.Seek(0)
        for _ in own:
            call(data)
else:
    for call in (file.Write_at_all, file.Read_at_all):
        for piece in own:
            call(piece * PIECE, data)
file.Close()
if comm.rank == 0:
    assert Path(path).stat().st_size == n_pieces * PIECE
    Path(path).unlink()
