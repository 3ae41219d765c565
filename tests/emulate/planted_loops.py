"""Marked loops with known times, for `smpy run --iterations skip`: `planted_loops.py KIND`."""

import sys
from math import pi, sin
from random import Random

from mpi4py import MPI

import smpy

WORLD = MPI.COMM_WORLD
KIND = sys.argv[1]
N = 100 if KIND == "nested" else 400
DRAWS = Random(3)
NOISE = [DRAWS.gauss(1.0, 0.03) for _ in range(N)]
SECONDS = {
    "alike": lambda k: 1e-3,
    "pipeline": lambda k: 1e-3 * (2 if WORLD.rank == 0 else 1),
    "shrinking": lambda k: 1e-2 * (1 - k / N) ** 2 * (1.05 if k % 3 == 0 else 1) + 1e-5,
    "period 7": lambda k: 1e-3 * (1 + k % 7),
    "jump": lambda k: 1e-3 if k < 0.37 * N else 2e-3,
    "ramp": lambda k: 1e-3 * (1 + k / N),
    "noise": lambda k: 1e-3 * NOISE[k],
    "rare": lambda k: 1e-3 * (1.5 if k % 50 == 17 else 1),
    "period 24": lambda k: 1e-3 * (1 + 0.3 * sin(2 * pi * k / 24)),
    "nested": lambda k: 1e-4,
}


def perform(k: int) -> None:
    """An item: computing, and messages that let no rank run away."""
    smpy.inject_seconds(SECONDS[KIND](k) * (1 + 0.01 * (WORLD.rank % 3)))
    if KIND == "pipeline":  # a slow rank is felt one rank further in each item
        for other in (WORLD.rank - 1, WORLD.rank + 1):
            if 0 <= other < WORLD.size:
                WORLD.Sendrecv(bytearray(8), other, recvbuf=bytearray(8), source=other)
    elif KIND == "nested":
        for _ in smpy.iterations("inner", range(20)):
            smpy.inject_seconds(1e-5 * (1 - k / N) ** 2 + 1e-6)
            WORLD.allreduce(1)
    else:
        WORLD.allreduce(1)


WORLD.Barrier()
began_s = MPI.Wtime()
n_performed = 0
for item in smpy.iterations("planted", range(N), periods=(24,)):
    perform(item)
    n_performed += 1
print(WORLD.rank, n_performed, MPI.Wtime() - began_s)
