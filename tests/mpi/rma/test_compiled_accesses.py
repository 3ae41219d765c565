"""Accesses that the compiled surface makes and those that it leaves to Python: the same bytes, dates and errors."""

import gc
import weakref
from random import Random

import numpy as np
import pytest

from smpy.engine.running import current
from smpy.engine.surface import surface
from smpy.mpi import MPI
from smpy.mpi.rma import accesses
from smpy.mpi.rma.window_parts import WindowPart
from tests.mpi.conftest import run_world

WORLD = MPI.COMM_WORLD
N_ENTRIES = 12
FORMS = {
    "whole": lambda array: array,
    "counted": lambda array: [array, array.size, MPI.LONG],
    "displaced": lambda array: [array, (array.size, 0), MPI.LONG],  # left to Python
}
TARGETS = {
    "number": lambda first, count: first,
    "counted": lambda first, count: [first, count, MPI.LONG],
    "derived": lambda first, count: [first, 1, MPI.LONG.Create_contiguous(count).Commit()],  # found by its size
    "strided": lambda first, count: [first, 1, MPI.LONG.Create_indexed([count], [0]).Commit()],
    "short": lambda first, count: [first, count],  # left to Python
}


def drawn_calls(seed, n_ranks):
    """Calls of each rank: many of them to the same few entries, so that their order shows."""
    draw = Random(seed)
    names = (
        ["Put"] * 4
        + ["Get"] * 2
        + ["Flush", "Flush_local", "Flush_all", "Lock", "Accumulate", "Rput", "Rget", "compute"]
    )
    return [
        [
            (
                draw.choice(names),
                draw.randrange(n_ranks),
                draw.randrange(4),
                draw.choice([1, 1, 2, 3, 5]),
                draw.random(),
            )
            for _ in range(30)
        ]
        for _ in range(n_ranks)
    ]


def outcome(seed, form):
    """Bytes that ranks have read, or have at the end, and their dates."""
    n_ranks = 2 + seed % 5
    calls = drawn_calls(seed, n_ranks)

    def rank_main(rank):
        draw = Random(f"{seed} {rank} {form}")
        memory = np.full(N_ENTRIES, -1, np.int64)
        read = [np.full(5, -2, np.int64) for _ in calls[rank]]
        win, dates = MPI.Win.Create(memory, 8, comm=WORLD), []

        def call(name, *args):
            """Leave a call to Python in the form that is left to it."""
            return getattr(win, f"_{name}" if form == "displaced" and surface is not None else name)(*args)

        call("Lock_all")
        for number, (name, target, first, count, share) in enumerate(calls[rank]):
            into = read[number][:count]
            given = np.arange(count) + 1000 * rank + 10 * number
            shape = FORMS[form if form != "mixed" else draw.choice(list(FORMS))]
            place = TARGETS["number" if form != "mixed" else draw.choice(list(TARGETS))](first, count)
            if name == "compute":
                current().sleep(share * 1e-5)
            elif name in ("Put", "Rput", "Accumulate"):
                getattr(win, name)(shape(given), target, place)
                given[:] = -3
            elif name == "Get":
                win.Get(shape(into), target, place)
            elif name == "Rget":
                win.Rget(shape(into), target, place).Wait()
            elif name == "Lock":  # writes what is under way there
                call("Unlock_all")
                call("Lock", target, [MPI.LOCK_EXCLUSIVE, MPI.LOCK_SHARED][number % 2])
                read[number][0] = memory[0]
                call("Unlock", target)
                call("Lock_all")
            elif name == "Flush_all":
                win.Flush_all()
            else:
                call(name, target)
            dates.append(MPI.Wtime())
        call("Unlock_all")
        WORLD.Barrier()
        win.Free()
        return [entries.tolist() for entries in read], memory.tolist(), dates

    return run_world(n_ranks, rank_main).returned


def check_forms(seed):
    left_to_python = outcome(seed, "displaced")
    for form in ("whole", "counted", "mixed"):
        assert outcome(seed, form) == left_to_python, f"seed {seed}, {form}"


@pytest.mark.parametrize("seed", range(20))
def test_compiled_accesses_leave_the_bytes_and_dates_of_python_s(seed):
    check_forms(seed)


@pytest.mark.campaign
def test_a_thousand_drawn_programs_are_the_same_compiled_and_in_python():
    for seed in range(20, 1020):
        check_forms(seed)


