"""poll HOW BYTES FLOP ROUNDS: odd ranks poll for the messages of the even ranks below them, which compute first."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
how, n_bytes, flop, rounds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
mine = n_bytes + 40 * (rank // 2)  # a length of each pair's own: nothing ends together by chance
data = [bytearray(mine), bytearray(mine)]


def iprobe(source):
    for i in range(2):
        while not comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG):
            pass
        comm.Recv(data[i], source, i)


def probe(source):
    for i in range(2):
        comm.Probe(source, MPI.ANY_TAG)
        comm.Recv(data[i], source, i)


def post(source):
    return [comm.Irecv(data[i], source, i) for i in range(2)]


def test(source):
    for request in post(source):
        while not request.Test():
            pass


def testall(source):
    requests = post(source)
    while not MPI.Request.Testall(requests):
        pass


def testany(source):
    requests = post(source)
    for _ in requests:
        while not MPI.Request.Testany(requests)[1]:
            pass


def testsome(source):
    requests, done = post(source), 0
    while done < 2:
        done += len(MPI.Request.Testsome(requests))


poll = {"iprobe": iprobe, "probe": probe, "test": test, "testall": testall, "testany": testany, "testsome": testsome}[
    how
]
for _ in range(rounds):
    if rank % 2:
        smpy.execute(flop * 0.0137 * rank)
        poll(rank - 1)
    elif rank + 1 < n_ranks:
        for i in range(2):
            smpy.execute(flop * (1 + rank + i))
            comm.Send(data[0], rank + 1, i)
