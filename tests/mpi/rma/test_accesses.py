"""Accesses to windows: the bytes that move, and the dates at which they do."""

import numpy as np
import pytest

import smpy
from smpy.engine.running import current
from smpy.mpi import MPI
from tests.mpi.conftest import run_world

WORLD = MPI.COMM_WORLD
OPERATIONS = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "BOR": np.bitwise_or,
    "REPLACE": lambda before, given: given,
    "NO_OP": lambda before, given: before,
}


def window_of(memory, unit=None):
    return MPI.Win.Create(memory, memory.itemsize if unit is None else unit, comm=WORLD)


# ---- bytes ----


@pytest.mark.parametrize("call", ["Put", "Rput"])
def test_a_put_is_there_after_the_fence(call):
    def rank_main(rank):
        memory = np.full(6, -1, np.int64)
        win = window_of(memory)
        win.Fence()
        getattr(win, call)(np.array([10 + rank, 20 + rank]), (rank + 1) % 3, 2)
        win.Fence()
        win.Free()
        return memory.tolist()

    returned = run_world(3, rank_main).returned
    assert returned == [[-1, -1, 10 + other, 20 + other, -1, -1] for other in (2, 0, 1)]


@pytest.mark.parametrize("call", ["Get", "Rget"])
def test_a_get_has_read_after_the_fence(call):
    def rank_main(rank):
        win = window_of(np.arange(6) + 10 * rank)
        into = np.zeros(2, np.int64)
        win.Fence()
        getattr(win, call)(into, (rank + 1) % 3, [3, 2, MPI.LONG])
        win.Fence()
        win.Free()
        return into.tolist()

    assert run_world(3, rank_main).returned == [[13, 14], [23, 24], [3, 4]]


@pytest.mark.parametrize("rank_of_target", [0, 1])
def test_entries_that_the_other_side_does_not_fill_stay_as_they_are(rank_of_target):
    def rank_main(rank):
        memory = np.arange(6) + 10
        win = window_of(memory)
        into, before = np.full(3, -1), np.full(3, -1)
        win.Fence()
        if rank == 0:
            win.Put([np.array([1]), 1], rank_of_target, [0, 2])
            win.Accumulate([np.array([1]), 1], rank_of_target, [2, 2])
            win.Get(into, rank_of_target, [5, 1])
            win.Get_accumulate([np.array([2]), 1], before, rank_of_target, [4, 2])
        win.Fence()
        win.Free()
        return memory.tolist(), into.tolist(), before.tolist()

    returned = run_world(2, rank_main).returned
    assert returned[rank_of_target][0] == [1, 11, 13, 13, 16, 15]
    assert returned[0][1:] == ([15, -1, -1], [14, 15, -1])