@pytest.mark.skipif(surface is None, reason="without the compiled surface all accesses are Python's")
def test_plain_accesses_and_locks_are_not_python_s(monkeypatch):
    made = []
    for owner, name in (accesses, "_put"), (accesses, "_get"), (WindowPart, "append_flush"):
        method = getattr(owner, name)

        def noted(*args, method=method, name=name, **named):
            made.append(name)
            return method(*args, **named)

        monkeypatch.setattr(owner, name, noted)

    def rank_main(rank):
        win = MPI.Win.Create(np.zeros(4), 8, comm=WORLD)
        for turn in range(5 if rank == 0 else 0):
            win.Lock_all()
            win.Put(np.zeros(2), target_rank=1, target=turn % 2)
            win.Get(np.zeros(2), 1)
            MPI.Request.Waitall([win.Rput(np.zeros(2), 1), win.Rget(np.zeros(2), 1)])
            win.Flush(rank=1)
            win.Flush_local(1)
            win.Unlock_all()
            win.Lock(1)
            win.Unlock(rank=1)
            win.Lock(0, MPI.LOCK_SHARED, assertion=MPI.MODE_NOCHECK)
            win.Put(np.zeros(2), 0)  # a copy
            win.Unlock(0)
        WORLD.Barrier()
        win.Free()

    run_world(2, rank_main)
    assert made == ["_put"] * 5


@pytest.mark.parametrize("form", FORMS)
def test_a_put_that_a_lock_has_written_is_not_written_again(form):
    def rank_main(rank):
        memory = np.zeros(100_000, np.int64)
        win = MPI.Win.Create(memory, 8, comm=WORLD)
        for _ in range(2):  # the second time the target is known
            memory[:] = 0
            WORLD.Barrier()
            if rank == 0:
                win.Lock(1, MPI.LOCK_SHARED)
                win.Put(FORMS[form](np.ones(100_000, np.int64)), 1)
                WORLD.Send(b"", 1)
                win.Unlock(1)
            elif rank == 1:
                WORLD.Recv(bytearray(), 0)
                current().sleep(1e-6)
                before = int(memory.sum())
                win.Lock(1, MPI.LOCK_SHARED)
                locked = int(memory.sum())
                memory[:] = 7
                win.Unlock(1)
            WORLD.Barrier()
        win.Free()
        return (before, locked, int(memory.sum())) if rank == 1 else None

    assert run_world(2, rank_main).returned[1] == (0, 100_000, 700_000)


@pytest.mark.parametrize("forms", [("whole", "displaced"), ("displaced", "whole"), ("whole", "whole")])
def test_puts_that_arrive_one_after_the_other_are_written_in_this_order(forms):
    def rank_main(rank):
        memory = np.zeros(1, np.int64)
        win = MPI.Win.Create(memory, 8, comm=WORLD)
        win.Fence()
        for turn in range(3):
            if rank == 0:
                for number, form in enumerate(forms):
                    win.Put(FORMS[form](np.array([10 * turn + number])), 1)
            win.Fence()
        win.Free()
        return int(memory[0])

    assert run_world(2, rank_main).returned[1] == 21


def test_puts_under_way_when_the_world_ends_are_forgotten():
    kept = []

    def rank_main(rank):
        memory = bytearray(1_000_000)
        array = np.frombuffer(memory, np.int64)
        win = MPI.Win.Create(array, 8, comm=WORLD)
        if rank == 1:
            kept.append(weakref.ref(array))
        win.Fence()
        for _ in range(3 if rank == 0 else 0):
            win.Put(np.ones(125_000, np.int64), 1)
        return int(array.sum()) if rank == 1 else None

    assert run_world(2, rank_main).returned[1] == 0
    gc.collect()
    assert kept[0]() is None


@pytest.mark.parametrize("call", ["Flush", "Flush_local"])
def test_very_many_flushes_at_one_date_take_time(call):
    def looked(other):
        def rank_main(rank):
            memory = np.zeros(1, np.int64)
            win, n = MPI.Win.Create(memory, 8, comm=WORLD), 0
            win.Lock_all()
            if rank == 1:
                current().sleep(1e-4)
                win.Put(np.ones(1, np.int64), 0)
            while rank == 0 and not memory[0] and n < 100_000:
                getattr(win, call)(other)
                n += 1
            win.Unlock_all()
            win.Free()
            return n, MPI.Wtime()

        return run_world(2, rank_main).returned

    compiled, left_to_python = looked(1), looked(np.int64(1))
    assert 1_000 < compiled[0][0] < 100_000
    assert compiled == left_to_python


