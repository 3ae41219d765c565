"""flight SEED STEPS: in each step drawn non-blocking collectives, messages and persistent requests are in flight while
the ranks compute, perhaps meet, and then complete them in a drawn way."""

import sys

from draw import Draw
from mpi4py import MPI
from sizes import own_size, pair_size

import smpy

SIZES = (0, 1, 242, 1411, 9361, 40000, 65535, 65536, 200000)
MOST = 200000

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
drawn, steps = Draw(int(sys.argv[1])), int(sys.argv[2])
everyone = range(n_ranks)


def some(n_bytes: int, counts: list[int] | None = None) -> list[object]:
    return [bytearray(n_bytes), counts, MPI.BYTE] if counts else [bytearray(n_bytes), MPI.BYTE]


def collective() -> MPI.Request:
    which, n, root = drawn.below(12), SIZES[drawn.below(len(SIZES))] // 4, drawn.below(n_ranks)
    own = [own_size(n, i) for i in everyone]
    to = [pair_size(n // 2, rank, i) for i in everyone]
    source = [pair_size(n // 2, i, rank) for i in everyone]
    one, all_of_them, mine, all_own = some(n), some(n * n_ranks), some(own[rank]), some(sum(own), own)
    is_root = rank == root
    match which:
        case 0:
            return comm.Ibcast(one, root)
        case 1:
            return comm.Ireduce(one, some(n), MPI.BOR, root)
        case 2:
            return comm.Iallreduce(one, some(n), MPI.BOR)
        case 3:
            return comm.Igather(one, all_of_them if is_root else None, root)
        case 4:
            return comm.Iscatter(all_of_them if is_root else None, one, root)
        case 5:
            return comm.Iallgather(one, all_of_them)
        case 6:
            return comm.Ialltoall(all_of_them, some(n * n_ranks))
        case 7:
            return comm.Iscan(one, some(n), MPI.BOR)
        case 8:
            return comm.Igatherv(mine, all_own if is_root else None, root)
        case 9:
            return comm.Iscatterv(all_own if is_root else None, mine, root)
        case 10:
            return comm.Iallgatherv(mine, all_own)
        case _:
            return comm.Ialltoallv(some(sum(to), to), some(sum(source), source))


def messages() -> list[MPI.Request]:
    distance, n, kind = 1 + drawn.below(n_ranks - 1), SIZES[drawn.below(len(SIZES))], drawn.below(3)
    dest, source, out, into = (rank + distance) % n_ranks, (rank - distance) % n_ranks, bytearray(n), bytearray(MOST)
    if kind < 2:
        return [comm.Irecv(into, source, 7), (comm.Issend if kind else comm.Isend)(out, dest, 7)]
    both = [comm.Recv_init(into, source, 7), comm.Send_init(out, dest, 7)]
    MPI.Prequest.Startall(both)
    return both


def complete(requests: list[MPI.Request], n_collectives: int) -> None:
    how, flop = drawn.below(6), 1e4 * (1 + drawn.below(20))
    if n_collectives:
        how %= 5  # smpirun's Waitsome waits for the first collective it meets
    if how == 0:
        MPI.Request.Waitall(requests)
    elif how in (1, 2):
        for request in requests if how == 1 else reversed(requests):
            request.Wait()
    elif how == 3:
        for _ in requests:
            MPI.Request.Waitany(requests)
    elif how == 4:
        for request in requests:
            while not request.Test():
                smpy.execute(flop)
    else:
        while MPI.Request.Waitsome(requests) is not None:
            pass


for _ in range(steps):
    in_flight: list[MPI.Request] = []
    n_collectives = 0
    for _ in range(1 + drawn.below(5)):
        work = 1e3 * drawn.below(300)
        worker, what = drawn.below(n_ranks), drawn.below(3)
        if what:
            in_flight.append(collective())
            n_collectives += 1
        elif n_ranks > 1:
            in_flight += messages()
        if rank == worker:
            smpy.execute(work)
    meets, n_bytes = drawn.below(3), SIZES[drawn.below(len(SIZES))]
    if meets == 1:
        comm.Bcast(bytearray(n_bytes))
    elif meets == 2:
        comm.Barrier()
    complete(in_flight, n_collectives)
