"""forced OPERATION BYTES ROOT CALLS KIND: calls of a collective whose results are checked."""

import sys

import numpy as np
from mpi4py import MPI
from sizes import own_size

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
operation, kind = sys.argv[1], sys.argv[5]
n_bytes, root, n_calls = map(int, sys.argv[2:5])
n = n_bytes // 8


FIRST, NONE = 1000, -1  # a range is its first rank times FIRST, and its last rank


def join(left, right, _):
    """Join ranges of ranks that follow each other; others have no result."""
    a, b = np.frombuffer(left), np.frombuffer(right)
    follow = (a >= 0) & (b >= 0) & (a % FIRST + 1 == b // FIRST)
    b[:] = np.where(follow, a // FIRST * FIRST + b % FIRST, NONE)


is_ordered = kind == "ordered"
op = MPI.Op.Create(join) if is_ordered else MPI.SUM
mine = rank * FIRST + rank if is_ordered else rank + 1
expected = n_ranks - 1 if is_ordered else n_ranks * (n_ranks + 1) // 2
counts = [n if operation == "reduce_scatter_block" else own_size(n, of) for of in range(n_ranks)]
for call in range(n_calls):
    if operation == "bcast":
        whole = np.full(n_bytes, 7 + call if rank == root else 0, np.uint8)
        comm.Bcast([whole, MPI.BYTE], root)
        assert (whole == 7 + call).all()
        continue
    own = np.full(n * n_ranks, float(mine))
    result = np.full(n * n_ranks, -1.0)
    if operation == "reduce":
        comm.Reduce([own, n, MPI.DOUBLE], [result, n, MPI.DOUBLE], op, root)
        assert rank != root or (result[:n] == expected).all()
    elif operation == "allreduce":
        comm.Allreduce([own, n, MPI.DOUBLE], [result, n, MPI.DOUBLE], op)
        assert (result[:n] == expected).all()
    else:
        whole = np.full(sum(counts), float(mine))
        comm.Reduce_scatter([whole, MPI.DOUBLE], [result, counts[rank], MPI.DOUBLE], counts, op)
        assert (result[: counts[rank]] == expected).all()