def test_flush_all_of_a_large_window_completes_compiled_puts():
    def rank_main(rank):
        memory = np.zeros(1_000)
        win, dates = MPI.Win.Create(memory, 8, comm=WORLD), [MPI.Wtime()]
        win.Lock_all()
        for _ in range(3 if rank == 0 else 0):  # all but the first are compiled
            win.Put(np.ones(1_000), 299)
            win.Flush_all()
            dates.append(MPI.Wtime())
        win.Unlock_all()
        win.Free()
        return np.diff(dates).tolist()

    took_s = run_world(300, rank_main).returned[0]
    assert took_s == pytest.approx([took_s[0]] * 3, rel=0.2)


WRONG = {
    "a rank too high": lambda win, array: win.Put(array, 2),
    "no rank": lambda win, array: win.Put(array, "1"),
    "beyond the memory": lambda win, array: win.Put(array, 1, 3),
    "far beyond the memory": lambda win, array: win.Get(array, 1, 2**31 - 1),
    "before the memory": lambda win, array: win.Put(array, 1, -1),
    "another size": lambda win, array: win.Put(array, 1, [0, 1, MPI.DOUBLE]),
    "a negative count": lambda win, array: win.Put(array, 1, [0, -1, MPI.DOUBLE]),
    "no target": lambda win, array: win.Put(array, 1, "target"),
    "a type that is not committed": lambda win, array: win.Put(array, 1, [0, 1, MPI.DOUBLE.Create_contiguous(2)]),
    "no buffer": lambda win, array: win.Put(3, 1),
    "a buffer to read only": lambda win, array: win.Get(bytes(8), 1),
    "no epoch": lambda win, array: (win.Unlock_all(), win.Put(array, 1)),
    "a flush without a lock": lambda win, array: (win.Unlock_all(), win.Flush(1)),
    "a local flush without a lock": lambda win, array: (win.Unlock_all(), win.Flush_local(1)),
    "a flush of a rank too high": lambda win, array: win.Flush(2),
    "a lock in that of all": lambda win, array: win.Lock(1),
    "a lock twice": lambda win, array: (win.Unlock_all(), win.Lock(1, 2), win.Lock(1)),
    "a lock of no kind": lambda win, array: (win.Unlock_all(), win.Lock(1, 3)),
    "a lock of a rank too high": lambda win, array: (win.Unlock_all(), win.Lock(2)),
    "a lock with a wrong assertion": lambda win, array: (win.Unlock_all(), win.Lock(1, 1, 32)),
    "a lock in an epoch of groups": lambda win, array: (
        *(win.Unlock_all(), win.Post(win.group), win.Start(win.group), win.Lock(1)),
    ),
    "an unlock without a lock": lambda win, array: win.Unlock(1),
    "an unlock of all without one": lambda win, array: (win.Unlock_all(), win.Unlock_all()),
    "a lock of all twice": lambda win, array: win.Lock_all(),
    "a lock of all in a lock": lambda win, array: (win.Unlock_all(), win.Lock(1, 2), win.Lock_all()),
    "an access after an unlock": lambda win, array: (
        *(win.Unlock_all(), win.Lock(1, 2), win.Unlock(1), win.Put(array, 1)),
    ),
    "an access after a fence that a lock ends": lambda win, array: (
        *(win.Unlock_all(), win.Fence(), win.Lock(0, 2), win.Put(array, 1)),
    ),
    "a window that is null": lambda win, array: MPI.WIN_NULL.Put(array, 1),
    "too few arguments": lambda win, array: win.Put(array),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_error_of_a_target_that_is_known_is_that_of_one_that_is_not(what):
    def raised(n_before):
        def rank_main(rank):
            win, array = MPI.Win.Create(np.zeros(4), 8, comm=WORLD), np.zeros(2)
            win.Lock_all()
            for _ in range(n_before):
                win.Put(array, 1 - rank)
                win.Flush(1 - rank)
            try:
                WRONG[what](win, array)
            except Exception as error:  # noqa: BLE001  # whichever it is, it has to be the same
                return type(error), str(error), getattr(error, "__notes__", [])
            return None

        return run_world(2, rank_main).returned

    assert None not in raised(0)
    assert raised(2) == raised(0)


def test_accesses_end_with_an_error_when_another_handle_has_freed_the_window():
    def rank_main(rank):
        win = MPI.Win.Create(np.zeros(4), 8, comm=WORLD)
        other = MPI.Win(win)
        win.Lock_all()
        win.Put(np.zeros(1), 1 - rank)
        win.Put(np.zeros(1), 1 - rank)
        win.Unlock_all()
        win.Free()
        with pytest.raises(MPI.Exception, match="Free has been called on another handle"):
            other.Put(np.zeros(1), 1 - rank)
        return True

    assert run_world(2, rank_main).returned == [True, True]
