"""nonblocking OPERATION BYTES ROOT HOW FLOP: a non-blocking collective twice, with computing and perhaps another one
between start and end; the end is a Wait (wait), a Test at a time (test), one Waitall with a receive from the left and a
send to the right (all), or two collectives in flight, waited for in turn (two) or from the last (back)."""

import sys
from itertools import accumulate

from mpi4py import MPI
from sizes import own_size, pair_size

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
operation, n_bytes, root, how, flop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], float(sys.argv[5])
own = [own_size(n_bytes, i) for i in range(n_ranks)]
to = [pair_size(n_bytes, rank, i) for i in range(n_ranks)]
source = [pair_size(n_bytes, i, rank) for i in range(n_ranks)]
to_at, source_at = ([0, *accumulate(sizes)][:-1] for sizes in (to, source))
types = [MPI.BYTE] * n_ranks
is_root = rank == root


def block() -> list[object]:
    return [bytearray(n_bytes), MPI.BYTE]


def blocks() -> list[object]:
    return [bytearray(n_bytes * n_ranks), MPI.BYTE]


def mine() -> list[object]:
    return [bytearray(own[rank]), MPI.BYTE]


def everyones() -> list[object]:
    return [bytearray(sum(own)), own]


def exchanged() -> tuple[list[object], list[object]]:
    return [bytearray(sum(to)), to], [bytearray(sum(source)), source]


START = {
    "ibarrier": comm.Ibarrier,
    "ibcast": lambda: comm.Ibcast(block(), root),
    "ireduce": lambda: comm.Ireduce(block(), block(), MPI.BOR, root),
    "iallreduce": lambda: comm.Iallreduce(block(), block(), MPI.BOR),
    "igather": lambda: comm.Igather(block(), blocks() if is_root else None, root),
    "iscatter": lambda: comm.Iscatter(blocks() if is_root else None, block(), root),
    "iallgather": lambda: comm.Iallgather(block(), blocks()),
    "ialltoall": lambda: comm.Ialltoall(blocks(), blocks()),
    "iscan": lambda: comm.Iscan(block(), block(), MPI.BOR),
    "iexscan": lambda: comm.Iexscan(block(), block(), MPI.BOR),
    "ireduce_scatter_block": lambda: comm.Ireduce_scatter_block(blocks(), block(), MPI.BOR),
    "ireduce_scatter": lambda: comm.Ireduce_scatter([bytearray(sum(own)), MPI.BYTE], mine(), own, MPI.BOR),
    "igatherv": lambda: comm.Igatherv(mine(), everyones() if is_root else None, root),
    "iscatterv": lambda: comm.Iscatterv(everyones() if is_root else None, mine(), root),
    "iallgatherv": lambda: comm.Iallgatherv(mine(), everyones()),
    "ialltoallv": lambda: comm.Ialltoallv(*exchanged()),
    "ialltoallw": lambda: comm.Ialltoallw(
        [bytearray(sum(to)), to, to_at, types], [bytearray(sum(source)), source, source_at, types]
    ),
}
start = START[operation]
smpy.execute(flop * (rank * 7 % n_ranks))
for _ in range(2):
    request = start()
    if how == "wait":
        smpy.execute(flop * (1 + rank % 3))
        request.Wait()
    elif how == "test":
        smpy.execute(flop * (1 + rank % 3))
        while not request.Test():
            smpy.execute(flop / 7)
    elif how == "all":
        receive = comm.Irecv(bytearray(n_bytes), (rank - 1) % n_ranks, 0)
        smpy.execute(flop * (1 + rank % 3))
        send = comm.Isend(bytearray(n_bytes), (rank + 1) % n_ranks, 0)
        MPI.Request.Waitall([request, receive, send])
    else:
        smpy.execute(flop * (1 + rank % 3))
        both = [request, start()]
        first = how == "back"
        both[first].Wait()
        smpy.execute(flop)
        both[not first].Wait()
