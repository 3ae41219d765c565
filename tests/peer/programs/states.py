"""states SEED FLOP ROUNDS STATES: ranks compute and set the states of their hosts, a message to the right between."""

import sys
import time

from draw import Draw
from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
flop, rounds, n_states = float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
drawn = Draw(int(sys.argv[1]) + rank)
out, into = bytearray(70_000), bytearray(70_000)
for i in range(rounds):
    time.sleep((1 + drawn.below(1000)) / 1e6)
    smpy.set_host_pstate(drawn.below(n_states))
    smpy.execute(flop * (1 + drawn.below(100)))
    if drawn.below(2):
        smpy.set_host_pstate(drawn.below(n_states))
    request = comm.Isend(out, (rank + 1) % n_ranks, i)
    smpy.execute(flop * (1 + drawn.below(100)))
    comm.Recv(into, (rank - 1) % n_ranks, i)
    request.Wait()
