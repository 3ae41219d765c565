"""phases PATTERN:SEED:BYTES ...: one pattern after the other, a barrier between them.

Prints rank, phase and date when a rank is through with a phase. No rank sends to itself but in the pattern "self": some
machines have no such route.
"""

import sys

from draw import Draw
from mpi4py import MPI

import smpy

MESSAGES = 20  # messages of the pattern "mixed"

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()


def exchange(n_bytes, dest, source):
    requests = [comm.Irecv(bytearray(n_bytes), source, 1), comm.Isend(bytearray(n_bytes), dest, 1)]
    MPI.Request.Waitall(requests)


def draw_pair(drawn):
    """Two ranks that differ."""
    one = drawn.below(n_ranks)
    return one, (one + 1 + drawn.below(n_ranks - 1)) % n_ranks


def pingpong(drawn, n_bytes):
    data = bytearray(n_bytes)
    for tag in range(4):
        one, other = draw_pair(drawn)
        for source, dest in ((one, other), (other, one)):
            if rank == source:
                comm.Send(data, dest, tag)
            elif rank == dest:
                comm.Recv(data, source, tag)


def ring(drawn, n_bytes):
    distance = 1 + drawn.below(n_ranks - 1)
    dest, source = (rank + distance) % n_ranks, (rank - distance) % n_ranks
    for _ in range(3):
        comm.Sendrecv(bytearray(n_bytes), dest, 2, bytearray(n_bytes), source, 2)


def permutation(drawn, n_bytes):
    """One drawn cycle through all ranks."""
    order = drawn.permutation(n_ranks)
    at = order.index(rank)
    exchange(n_bytes, order[(at + 1) % n_ranks], order[at - 1])


def halo(drawn, n_bytes):
    rows = max(i for i in range(1, n_ranks + 1) if i * i <= n_ranks and n_ranks % i == 0)
    columns = n_ranks // rows
    row, column = divmod(rank, columns)
    sides = [
        *(row * columns + (column + step) % columns for step in (1, -1)),
        *((row + step) % rows * columns + column for step in (1, -1)),
    ]
    others = [(side, other) for side, other in enumerate(sides) if other != rank]
    requests = [comm.Irecv(bytearray(n_bytes), other, side ^ 1) for side, other in others]
    requests += [comm.Isend(bytearray(n_bytes), other, side) for side, other in others]
    MPI.Request.Waitall(requests)


def alltoall(drawn, n_bytes):
    comm.Alltoall(bytearray(n_bytes * n_ranks), bytearray(n_bytes * n_ranks))


def allreduce(drawn, n_bytes):
    comm.Allreduce([bytearray(n_bytes), MPI.BYTE], [bytearray(n_bytes), MPI.BYTE], MPI.BOR)


def incast(drawn, n_bytes):
    root, data = drawn.below(n_ranks), bytearray(n_bytes)
    if rank != root:
        comm.Send(data, root, 4)
        return
    for _ in range(n_ranks - 1):
        comm.Recv(data, MPI.ANY_SOURCE, 4)


def mixed(drawn, n_bytes):
    """Messages between any two ranks, of n_bytes / 4 to 2 n_bytes, and work between them."""
    requests = []
    for tag in range(MESSAGES):
        source, dest = draw_pair(drawn)
        size = n_bytes // 4 * (1 + drawn.below(8))
        worker, flop = drawn.below(n_ranks), 1e4 * (1 + drawn.below(100))
        if rank == dest:
            requests.append(comm.Irecv(bytearray(size), source, tag))
        if rank == source:
            requests.append(comm.Isend(bytearray(size), dest, tag))
        if rank == worker:
            smpy.execute(flop)
    MPI.Request.Waitall(requests)


def compute(drawn, n_bytes):
    """Every rank computes, the longer the more bytes."""
    flop = [(1e4 + 10.0 * n_bytes) * (1 + drawn.below(20)) for _ in range(n_ranks)]
    smpy.execute(flop[rank])


def poll(drawn, n_bytes):
    """One rank works and sends; another asks for the message, in one of two ways."""
    one, other = draw_pair(drawn)
    flop, probes, data = 1e5 * (1 + drawn.below(30)), drawn.below(2), bytearray(n_bytes)
    if rank == one:
        smpy.execute(flop)
        comm.Send(data, other, 5)
    elif rank == other and probes:
        while not comm.Iprobe(one, 5):
            pass
        comm.Recv(data, one, 5)
    elif rank == other:
        request = comm.Irecv(data, one, 5)
        while not request.Test():
            pass


def self(drawn, n_bytes):
    exchange(n_bytes, rank, rank)


PATTERNS = {
    pattern.__name__: pattern
    for pattern in (pingpong, ring, permutation, halo, alltoall, allreduce, incast, mixed, compute, poll, self)
}

for phase, word in enumerate(sys.argv[1:], start=1):
    name, seed, size = word.split(":")
    PATTERNS[name](Draw(int(seed)), int(size))
    print(rank, phase, repr(MPI.Wtime()))
    comm.Barrier()
