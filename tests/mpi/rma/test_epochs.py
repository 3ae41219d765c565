"""Epochs: what they let happen, and the errors of what they do not."""

import numpy as np
import pytest

from smpy.engine.running import current
from smpy.mpi import MPI
from tests.mpi.conftest import run_world

WORLD = MPI.COMM_WORLD


def raised(call, *args):
    with pytest.raises(MPI.Exception) as caught:
        call(*args)
    return caught.value


def test_start_waits_for_post_and_wait_for_complete():
    def rank_main(rank):
        memory = np.zeros(2)
        win = MPI.Win.Create(memory, 8, comm=WORLD)
        group = WORLD.Get_group()
        if rank == 0:
            win.Post(group.Incl([1, 2]))
            win.Wait()
        else:
            win.Start(group.Incl([0]))
            win.Put(np.array([float(rank)]), 0, rank - 1)
            win.Complete()
        win.Free()
        return memory.tolist()

    assert run_world(3, rank_main).returned[0] == [1.0, 2.0]


def test_a_test_finds_the_end_of_the_accesses_and_takes_time():
    def rank_main(rank):
        memory = np.zeros(100_000)
        win = MPI.Win.Create(memory, 8, comm=WORLD)
        other, n = WORLD.Get_group().Incl([1 - rank]), 0
        if rank == 0:
            win.Post(other)
            while not win.Test():
                n += 1
        else:
            win.Start(other)
            win.Put(np.ones(100_000), 0)
            win.Complete()
        win.Free()
        return n, float(memory.sum())

    (n, total), _ = run_world(2, rank_main).returned
    assert n > 0
    assert total == 100_000


def test_what_the_rank_before_has_put_is_there_when_an_exclusive_lock_is_granted():
    def rank_main(rank):
        memory = np.zeros(1, np.int64)
        win = MPI.Win.Create(memory, 8, comm=WORLD)
        before = np.zeros(1, np.int64)
        for _ in range(5):
            win.Lock(0)
            win.Get(before, 0)
            win.Flush(0)
            win.Put(before + 1, 0)
            win.Unlock(0)
        WORLD.Barrier()
        win.Free()
        return int(memory[0])

    assert run_world(4, rank_main).returned[0] == 20


@pytest.mark.parametrize(("first", "second"), [("SHARED", "EXCLUSIVE"), ("EXCLUSIVE", "SHARED"), ("SHARED", "SHARED")])
def test_shared_locks_are_held_together_and_exclusive_ones_alone(first, second):
    def rank_main(rank):
        win = MPI.Win.Create(np.zeros(1), 8, comm=WORLD)
        current().sleep(0.1 * rank)
        win.Lock(0, getattr(MPI, f"LOCK_{first if rank == 0 else second}"))
        locked = MPI.Wtime()
        current().sleep(1)
        win.Unlock(0)
        win.Free()
        return locked

    first_s, second_s = run_world(2, rank_main).returned
    assert second_s - first_s == pytest.approx(0.1 if first == second else 1, abs=0.01)


def test_locks_are_granted_in_the_order_they_were_asked_for():
    def rank_main(rank):
        win = MPI.Win.Create(np.zeros(1), 8, comm=WORLD)
        WORLD.Barrier()
        order = []
        for _ in range(3):
            win.Lock(0)
            order.append(MPI.Wtime())
            win.Put(np.zeros(1), 0)
            win.Unlock(0)
        win.Free()
        return order

    dates = run_world(4, rank_main).returned
    turns = sorted((date, rank) for rank in range(1, 4) for date in dates[rank])
    ranks = [rank for _, rank in turns]
    assert sorted(ranks[:3]) == sorted(ranks[3:6]) == [1, 2, 3]


# ---- wrong use ----

