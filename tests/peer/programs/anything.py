"""anything SEED STEPS: drawn calls of all kinds, in one order that all ranks agree on, so that none waits for ever."""

import sys
import time

from draw import Draw
from mpi4py import MPI

import smpy

SIZES = (0, 1, 241, 242, 717, 1411, 3469, 5761, 9361, 15409, 40000, 65456, 65535, 65536, 300000)
N_SMALL, MOST = 13, 300000
NUMBERED, WILD = 0, 1  # tags

world = MPI.COMM_WORLD
rank, n_ranks = world.Get_rank(), world.Get_size()
drawn = Draw(int(sys.argv[1]))
comm = world.Split(drawn.below(2) * (rank % 3 == 0), -rank) if drawn.below(2) else world.Dup()
out, into = memoryview(bytearray(MOST)), bytearray(MOST)
every = memoryview(bytearray(40000 * n_ranks))
requests, sent = [], []


def send(how, n_bytes, dest):
    data = out[:n_bytes]
    if how == 0:
        world.Send(data, dest, NUMBERED)
    elif how == 1:
        world.Ssend(data, dest, NUMBERED)
    else:
        requests.append((world.Isend if how == 2 else world.Issend)(data, dest, NUMBERED))


def poll(source):
    while not world.Iprobe(source, NUMBERED):
        pass


def receive(how, source):
    if how == 0:
        world.Recv(into, source, NUMBERED)
    elif how == 1:
        poll(source)
        world.Recv(into, source, NUMBERED)
    else:
        requests.append(world.Irecv(bytearray(MOST), source, NUMBERED))
        while how == 2 and not requests[-1].Test():
            pass


def message():
    """Message from anybody to anybody else; both sides come to it at the same step."""
    source, dest, n_bytes = drawn.below(n_ranks), drawn.below(n_ranks), SIZES[drawn.below(len(SIZES))]
    how_sent, how_received = drawn.below(4), drawn.below(4)
    if source == dest:
        return
    if rank == source:
        send(how_sent, n_bytes, dest)
    if rank == dest:
        receive(how_received, source)


def wild_message():
    """A small one, for whichever wildcard receive meets it first."""
    source, dest, n_bytes = drawn.below(n_ranks), drawn.below(n_ranks), SIZES[drawn.below(N_SMALL)]
    flop = 1e3 * (1 + drawn.below(50))
    if rank == source:
        sent.append(world.Isend(out[:n_bytes], dest, WILD))
    if rank == dest:
        status = MPI.Status()
        world.Recv(into, MPI.ANY_SOURCE, WILD, status)
        smpy.execute(flop * (1 + status.Get_source()))


def exchange():
    distance, n_bytes = 1 + drawn.below(n_ranks), SIZES[drawn.below(len(SIZES))]
    world.Sendrecv(out[:n_bytes], (rank + distance) % n_ranks, 2, into, (rank - distance) % n_ranks, 2)


def complete():
    who, how = drawn.below(n_ranks), drawn.below(3)
    if rank != who:
        return
    if how == 0:
        MPI.Request.Waitall(requests)
    for request in reversed(requests):
        if how == 1:
            MPI.Request.Waitany(requests)
        elif how == 2:
            request.Wait()
    requests.clear()


def work():
    who, flop = drawn.below(n_ranks), 1e3 * (1 + drawn.below(1000))
    if rank == who:
        smpy.execute(flop)


def idle():
    who, seconds = drawn.below(n_ranks), (1 + drawn.below(1000)) / 1e6
    if rank == who:
        time.sleep(seconds)


def together():
    """A collective of the world or of a part of it."""
    group = comm if drawn.below(2) else world
    operation, n_bytes = drawn.below(7), (0, 1, 700, 5000, 40000)[drawn.below(5)]
    root = drawn.below(n_ranks) % group.Get_size()
    one, other, all_of_them = out[:n_bytes], memoryview(into)[:n_bytes], every[: n_bytes * group.Get_size()]
    is_root = group.Get_rank() == root
    if operation == 0:
        group.Barrier()
    elif operation == 1:
        group.Bcast(one, root)
    elif operation == 2:
        group.Reduce([one, MPI.BYTE], [other, MPI.BYTE], MPI.BOR, root)
    elif operation == 3:
        group.Allreduce([one, MPI.BYTE], [other, MPI.BYTE], MPI.BOR)
    elif operation == 4:
        group.Gather(one, all_of_them if is_root else None, root)
    elif operation == 5:
        group.Allgather(one, all_of_them)
    else:
        group.Scatter(all_of_them if is_root else None, other, root)


KINDS = (
    message,
    message,
    message,
    message,
    wild_message,
    wild_message,
    exchange,
    complete,
    complete,
    work,
    idle,
    together,
)
for _ in range(int(sys.argv[2])):
    KINDS[drawn.below(len(KINDS))]()
MPI.Request.Waitall(requests)
MPI.Request.Waitall(sent)
