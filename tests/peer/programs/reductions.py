"""reductions OPERATION COUNT KIND ROOT ROUNDS FLOP: reductions of ints, with MPI.SUM (sum), an operation of the
program's own that may be reordered (own) or not (ordered), or a datatype of two doubles (pairs, ordered_pairs)."""

import sys

from mpi4py import MPI
from sizes import own_size

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
operation, count, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
root, rounds = int(sys.argv[4]), int(sys.argv[5])
datatype, op = MPI.INT, MPI.SUM
if kind != "sum":
    op = MPI.Op.Create(lambda one, other, datatype: None, commute=kind in ("own", "pairs"))
if kind.endswith("pairs"):
    datatype = MPI.DOUBLE.Create_contiguous(2).Commit()
entry = datatype.Get_size()
counts = [own_size(count, i) if operation == "reduce_scatter" else count for i in range(n_ranks)]
one, other = ([bytearray(count * entry), count, datatype] for _ in range(2))
whole = [bytearray(sum(counts) * entry), datatype]
block = [bytearray(counts[rank] * entry), datatype]
smpy.execute(float(sys.argv[6]) * (rank * 7 % n_ranks))
for _ in range(rounds):
    if operation == "scan":
        comm.Scan(one, other, op)
    elif operation == "exscan":
        comm.Exscan(one, other, op)
    elif operation == "reduce":
        comm.Reduce(one, other, op, root)
    elif operation == "allreduce":
        comm.Allreduce(one, other, op)
    elif operation == "reduce_scatter_block":
        comm.Reduce_scatter_block(whole, block, op)
    else:
        comm.Reduce_scatter(whole, block, counts, op)
