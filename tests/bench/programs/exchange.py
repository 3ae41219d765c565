"""exchange BYTES ITERATIONS FORM: every rank sends every rank BYTES, memory folded.

FORM: even (Alltoall), irregular (Alltoallv, from half of BYTES to three halves).
"""

import sys

import numpy as np
from mpi4py import MPI

import smpy


def length(source, dest):
    return n_bytes // 2 + (source * 7919 + dest * 104729 + source * dest * 31) % (n_bytes + 1) if irregular else n_bytes


def starts(lengths):
    return [0, *np.cumsum(lengths)[:-1]]


comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
n_bytes, irregular = int(sys.argv[1]), sys.argv[3] == "irregular"
sent, received = ([length(*pair) for pair in pairs] for pairs in (
    [(rank, other) for other in range(n_ranks)],
    [(other, rank) for other in range(n_ranks)],
))  # fmt: skip
out, into = smpy.folded(sum(sent), np.uint8), smpy.folded(sum(received), np.uint8)
for _ in range(int(sys.argv[2])):
    if irregular:
        comm.Alltoallv([out, sent, starts(sent), MPI.BYTE], [into, received, starts(received), MPI.BYTE])
    else:
        comm.Alltoall(out, into)
