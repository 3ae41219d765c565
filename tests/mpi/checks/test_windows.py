"""Accesses to windows that conflict are named by both lines, and epochs that are left open."""

from __future__ import annotations

from collections.abc import Callable

import pytest

HEAD = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
"""
MEMORY = "memory = np.zeros(8); win = MPI.Win.Create(memory, 8, comm=comm); one = np.ones(1); two = np.ones(2)\n"

CONFLICTS = {
    "puts of two ranks between fences": "win.Fence()\nwin.Put(one, 0, 3)\nwin.Fence()",
    "a put and a get": "win.Fence()\nif rank: win.Put(one, 0, 3)\nelse: win.Get(two, 0, 2)\nwin.Fence()",
    "a put and an accumulate": (
        "win.Lock_all()\ncomm.Barrier()\nwin.Put(one, 0, 1) if rank else win.Accumulate(one, 0, 1)\n"
        "comm.Barrier(); win.Unlock_all()"
    ),
    "accumulates of two operations": (
        "win.Fence()\nwin.Accumulate(one, 1, 0, MPI.SUM if rank else MPI.MAX)\nwin.Fence()"
    ),
    "accumulates of two types": ("win.Fence()\nwin.Accumulate(one if rank else np.ones(1, 'i8'), 1, 0)\nwin.Fence()"),
    "puts in one exposure": (
        "all = comm.Get_group()\nwin.Post(all); win.Start(all)\nwin.Put(two, 1, rank)\n"
        "win.Complete(); win.Wait(); all.Free()"
    ),
    "puts of one rank without a flush": (
        "win.Lock(1 - rank)\nwin.Put(two, 1 - rank, 0)\nwin.Put(two, 1 - rank, 1)\nwin.Unlock(1 - rank)"
    ),
    "shared locks at one time": (
        "win.Lock(0, MPI.LOCK_SHARED)\ncomm.Barrier()\nwin.Put(one, 0, 5)\ncomm.Barrier(); win.Unlock(0)"
    ),
    "a vector that reaches into another's": (
        "v = MPI.DOUBLE.Create_vector(2, 1, 3).Commit()\nwin.Fence()\n"
        "win.Put(two, 0, [0, 1, v]) if rank else win.Put(one, 0, 3)\nwin.Fence(); v.Free()"
    ),
}


@pytest.mark.parametrize("source", CONFLICTS.values(), ids=CONFLICTS)
def test_accesses_that_conflict_are_named_by_both_lines(checked: Callable, source: str):
    found = checked(MEMORY + source + "\nwin.Free()\n")
    assert list(found) == ["conflicts"]
    lines = {line for sides in found["conflicts"] for _, line in sides}
    accesses = {n for n, line in enumerate(source.split("\n"), start=2) if any(call in line for call in ("Put", "Acc"))}
    assert accesses <= lines <= accesses | {4}


APART = {
    "puts side by side": "win.Fence()\nwin.Put(one, 0, rank)\nwin.Fence()",
    "fences between": "win.Fence()\nfor each in range(size):\n    if rank == each: win.Put(one, 0, 3)\n    win.Fence()",
    "gets": "win.Fence()\nwin.Get(two, 0, 2)\nwin.Fence()",
    "accumulates of one operation": "win.Fence()\nwin.Accumulate(two, 0, 2)\nwin.Fence()",
    "an accumulate and a look": (
        "win.Lock_all()\nwin.Fetch_and_op(one, two[:1], 0, 2, MPI.SUM if rank else MPI.NO_OP)\nwin.Unlock_all()"
    ),
    "one type by two names": (
        "v = MPI.DOUBLE.Create_vector(2, 1, 3).Commit()\nwin.Fence()\n"
        "win.Accumulate(two, 0, [0, 1, v]) if rank else win.Accumulate(one, 0, 3)\nwin.Fence(); v.Free()"
    ),
    "exclusive locks": "win.Lock(0)\nwin.Put(one, 0, 3)\nwin.Unlock(0)",
    "a flush between": (
        "win.Lock_all()\nif rank:\n    win.Put(one, 0, 3); win.Flush(0); win.Put(one, 0, 3)\nwin.Unlock_all()"
    ),
    "shared locks one after the other": (
        "if rank: comm.recv(source=0)\nwin.Lock(0, MPI.LOCK_SHARED); win.Put(one, 0, 3); win.Unlock(0)\n"
        "if not rank: comm.send(0, 1)"
    ),
    "a flush and a message between": (
        "win.Lock_all()\nif rank: comm.recv(source=0)\nwin.Put(one, 0, 3); win.Flush(0)\n"
        "if not rank: comm.send(0, 1)\nwin.Unlock_all()"
    ),
    "a get that is complete here": (
        "win.Lock(1 - rank); win.Get(one, 1 - rank, rank); win.Flush_local(1 - rank)\n"
        "win.Put(one, 1 - rank, rank); win.Unlock(1 - rank)"
    ),
    "a waited get": (
        "win.Lock(1 - rank); win.Rget(one, 1 - rank, rank).Wait(); win.Put(one, 1 - rank, rank); win.Unlock(1 - rank)"
    ),
    "targets of their own": "win.Fence()\nwin.Put(one, rank, 3)\nwin.Fence()",
    "exposures one after the other": (
        "all = comm.Get_group()\nfor each in range(size):\n    win.Post(all); win.Start(all)\n"
        "    if rank == each: win.Put(two, 1, 0)\n    win.Complete(); win.Wait()\nall.Free()"
    ),
    "nobody": "win.Fence()\nwin.Put(one, MPI.PROC_NULL)\nwin.Put(np.ones(0), 0, 3)\nwin.Fence()",
}


@pytest.mark.parametrize("source", APART.values(), ids=APART)
def test_accesses_that_are_apart_are_left_alone(checked: Callable, source: str):
    assert checked(MEMORY + source + "\nwin.Free()\n") == {}


OPEN = {
    "a lock": "win.Lock(1 - rank, MPI.LOCK_SHARED)",
    "a lock of all": "win.Lock_all()",
    "an access epoch": "all = comm.Get_group()\nwin.Post(all); win.Start(all)",
    "an exposure": "all = comm.Get_group()\nwin.Post(all)",
}


@pytest.mark.parametrize("source", OPEN.values(), ids=OPEN)
def test_an_epoch_that_is_left_open_is_named(checked: Callable, source: str):
    found = checked(MEMORY + source + "\n")["epochs"]
    last = 1 + len(source.split("\n"))
    assert {tuple(side) for sides in found for side in sides} == {(0, last), (1, last)}


CLOSED = {
    "a last fence": "win.Fence(); win.Put(one, rank, 3); win.Fence()",
    "locks": "win.Lock(0); win.Unlock(0); win.Lock_all(); win.Unlock_all(); win.Lock(MPI.PROC_NULL)",
    "a test": "all = comm.Get_group(); win.Post(all); win.Start(all); win.Complete()\nwhile not win.Test(): pass",
}


@pytest.mark.parametrize("source", CLOSED.values(), ids=CLOSED)
def test_epochs_that_are_closed_are_left_alone(checked: Callable, source: str):
    assert "epochs" not in checked(MEMORY + source + "\n")


OUTSIDE = {
    "without an epoch": "win.Put(one, 0, 3)",
    "behind the last fence": "win.Fence(); win.Fence(MPI.MODE_NOSUCCEED); win.Get(one, 0, 3)",
    "of another rank than the locked one": "win.Lock(rank); win.Accumulate(one, 1 - rank, 3)",
    "behind the unlock": "win.Lock(0); win.Unlock(0); win.Fetch_and_op(one, two[:1], 0, 3)",
}


@pytest.mark.parametrize("source", OUTSIDE.values(), ids=OUTSIDE)
def test_an_access_outside_an_epoch_is_an_error_with_its_line(emulated: Callable, source: str):
    ran = emulated(HEAD + MEMORY + source + "\n", 2, checks=True)
    assert f'program.py", line {HEAD.count(chr(10)) + 2}' in ran.error
    assert "there is no access epoch to rank" in ran.error
