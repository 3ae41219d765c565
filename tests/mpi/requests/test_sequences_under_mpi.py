"""Sequences of messages do the same under a real MPI."""

from __future__ import annotations

from inspect import getsource

import pytest

from tests.mpi.requests.drawn_sequences import written

PROGRAM = """
import numpy as np
from mpi4py import MPI

import smpy

world = MPI.COMM_WORLD
rank, n = world.rank, world.size
sequence, take = smpy.experimental.MessageProgram(), smpy.experimental.MessageProgram()
sequence.Irecv((1, 0, 2), (rank - 1) % n, 5)
sequence.Send((0, 0, 2), (rank + 1) % n, 5)
receive = sequence.Irecv((1, 2, 4), (rank - 1) % n, None)
sequence.Send((0, 2, 4), (rank + 1) % n, None)
sequence.Wait(receive)
sequence.Look()
if rank:
    take.Recv(0, 0, None)
else:
    for other in range(1, n):
        take.Send(0, other, None)
mine, others, late = np.full((4, 3), rank), np.zeros((4, 3), int), np.full(3, 7 if rank == 0 else 0)
arrival = smpy.experimental.AwaitedMessage(world, 0 if rank else None, 9, take, late)
sequence.perform(world, mine, others, tag=8, arrival=arrival)
arrival.wait()
told = world.gather([others.tolist(), late.tolist(), arrival.is_done])
if rank == 0:
    print(told)
"""


def test_a_program_prints_the_same_under_a_real_mpi(mpiexec, smpy_run, tmp_path):
    path = tmp_path / "sequences.py"
    path.write_text(PROGRAM)
    assert mpiexec(3, str(path)) == smpy_run(PROGRAM, 3, "--compute", "none", "--quiet").out


DRAWN = """
import random
from typing import Any

import numpy as np
from mpi4py import MPI

import smpy

N_RANKS, N_ROWS = 4, 6
WRITTEN
draw, world = random.Random(20), MPI.COMM_WORLD
forms = ["ring", "chain", "started", "relayed", "look", "tag", "within", "call", "execute", "overwritten",
         "handed over"]
for turn in range(25):
    rounds = [
        (draw.choice(forms), draw.randint(1, 3), (draw.randrange(6), draw.randrange(6), draw.randint(1, 6)))
        for _ in range(8)
    ]
    mine, others = np.zeros((N_ROWS, 90_000), "B"), np.zeros((N_ROWS, 90_000), "B")
    late = np.full(9, world.rank + 1, "B")
    mine[...] = np.arange(N_ROWS)[:, None] * 16 + world.rank
    take = smpy.experimental.MessageProgram()
    if world.rank:
        take.Recv(0, 0, None)
    else:
        for other in range(1, N_RANKS):
            take.Send(0, other, None)
    arrival = smpy.experimental.AwaitedMessage(world, 0 if world.rank else None, 77, take, late)
    sequence = written(world.rank, rounds, mine, others)
    for _ in range(2):
        sequence.perform(world, mine, others, tag=99, arrival=arrival, numbers=(9,))
    arrival.wait()
    told = world.gather((mine[:, ::30_000].tolist(), others[:, ::30_000].tolist(), late.tolist()))
    if world.rank == 0:
        print(told)
"""


@pytest.mark.slow
def test_drawn_sequences_print_the_same_under_a_real_mpi(mpiexec, smpy_run, tmp_path):
    path, source = tmp_path / "drawn.py", DRAWN.replace("WRITTEN", getsource(written))
    path.write_text(source)
    assert mpiexec(4, str(path)) == smpy_run(source, 4, "--compute", "none", "--quiet").out


HALO = """
import array, ctypes, mmap
from mpi4py import MPI
import smpy

world = MPI.COMM_WORLD
me, n = world.rank, world.size
up, down = me - 1 if me else MPI.PROC_NULL, me + 1 if me < n - 1 else MPI.PROC_NULL
halo = smpy.experimental.MessageProgram()
halo.Irecv((0, 3, 4), down)
halo.Irecv((0, 0, 1), up)
halo.Send((0, 1, 2), up)
halo.Send((0, 2, 3), down)
mapped = mmap.mmap(-1, 4)
for rows in array.array("d", [0] * 4), bytearray(4), (ctypes.c_double * 4)(), memoryview(bytearray(4)), mapped:
    rows[1] = rows[2] = me + 1
    halo.perform(world, rows)
    told = world.gather([int(each) for each in rows[:]])
    if me == 0:
        print(told)
"""
FILLED = "[[0, 1, 1, 2], [1, 2, 2, 3], [2, 3, 3, 0]]\n" * 5


def test_rows_of_every_kind_of_array_are_received(smpy_run):
    ran = smpy_run(HALO, 3, "--compute", "none", "--quiet")
    assert (ran.out, ran.err) == (FILLED, "")


def test_rows_of_every_kind_of_array_are_received_under_a_real_mpi(mpiexec, tmp_path):
    path = tmp_path / "halo.py"
    path.write_text(HALO)
    assert mpiexec(3, str(path)) == FILLED