def test_both_sides_may_have_derived_datatypes():
    def rank_main(rank):
        memory = np.zeros(12, np.int32)
        win = window_of(memory)
        every_third = MPI.INT.Create_vector(4, 1, 3).Commit()
        pairs = MPI.INT.Create_vector(2, 2, 4).Commit()
        win.Fence()
        if rank == 0:
            win.Put([np.arange(1, 13, dtype=np.int32), 1, pairs], 1, [1, 1, every_third])
        win.Fence()
        into = np.zeros(12, np.int32)
        if rank == 0:
            win.Get([into, 1, pairs], 1, [1, 1, every_third])
        win.Fence()
        win.Free()
        return memory.tolist(), into.tolist()

    (_, into), (memory, _) = run_world(2, rank_main).returned
    assert memory == [0, 1, 0, 0, 2, 0, 0, 5, 0, 0, 6, 0]
    assert into == [1, 2, 0, 0, 5, 6, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("name", OPERATIONS)
def test_accumulates_combine_entries_and_those_that_fetch_tell_what_was_there(name):
    op = getattr(MPI, name)

    def rank_main(rank):
        memory = np.array([3, 5, 6, 9])
        win = window_of(memory)
        given, fetched = np.array([6, 7]), np.zeros(2, np.int64)
        one, got = np.array([4]), np.zeros(1, np.int64)
        win.Fence()
        if rank == 0:
            if op != MPI.NO_OP:
                win.Accumulate(given, 1, 0, op)
            win.Get_accumulate(given, fetched, 1, 0, op)
            win.Fetch_and_op(one, got, 1, 3, op)
        win.Fence()
        win.Free()
        return memory.tolist(), fetched.tolist(), got.tolist()

    (_, fetched, got), (memory, *_) = run_world(2, rank_main).returned
    combine, before, given = OPERATIONS[name], np.array([3, 5]), np.array([6, 7])
    once = combine(before, given)
    assert fetched == once.tolist()
    assert memory == [*combine(once, given), 6, combine(9, 4)]
    assert got == [9]


def test_accumulates_combine_the_elements_of_derived_datatypes():
    def rank_main(rank):
        memory = np.arange(6, dtype=np.int32)
        win = window_of(memory)
        every_second, pairs = MPI.INT.Create_vector(3, 1, 2).Commit(), MPI.INT.Create_contiguous(3).Dup().Commit()
        given, fetched = np.array([10, 0, 20, 0, 30], np.int32), np.zeros(3, np.int32)
        win.Fence()
        if rank == 0:
            win.Accumulate([given, 1, every_second], 1, [1, 1, every_second])
            win.Get_accumulate([given, 1, every_second], [fetched, 1, pairs], 1, [0, 1, pairs], MPI.MAX)
            with pytest.raises(MPI.Exception) as raised:
                mixed = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()
                win.Accumulate([np.zeros(2), 1, mixed], 1, [0, 1, mixed])
            assert raised.value.Get_error_class() == MPI.ERR_OP
        win.Fence()
        win.Free()
        return memory.tolist(), fetched.tolist()

    (_, fetched), (memory, _) = run_world(2, rank_main).returned
    assert fetched == [0, 11, 2]
    assert memory == [10, 20, 30, 23, 4, 35]


def test_compare_and_swap_replaces_only_what_is_equal():
    def rank_main(rank):
        memory = np.array([7, 8])
        win = window_of(memory)
        result = np.zeros(1, np.int64)
        win.Fence()
        if rank == 0:
            win.Compare_and_swap(np.array([1]), np.array([7]), result, 1, 0)
            win.Compare_and_swap(np.array([2]), np.array([7]), result, 1, 1)
        win.Fence()
        win.Free()
        return memory.tolist(), result.tolist()

    (_, result), (memory, _) = run_world(2, rank_main).returned
    assert (memory, result) == ([1, 8], [8])


def test_accesses_to_a_rank_s_own_part_move_bytes_and_take_no_time():
    def rank_main(rank):
        memory = np.arange(4.0)
        win = window_of(memory)
        win.Lock(rank)
        began, into = MPI.Wtime(), np.zeros(2)
        win.Put(np.array([8.0]), rank, 0)
        win.Get(into, rank, [0, 2])
        took = MPI.Wtime() - began
        win.Unlock(rank)
        win.Free()
        return into.tolist(), took

    assert run_world(2, rank_main).returned == [([8.0, 1.0], pytest.approx(0, abs=1e-7))] * 2


def test_dynamic_windows_are_accessed_by_address_in_all_that_is_attached():
    def rank_main(rank):
        win = MPI.Win.Create_dynamic(comm=WORLD)
        first, second = np.zeros(2), np.zeros(3)
        win.Attach(first)
        win.Attach(second)
        places = WORLD.allgather((MPI.Get_address(first), MPI.Get_address(second)))
        win.Fence()
        win.Put(np.array([1.0 + rank]), 1 - rank, places[1 - rank][0])
        win.Put(np.array([5.0 + rank, 6.0]), 1 - rank, MPI.Aint_add(places[1 - rank][1], 8))
        win.Fence()
        win.Detach(first)
        win.Detach(second)
        win.Free()
        return first.tolist(), second.tolist()

    assert run_world(2, rank_main).returned == [([2.0, 0.0], [0, 6, 6]), ([1.0, 0.0], [0, 5, 6])]


def test_shared_memory_can_be_put_to_and_read_directly():
    def rank_main(rank):
        win = MPI.Win.Allocate_shared(8, 8, comm=WORLD)
        others = np.frombuffer(win.Shared_query(1 - rank)[0], np.int64)
        win.Lock_all()
        win.Put(np.array([40 + rank]), 1 - rank)
        win.Flush(1 - rank)
        WORLD.Barrier()
        win.Sync()
        found = int(others[0])
        win.Unlock_all()
        win.Free()
        return found

    assert run_world(2, rank_main).returned == [40, 41]


def test_windows_on_folded_arrays_cost_the_same_and_hold_nothing():
    def rank_main(memory):
        def here(rank):
            win = window_of(memory(100_000))
            win.Fence()
            win.Put(memory(50_000), (rank + 1) % 3, 10)
            win.Accumulate(memory(500), (rank + 2) % 3, [7, 500, MPI.DOUBLE])
            win.Fence()
            win.Free()
            return MPI.Wtime()

        return here

    assert run_world(3, rank_main(smpy.folded)).returned == run_world(3, rank_main(np.zeros)).returned


# ---- dates ----


def test_a_put_arrives_when_its_message_does():
    def rank_main(rank):
        memory = np.zeros(1_000_000)
        win = window_of(memory)
        win.Lock_all()
        WORLD.Barrier()
        began = MPI.Wtime()
        if rank == 0:
            win.Put(np.ones(1_000_000), 1)
        else:
            while not memory[-1]:
                win.Sync()
        took = MPI.Wtime() - began
        win.Unlock_all()
        win.Free()
        return took

    put, seen = run_world(2, rank_main).returned
    assert put < 1e-5
    assert 8e6 / 50e9 < seen < 1e-2


def test_fetch_and_op_by_all_ranks_takes_two_messages_each_one_after_the_other():
    def rank_main(rank):
        memory = np.zeros(1, np.int64)
        win = window_of(memory)
        win.Lock_all()
        WORLD.Barrier()
        began, got = MPI.Wtime(), np.zeros(1, np.int64)
        if rank:
            win.Fetch_and_op(np.ones(1, np.int64), got, 0)
        took = MPI.Wtime() - began
        win.Unlock_all()
        WORLD.Barrier()
        win.Free()
        return took, int(got[0]), int(memory[0])

    returned = run_world(9, rank_main).returned
    took, got, _ = zip(*sorted(returned[1:]), strict=True)
    assert list(got) == list(range(8))
    assert returned[0][2] == 8
    assert np.diff(took) == pytest.approx([took[1] - took[0]] * 7)
    assert took[1] > 1.5 * took[0]


def test_a_poll_on_a_window_takes_time_and_ends():
    def rank_main(rank):
        memory = np.zeros(1, np.int64)
        win, flag = window_of(memory), np.zeros(1, np.int64)
        if rank == 1:
            WORLD.recv(source=0)
            win.Lock(1)
            memory[0] = 1
            win.Unlock(1)
        elif rank == 0:
            current().sleep(0.01)
            WORLD.send(None, 1)
        while rank == 2 and not flag[0]:
            win.Lock(1, MPI.LOCK_SHARED)
            win.Get(flag, 1)
            win.Unlock(1)
        now = MPI.Wtime()
        WORLD.Barrier()
        win.Free()
        return now

    assert run_world(3, rank_main).returned[2] == pytest.approx(0.01, rel=0.01)


def test_a_rank_that_looks_at_its_own_part_again_and_again_lets_time_pass():
    def rank_main(rank):
        memory = np.zeros(1, np.int64)
        win = window_of(memory)
        if rank == 0:
            while True:
                win.Lock(0)
                is_set = bool(memory[0])
                win.Unlock(0)
                if is_set:
                    break
        else:
            current().sleep(0.05)
            win.Lock(0)
            win.Put(np.ones(1, np.int64), 0)
            win.Unlock(0)
        win.Free()
        return MPI.Wtime()

    assert run_world(2, rank_main).returned[0] == pytest.approx(0.05, rel=0.02)
