"""poll HOW BYTES FLOP ROUNDS: odd ranks poll for the messages of the even ranks below them, which compute first."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
how, n_bytes, flop, rounds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
data = [bytearray(n_bytes), bytearray(n_bytes)]


def probe(source):
    if how == "iprobe":
        while not comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG):
            pass
    if how == "probe":
        comm.Probe(source, MPI.ANY_TAG)


def test(requests):
    for request in requests:
        while not request.Test():
            pass


def testall(requests):
    while not MPI.Request.Testall(requests):
        pass


def testany(requests):
    for _ in requests:
        while not MPI.Request.Testany(requests)[1]:
            pass


def testsome(requests):
    done = 0
    while done < len(requests):
        done += len(MPI.Request.Testsome(requests))


complete = {"test": test, "testall": testall, "testany": testany, "testsome": testsome}.get(how, MPI.Request.Waitall)


def poll(source):
    probe(source)
    requests = [comm.Irecv(data[i], source, i) for i in range(2)]
    complete(requests)
    MPI.Request.Waitall(requests)


for _ in range(rounds):
    if rank % 2:
        poll(rank - 1)
    elif rank + 1 < n_ranks:
        for i in range(2):
            smpy.execute(flop * (1 + rank + i))
            comm.Send(data[0], rank + 1, i)
