"""The twin of sampled.c, on the clock of tests/emulate/planted_clock.py."""

import sys

from mpi4py import MPI
from planted_clock import advance

import smpy
from smpy.compute.clock.stopping import SmpiRule

scope, iters, thres, n_visits, n = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
times_s = [float(time_s) for time_s in sys.argv[6:]]
rank, n_run = MPI.COMM_WORLD.rank, 0
for visit in range(n_visits):
    MPI.COMM_WORLD.Barrier()
    for i in smpy.sample("loop", range(n), scope=scope, rule=SmpiRule(iters, thres)):
        advance(times_s[(5 * rank + 3 * visit + i) % len(times_s)])
        n_run += 1
    date_s = MPI.Wtime()
    print(visit, rank, n_run, f"{date_s:.12f}")
