"""one_sided KIND SEED ROUNDS FLOP: every rank draws accesses to windows of others, between the synchronisations of
KIND: fence, groups, exclusive, shared, all, requests, atomic."""

import sys

import numpy as np
from draw import Draw
from mpi4py import MPI

import smpy

ROOM, FIRST = 262144, 64
SIZES = (8, 16, 512, 1000, 1024, 5000, 20000, 65536, 100000, 200000)

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
kind, seed, rounds, flop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
own, common = Draw(1000 * seed + rank), Draw(seed)
into, out, memory = (np.zeros(ROOM // 8) for _ in range(3))
memory.view(np.int64)[1] = 2


def execute(times: int) -> None:
    if flop * times > 0:
        smpy.execute(flop * times)


def drawn_count() -> int:
    return SIZES[own.below(10)] // 8


def access_once(target: int) -> None:
    what, n = own.below(4), drawn_count()
    execute(own.below(400))
    place = [FIRST, n, MPI.DOUBLE]
    if what == 0:
        win.Put(out[:n], target, place)
    elif what == 1:
        win.Get(into[:n], target, place)
    elif what == 2:
        win.Accumulate(out[:n], target, place)
    else:
        win.Put(out[:1], target, FIRST)


def access_some(target: int | None) -> None:
    for _ in range(own.below(4)):
        access_once(own.below(n_ranks) if target is None else target)


def access_with_requests() -> None:
    requests = []
    for _ in range(own.below(4)):
        target, n, what = own.below(n_ranks), drawn_count(), own.below(3)
        place = [FIRST, n, MPI.DOUBLE]
        if what == 0:
            requests.append(win.Rput(out[:n], target, place))
        elif what == 1:
            requests.append(win.Rget(into[:n], target, place))
        else:
            requests.append(win.Raccumulate(out[:n], target, place))
        execute(own.below(400))
    MPI.Request.Waitall(requests)


def access_atomically(target: int) -> None:
    one, zero, result = np.ones(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    what, n = own.below(5), drawn_count()
    execute(own.below(400))
    if what == 0:
        win.Fetch_and_op(one, result, target, FIRST)
    elif what == 1:
        win.Fetch_and_op(one, result, target, FIRST, MPI.NO_OP)
    elif what == 2:
        win.Get_accumulate(out[:n], into[:n], target, [FIRST, n, MPI.DOUBLE])
    elif what == 3:
        win.Compare_and_swap(zero, zero, result, target, 0)
    else:
        win.Compare_and_swap(one, zero, result, target, 8)


def in_groups() -> None:
    distance = common.below(n_ranks)
    target = (rank + distance) % n_ranks
    everybody = comm.Get_group()
    win.Post(everybody.Incl([(rank - distance) % n_ranks]))
    execute(own.below(400))
    win.Start(everybody.Incl([target]))
    access_some(target)
    win.Complete()
    execute(own.below(400))
    win.Wait()


def locked(lock_type: int) -> None:
    target = own.below(n_ranks)
    win.Lock(target, lock_type)
    access_some(target)
    if own.below(2):
        win.Flush(target)
        access_some(target)
    win.Unlock(target)
    execute(own.below(400))


def all_locked(has_requests: bool) -> None:
    win.Lock_all()
    if has_requests:
        access_with_requests()
    else:
        access_some(None)
    how = own.below(4)
    if how == 0:
        win.Flush_all()
    elif how == 1:
        win.Flush(own.below(n_ranks))
    elif how == 2:
        win.Flush_local_all()
    access_some(None)
    win.Unlock_all()
    execute(own.below(400))


win = MPI.Win.Create(memory, comm=comm)
if kind == "fence":
    win.Fence(MPI.MODE_NOPRECEDE if common.below(2) else 0)
for _ in range(rounds):
    execute(own.below(400))
    if kind == "fence":
        access_some(None)
        win.Fence()
    elif kind == "groups":
        in_groups()
    elif kind == "exclusive":
        locked(MPI.LOCK_EXCLUSIVE)
    elif kind == "shared":
        locked(MPI.LOCK_SHARED)
    elif kind == "atomic":
        win.Lock_all()
        access_atomically(0 if own.below(2) else own.below(n_ranks))
        win.Unlock_all()
    else:
        all_locked(kind == "requests")
comm.Barrier()
win.Free()
