"""halo COLUMNS ROW_BYTES COLUMN_BYTES STEPS FLOP PERIODIC: borders of a 2-D grid go to four neighbours."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
columns, row_bytes, column_bytes, steps = map(int, sys.argv[1:5])
flop, periodic = float(sys.argv[5]), int(sys.argv[6])
rows = comm.Get_size() // columns


def neighbour(move):
    row, column = rank // columns + move[0], rank % columns + move[1]
    inside = 0 <= row < rows and 0 <= column < columns
    return row % rows * columns + column % columns if inside or periodic else MPI.PROC_NULL


neighbours = [neighbour(move) for move in ((-1, 0), (1, 0), (0, -1), (0, 1))]
sizes = (row_bytes, row_bytes, column_bytes, column_bytes)
out, into = [bytearray(n) for n in sizes], [bytearray(n) for n in sizes]
for _ in range(steps):
    requests = [comm.Irecv(into[k], neighbours[k], k ^ 1) for k in range(4)]
    requests += [comm.Isend(out[k], neighbours[k], k) for k in range(4)]
    MPI.Request.Waitall(requests)
    smpy.execute(flop * (1 + rank % 3))