WRONG = {
    "an access outside an epoch": (lambda win: win.Put(np.zeros(1), 1), "ERR_RMA_SYNC"),
    "an unlock without a lock": (lambda win: win.Unlock(1), "ERR_RMA_SYNC"),
    "an unlock of all without a lock": (lambda win: win.Unlock_all(), "ERR_RMA_SYNC"),
    "a second lock": (lambda win: (win.Lock(1, MPI.LOCK_SHARED), win.Lock(1)), "ERR_RMA_SYNC"),
    "a lock within a lock of all": (lambda win: (win.Lock_all(), win.Lock(1)), "ERR_RMA_SYNC"),
    "an access to another rank than the locked one": (
        lambda win: (win.Lock(0), win.Put(np.zeros(1), 1)),
        "ERR_RMA_SYNC",
    ),
    "a flush without a lock": (lambda win: win.Flush(1), "ERR_RMA_SYNC"),
    "a fence within a lock": (lambda win: (win.Lock(0), win.Fence()), "ERR_RMA_SYNC"),
    "freeing a locked window": (lambda win: (win.Lock(0), win.Free()), "ERR_RMA_SYNC"),
    "a complete without a start": (lambda win: win.Complete(), "ERR_RMA_SYNC"),
    "a wait without a post": (lambda win: win.Wait(), "ERR_RMA_SYNC"),
    "a rank that the window has not": (lambda win: (win.Lock_all(), win.Put(np.zeros(1), 2)), "ERR_RANK"),
    "a place beyond the part": (lambda win: (win.Lock_all(), win.Put(np.zeros(3), 1, 2)), "ERR_RMA_RANGE"),
    "a negative displacement": (lambda win: (win.Lock_all(), win.Get(np.zeros(1), 1, -1)), "ERR_DISP"),
    "a put of more than the target": (lambda win: (win.Lock_all(), win.Put(np.zeros(2), 1, [0, 1])), "ERR_TRUNCATE"),
    "a get of more than the origin": (lambda win: (win.Lock_all(), win.Get(np.zeros(1), 1, [0, 2])), "ERR_TRUNCATE"),
    "a result without room": (
        lambda win: (win.Lock_all(), win.Get_accumulate(np.zeros(1), np.zeros(1), 1, [0, 2])),
        "ERR_TRUNCATE",
    ),
    "an accumulate without an operation": (
        lambda win: (win.Lock_all(), win.Accumulate(np.zeros(1), 1, 0, MPI.NO_OP)),
        "ERR_OP",
    ),
    "an accumulate to entries of another type": (
        lambda win: (win.Lock_all(), win.Accumulate(np.zeros(1), 1, [0, 1, MPI.LONG])),
        "ERR_TYPE",
    ),
    "a program's own operation": (
        lambda win: (win.Lock_all(), win.Accumulate(np.zeros(1), 1, 0, MPI.Op.Create(lambda *_: None))),
        "ERR_OP",
    ),
    "an operation that the entries have not": (
        lambda win: (win.Lock_all(), win.Accumulate(np.zeros(1), 1, 0, MPI.BOR)),
        "ERR_OP",
    ),
    "an unknown kind of lock": (lambda win: win.Lock(0, 7), "ERR_LOCKTYPE"),
    "an unknown assertion": (lambda win: win.Fence(1 << 20), "ERR_ASSERT"),
}


@pytest.mark.parametrize(("use", "error_class"), WRONG.values(), ids=WRONG)
def test_wrong_use_of_epochs_has_the_standard_s_error_class(use, error_class):
    def rank_main(rank):
        win = MPI.Win.Create(np.zeros(4), 8, comm=WORLD)
        told = []
        win.Set_errhandler(MPI.Win.Create_errhandler(lambda of, code: told.append((of == win, code))))
        error = raised(use, win) if rank == 0 else getattr(MPI, error_class)
        return error, told if rank == 0 else [(True, int(error))]

    expected = getattr(MPI, error_class), [(True, getattr(MPI, error_class))]
    assert run_world(2, rank_main).returned == [expected] * 2


def test_memory_that_is_not_attached_cannot_be_accessed():
    def rank_main(rank):
        win = MPI.Win.Create_dynamic(comm=WORLD)
        win.Fence()
        error = raised(win.Put, np.zeros(1), 0, 4096) if rank else MPI.ERR_RMA_RANGE
        win.Fence()
        win.Free()
        return error

    assert run_world(2, rank_main).returned == [MPI.ERR_RMA_RANGE] * 2


def test_a_rank_that_never_unlocks_is_named_by_those_that_wait(emulated):
    source = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
win = MPI.Win.Create(np.zeros(1), comm=comm)
comm.Barrier()
if comm.rank == 2:
    win.Lock(0)
comm.Barrier()
if comm.rank != 2:
    win.Lock(0)
else:
    comm.recv(source=1)
"""
    error = emulated(source, 3).error
    assert "ranks 0-1: Win.Lock(rank=0), which rank 2 has locked" in error
    assert "program.py:11" in error
    assert "Each waits" not in error


def test_a_start_that_nobody_posts_for_is_named(emulated):
    source = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
win = MPI.Win.Create(None, comm=comm)
win.Start(comm.Get_group().Incl([1 - comm.rank]))
"""
    error = emulated(source, 2).error
    assert "Win.Start(rank=1)" in error
    assert "Win.Start(rank=0)" in error


def test_the_rank_that_holds_a_lock_keeps_others_waiting(emulated):
    source = """
from mpi4py import MPI
import smpy
comm = MPI.COMM_WORLD
win = MPI.Win.Create(bytearray(8), comm=comm)
smpy.execute(1e5 * comm.rank)
win.Lock(1)
if comm.rank == 0:
    smpy.execute(1e9)
win.Unlock(1)
win.Free()
"""
    text = emulated(source, 3).outcome.summary.render()
    assert "rank 0 most: at least 100.0% of what ranks wait for others" in text
    assert "longer in execute program.py:9" in text
