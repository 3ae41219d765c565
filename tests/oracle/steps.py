"""Does what its argument says: RANK:STEP;STEP/RANK:STEP, a step is a word and its numbers: send,1,1000 (rank, bytes).

`all` in the place of a rank is every rank. steps.c is the twin from whose runs under SimGrid the expected dates come.
"""

import sys
import time

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
requests = []


def receive(post, source, n_bytes):
    return post(bytearray(n_bytes), MPI.ANY_SOURCE if source < 0 else source)


def poll_requests():
    while not requests[-1].Test():
        pass


def poll_messages():
    while not comm.Iprobe():
        pass


def sendrecv(peer, n_bytes):
    comm.Sendrecv(bytearray(n_bytes), peer, recvbuf=bytearray(n_bytes), source=peer)


def alltoall(n_bytes):
    """Linear: receives from the right on upwards, then sends from the left on downwards."""
    posted = [comm.Irecv(bytearray(n_bytes), (rank + i) % n_ranks) for i in range(1, n_ranks)]
    posted += [comm.Isend(bytearray(n_bytes), (rank - i) % n_ranks) for i in range(1, n_ranks)]
    MPI.Request.Waitall(posted)


STEPS = {
    "send": lambda dest, n: comm.Send(bytearray(int(n)), int(dest)),
    "ssend": lambda dest, n: comm.Ssend(bytearray(int(n)), int(dest)),
    "isend": lambda dest, n: requests.append(comm.Isend(bytearray(int(n)), int(dest))),
    "recv": lambda source, n: receive(comm.Recv, int(source), int(n)),
    "irecv": lambda source, n: requests.append(receive(comm.Irecv, int(source), int(n))),
    "waitall": lambda: MPI.Request.Waitall(requests),
    "test": poll_requests,
    "iprobe": poll_messages,
    "sendrecv": lambda peer, n: sendrecv(int(peer), int(n)),
    "execute": smpy.execute,
    "sleep": time.sleep,
    "barrier": comm.Barrier,
    "bcast": lambda n: comm.Bcast(bytearray(int(n))),
    "alltoall": lambda n: alltoall(int(n)),
}

for part in sys.argv[1].split("/"):
    who, _, steps = part.partition(":")
    if who in (str(rank), "all"):
        for step in steps.split(";"):
            word, *numbers = step.split(",")
            STEPS[word](*map(float, numbers))
