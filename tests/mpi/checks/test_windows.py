"""Mistakes about windows: accesses outside an epoch, epochs left open, and accesses of one epoch that conflict."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.mpi.checks.conftest import HEAD as HEAD_OF_PROGRAM

N_RANKS = 3
HEAD = (
    "x, y, n = np.zeros(2), np.zeros(2), np.zeros(1, 'i8'); everybody = comm.Get_group(); "
    "win = MPI.Win.Allocate(80, 8, comm=comm); two = MPI.DOUBLE.Create_vector(2, 1, 2).Commit(); "
    "win2 = MPI.Win.Allocate(80, 1, comm=comm); "
    "SHARED = MPI.LOCK_SHARED\n"
)
TAIL = "\neverybody.Free(); two.Free(); comm.Barrier()\nif 'is_open' not in dir(): win.Free(); win2.Free()\n"
MINE = "no epoch", "epochs", "conflicts"


@pytest.fixture
def windows(checked: Callable) -> Callable[[str], dict[str, list]]:
    """Mistakes of a program about windows, by topic; its first line is 2."""

    def found(source: str) -> dict[str, list]:
        mistakes = checked(HEAD + source + TAIL, N_RANKS)
        return {topic: mistakes[topic] for topic in MINE if topic in mistakes}

    return found


# ---- outside an epoch ----

OUTSIDE = {
    "before any": "win.Put(x, right)",
    "after the last fence": "win.Fence(); win.Fence(MPI.MODE_NOSUCCEED)\nwin.Put(x, right)",
    "a read after the last fence": "win.Fence(); win.Fence(MPI.MODE_NOSUCCEED)\nwin.Get(x, right)",
    "an accumulate after an unlock": "win.Lock(right, SHARED); win.Unlock(right)\nwin.Accumulate(x, right)",
    "of a rank that is not locked": "win.Lock(right, SHARED)\nwin.Get(x, left)",
    "after locks that end a fence's": "win.Fence(); win.Lock(0, SHARED); win.Unlock(0)\nwin.Fetch_and_op(n, n, 0)",
    "after complete": "win.Post(everybody); win.Start(everybody); win.Complete(); win.Wait()\nwin.Put(x, 0)",
}


@pytest.mark.parametrize("program", OUTSIDE.values(), ids=OUTSIDE)
def test_an_access_outside_an_epoch_is_an_error_of_its_line(emulated: Callable, program: str):
    ran = emulated(HEAD_OF_PROGRAM + HEAD + program + "\n", N_RANKS, checks=True)
    line = (HEAD_OF_PROGRAM + HEAD + program).count("\n") + 1
    assert "there is no access epoch to rank" in ran.error
    assert f'program.py", line {line}' in ran.error

    assert [remark.facts["n"] for remark in ran.outcome.summary.remarks if remark.topic == "no epoch"] == [1]


UNHEARD = {
    **OUTSIDE,
    "an unlock without a lock": "win.Lock(0, SHARED); win.Unlock(0)\nwin.Unlock(0)",
    "an unlock of another rank": "win.Lock(0, SHARED)\nwin.Unlock(1)",
    "an unlock of all of one lock": "win.Lock(0, SHARED)\nwin.Unlock_all()",
    "a flush without a lock": "win.Fence()\nwin.Flush(0)",
    "a local flush of another rank": "win.Lock(0, SHARED)\nwin.Flush_local(1)",
    "completing nothing": "win.Fence()\nwin.Complete()",
    "waiting for nobody": "\nwin.Wait()",
}


@pytest.mark.parametrize("program", UNHEARD.values(), ids=UNHEARD)
def test_a_call_outside_an_epoch_is_named_where_the_program_goes_on(windows: Callable, program: str):
    before, _, last = program.rpartition("\n")
    found = windows(f"is_open = 1\n{before}\ntry: {last}\nexcept MPI.Exception as e: assert e == MPI.ERR_RMA_SYNC")
    assert sorted(found["no epoch"]) == [[(rank, 4)] for rank in range(N_RANKS)]
    assert not found.get("conflicts")


@pytest.mark.parametrize("call", ["Rput(x, right)", "Rget(x, right)", "Raccumulate(x, right)"])
@pytest.mark.parametrize("epoch", ["win.Fence(); {}\nwin.Fence()", "win.Post(everybody); win.Start(everybody); {}\n"])
def test_an_access_with_a_request_needs_a_lock(windows: Callable, call: str, epoch: str):
    found = windows(("is_open = 1\n" + epoch + "\n").format(f"\nwin.{call}.Wait()"))
    assert sorted(found["no epoch"]) == [[(rank, 4)] for rank in range(N_RANKS)]


# ---- left open ----

EACH = [[(rank, 3)] for rank in range(N_RANKS)]
OPEN = {
    "a lock": ("is_open = 1\nwin.Lock(rank, SHARED)", EACH),
    "an exclusive lock": ("is_open = 1\nwin.Lock(rank)", EACH),
    "one lock of two": (
        "is_open = rank\nwin.Lock(0, SHARED); win.Lock(1, SHARED)\nwin.Unlock(0)",
        EACH,
    ),
    "a lock of one rank": ("is_open = 1\nwin.Lock(1, SHARED)\nif rank != 2: win.Unlock(1)", [[(2, 3)]]),
    "a lock of all": ("is_open = 1\n\nwin.Lock_all()", [[(rank, 4)] for rank in range(N_RANKS)]),
    "an epoch of accesses": (
        "is_open = 1\nwin.Post(everybody)\nwin.Start(everybody)\nif rank: win.Complete()\n",
        [[(0, 3)], [(0, 4)], [(1, 3)], [(2, 3)]],
    ),
    "an exposure": (
        "is_open = 1\nwin.Post(everybody)\nwin.Start(everybody)\nwin.Complete()\nif rank: win.Wait()\n",
        [[(0, 3)]],
    ),
    "an exposure that was not tested to its end": (
        (
            "is_open = 1\nwin.Post(everybody)\nwin.Start(everybody)\nif rank == 1: assert not win.Test()\n"
            "comm.Barrier(); win.Complete()\nif rank != 1: win.Wait()"
        ),
        [[(1, 3)]],
    ),
    "a fence's with accesses": ("win.Fence()\nwin.Put(x, right)", [[(rank, 2)] for rank in range(N_RANKS)]),
    "a fence's of a window that is not freed": (
        "is_open = 1\nwin.Fence()\nif rank == 1: win.Get(x, right)",
        [[(1, 3)]],
    ),
}


@pytest.mark.parametrize(("program", "lines"), OPEN.values(), ids=OPEN)
def test_an_epoch_that_is_left_open_is_named_by_the_line_that_opened_it(windows: Callable, program: str, lines: list):
    found = windows(program)
    assert sorted(found.pop("epochs")) == sorted(lines)
    assert not found


SECOND = {
    "the end of a locked window": ("win.Lock(0, SHARED)\ntry: win.Free()", "win.Unlock(0)"),
    "a second lock": ("win.Lock(0, SHARED)\ntry: win.Lock_all()", "win.Unlock(0)"),
    "a start in a lock": ("win.Lock(0, SHARED)\ntry: win.Start(everybody)", "win.Unlock(0)"),
    "a second exposure": (
        "win.Post(everybody)\ntry: win.Post(everybody)",
        "win.Start(everybody); win.Complete(); win.Wait()",
    ),
    "a fence in an exposure": (
        "win.Post(everybody)\ntry: win.Fence()",
        "win.Start(everybody); win.Complete(); win.Wait()",
    ),
    "a lock after accesses of a fence": (
        "win.Fence(); win.Put(x[:1], 0, rank)\ntry: win.Lock(0, SHARED)",
        "win.Unlock(0)",
    ),
    "a start after accesses of a fence": (
        "win.Fence(); win.Get(x, right); win.Post(everybody)\ntry: win.Start(everybody)",
        "win.Complete(); win.Wait()",
    ),
    "a fence that completes nothing": ("win.Fence(); win.Put(x, right)\ntry: win.Fence(MPI.MODE_NOPRECEDE)", ""),
}


@pytest.mark.parametrize(("program", "after"), SECOND.values(), ids=SECOND)
def test_an_epoch_that_another_call_finds_open_is_named_by_both_lines(windows: Callable, program: str, after: str):
    found = windows(f"{program}\nexcept MPI.Exception: pass\n{after}")
    assert list(found) == ["epochs"]
    ((first, second),) = found["epochs"]
    assert [first[1], second[1]] == [2, 3]
    assert first[0] == second[0]


ENDED = {
    "fences": "win.Fence(); win.Put(x, right); win.Fence()",
    "fences with assertions": (
        "win.Fence(MPI.MODE_NOPRECEDE); win.Put(x, right); "
        "win.Fence(MPI.MODE_NOSTORE | MPI.MODE_NOPUT | MPI.MODE_NOSUCCEED)"
    ),
    "a last fence of a window that is not freed": "is_open = 1; win.Fence(); win.Put(x, right); win.Fence()",
    "a lock": "win.Lock(rank, SHARED); win.Unlock(rank)",
    "an exclusive lock, twice": "for _ in '12': win.Lock(0); win.Put(x, 0); win.Unlock(0)",
    "locks of several": "[win.Lock(t, SHARED) for t in range(size)]; [win.Unlock(t) for t in range(size)]",
    "a lock of nobody": "is_open = 1; win.Lock(MPI.PROC_NULL, SHARED)",
    "a lock of all": "win.Lock_all(); win.Unlock_all()",
    "groups": "win.Post(everybody); win.Start(everybody); win.Put(x[:1], 0, rank); win.Complete(); win.Wait()",
    "groups, tested": ("win.Post(everybody); win.Start(everybody); win.Complete()\nwhile not win.Test(): pass"),
    "an access that was refused": ("win.Fence()\ntry: win.Put(x, right, 99)\nexcept MPI.Exception: pass\n"),
}


@pytest.mark.parametrize("program", ENDED.values(), ids=ENDED)
def test_an_epoch_that_is_ended_is_left_alone(windows: Callable, program: str):
    assert not windows(program)


def test_a_run_that_fails_tells_of_no_open_epochs(emulated: Callable):
    program = "from mpi4py import MPI\nwin = MPI.Win.Allocate(8, comm=MPI.COMM_WORLD)\nwin.Lock_all()\n1 / 0\n"
    ran = emulated(program, 2, checks=True)
    assert "ZeroDivisionError" in ran.error
    assert not [remark for remark in ran.outcome.summary.remarks if remark.topic in MINE]


# ---- accesses that conflict ----

FENCED = "win.Fence()\n{}\nwin.Fence()"
ALL_LOCKED = "win.Lock_all(); comm.Barrier()\n{}\ncomm.Barrier(); win.Unlock_all()"
EXPOSED = "win.Post(everybody); win.Start(everybody)\n{}\nwin.Complete(); win.Wait()"

OF_TWO = {
    "two writes": ("win.Put(x, 0)", "win.Put(x, 0)"),
    "a write and a read": ("win.Put(x, 0)", "win.Get(x, 0)"),
    "parts that overlap": ("win.Put(x, 0, 2)", "win.Put(x, 0, 3)"),
    "a long one and a short one": ("win.Put(np.zeros(10), 0)", "win.Get(x[:1], 0, 9)"),
    "a write and an accumulate": ("win.Put(x, 0)", "win.Accumulate(x, 0)"),
    "a read and an accumulate": ("win.Accumulate(x, 0)", "win.Get(x, 0)"),
    "a write and a fetch": ("win.Put(x, 0)", "win.Fetch_and_op(n, n.copy(), 0, 1)"),
    "a write and a read of all the accumulate's": ("win.Put(x, 0)", "win.Get_accumulate(x, y, 0, op=MPI.NO_OP)"),
    "a write and a compare-and-swap": ("win.Put(x, 0)", "win.Compare_and_swap(n, n, n.copy(), 0)"),
    "different operations": ("win.Accumulate(x, 0, op=MPI.MAX)", "win.Accumulate(x, 0, op=MPI.SUM)"),
    "different types": ("win.Accumulate(x[:1], 0)", "win.Accumulate(n, 0)"),
    "vectors that share an element": ("win.Put([x, 2], 0, [0, 1, two])", "win.Put([x, 2], 0, [2, 1, two])"),
    "an element of a vector": ("win.Put([x, 2], 0, [0, 1, two])", "win.Get(x[:1], 0, 2)"),
    "other types of one place": ("win.Put(x, 0)", "win.Put(np.zeros(1, 'i1'), 0, [0, 1, MPI.BYTE])"),
}


@pytest.mark.parametrize("epoch", [FENCED, ALL_LOCKED, EXPOSED], ids=["fences", "locks", "groups"])
@pytest.mark.parametrize("accesses", OF_TWO.values(), ids=OF_TWO)
def test_accesses_of_two_ranks_that_conflict_are_named_by_both(windows: Callable, epoch: str, accesses: tuple):
    found = windows(epoch.format("if rank == 1: r = {}\nif rank == 2: r = {}".format(*accesses)))
    assert found == {"conflicts": [[(1, 3), (2, 4)]]}


@pytest.mark.parametrize("epoch", [FENCED, ALL_LOCKED, EXPOSED], ids=["fences", "locks", "groups"])
@pytest.mark.parametrize("accesses", list(OF_TWO.values())[:8], ids=list(OF_TWO)[:8])
def test_accesses_of_one_rank_that_conflict_are_named(windows: Callable, epoch: str, accesses: tuple):
    found = windows(epoch.format("if rank == 1:\n    r = {}\n    r = {}".format(*accesses)))
    assert found == {"conflicts": [[(1, 4), (1, 5)]]}


CONFLICTS = {
    "with requests": (
        ALL_LOCKED.format("if rank == 1: win.Rput(x, 0).Wait()\nif rank == 2: r = win.Rget(x, 0); r.Wait()"),
        [(1, 3), (2, 4)],
    ),
    "a write twice": ("win.Fence()\nif rank == 1:\n  for _ in '12': win.Put(x, 0)\nwin.Fence()", [(1, 4), (1, 4)]),
    "a rank's own part": ("win.Fence()\nif rank < 2: win.Put(x, 0)\nwin.Fence()", [(0, 3), (1, 3)]),
    "before a local flush": (
        "win.Lock(0, SHARED)\nif rank == 1:\n  win.Put(x, 0); win.Flush_local(0)\n  win.Get(y, 0)\nwin.Unlock(0)",
        [(1, 4), (1, 5)],
    ),
    "flushed elsewhere": (
        "win.Lock_all()\nif rank == 1:\n  win.Put(x, 0); win.Flush(2)\n  win.Put(x, 0)\nwin.Unlock_all()",
        [(1, 4), (1, 5)],
    ),
    "written with a request": (
        "win.Lock(0, SHARED)\nif rank == 1:\n  win.Rput(x, 0).Wait()\n  win.Put(x, 0)\nwin.Unlock(0)",
        [(1, 4), (1, 5)],
    ),
    "read with a request that is under way": (
        "win.Lock(0, SHARED)\nif rank == 1:\n  r = win.Rget(x, 0)\n  win.Put(y, 0)\n  r.Wait()\nwin.Unlock(0)",
        [(1, 4), (1, 5)],
    ),
    "a message before the flush": (
        (
            "win.Lock(0, SHARED)\nif rank == 1:\n  win.Put(x, 0); comm.send(1, 2); comm.recv(None, 2)\nif rank == 2:\n"
            "  comm.recv(None, 1)\n  win.Put(x, 0); comm.send(1, 1)\nwin.Unlock(0)"
        ),
        [(1, 4), (2, 7)],
    ),
    "dynamic memory": (
        (
            "w = MPI.Win.Create_dynamic(comm=comm); w.Attach(x); at = comm.bcast(MPI.Get_address(x)); w.Fence()\n"
            "if rank: w.Put(y[:1], 0, at + 8)\nw.Fence(); w.Detach(x); w.Free()"
        ),
        [(1, 3), (2, 3)],
    ),
}


@pytest.mark.parametrize(("program", "sides"), CONFLICTS.values(), ids=CONFLICTS)
def test_accesses_that_conflict_are_named(windows: Callable, program: str, sides: list):
    (conflicts,) = windows(program).values()
    assert [sorted(each) for each in conflicts] == [sides]


FITTING = {
    "two reads": ("win.Get(x, 0)", "win.Get(x, 0)"),
    "side by side": ("win.Put(x, 0, 2)", "win.Put(x, 0, 4)"),
    "vectors one in the other": ("win.Put([x, 2], 0, [0, 1, two])", "win.Put([x, 2], 0, [1, 1, two])"),
    "between elements of a vector": ("win.Put([x, 2], 0, [0, 1, two])", "win.Get(x[:1], 0, 1)"),
    "other targets": ("win.Put(x, 0)", "win.Put(x, 1)"),
    "other windows": ("win.Put(x, 0)", "win2.Put(x, 0)"),
    "no entries": ("win.Put(x, 0)", "win.Put(x[:0], 0)"),
    "nobody": ("win.Put(x, MPI.PROC_NULL)", "win.Put(x, MPI.PROC_NULL)"),
    "one operation": ("win.Accumulate(x, 0)", "win.Accumulate(x, 0)"),
    "replacing": ("win.Accumulate(x, 0, op=MPI.REPLACE)", "win.Accumulate(x, 0, op=MPI.REPLACE)"),
    "one operation by all its calls": ("win.Get_accumulate(n, n.copy(), 0)", "win.Fetch_and_op(n, n.copy(), 0)"),
    "fetching alone": ("win.Accumulate(x, 0)", "win.Get_accumulate(x, y, 0, op=MPI.NO_OP)"),
    "names of one type": ("win.Accumulate([n, MPI.LONG], 0)", "win.Accumulate([n, MPI.INT64_T], 0)"),
    "entries of one type": ("win.Accumulate([x, 2], 0, [0, 1, two])", "win.Accumulate(x, 0)"),
    "comparing": ("win.Compare_and_swap(n, n, n.copy(), 0)", "win.Fetch_and_op(n, n.copy(), 0, 0, MPI.REPLACE)"),
    "reading and fetching alone": ("win.Get(x, 0)", "win.Get_accumulate(x, y, 0, op=MPI.NO_OP)"),
}


@pytest.mark.parametrize("epoch", [FENCED, ALL_LOCKED, EXPOSED], ids=["fences", "locks", "groups"])
@pytest.mark.parametrize("accesses", FITTING.values(), ids=FITTING)
def test_accesses_that_fit_together_are_left_alone(windows: Callable, epoch: str, accesses: tuple):
    both = "win2.Fence()\n" + epoch + "\nwin2.Fence()"
    assert not windows(both.format("if rank == 1: r = {}\nif rank == 2: r = {}".format(*accesses)))


IN_ORDER = {
    "fences between": "win.Fence()\nfor who in range(size):\n  if who == rank: win.Put(x, 0)\n  win.Fence()",
    "groups between": (
        "for _ in '123':\n  win.Post(everybody); win.Start(everybody)\n  if rank == int(_) - 1: win.Put(x, 0)\n"
        "  win.Complete(); win.Wait()"
    ),
    "exclusive locks": "for _ in '123': win.Lock(0); win.Put(x, 0); win.Unlock(0)",
    "exclusive locks that others wait for": (
        "big = np.zeros(9)\nfor _ in '12':\n  win.Lock(0)\n  win.Get(big, 0); win.Flush(0)\n"
        "  win.Put(big + 1, 0)\n  win.Unlock(0)"
    ),
    "an exclusive lock after a shared one": (
        "if rank == 1: win.Lock(0, SHARED); win.Put(x, 0); win.Unlock(0)\nif rank == 2:\n"
        "  win.Lock(0); win.Put(x, 0); win.Unlock(0)"
    ),
    "shared locks one after the other": (
        "for who in range(size):\n  if who == rank: win.Lock(0, SHARED); win.Put(x, 0); win.Unlock(0)\n  comm.Barrier()"
    ),
    "a flush and a message": (
        "win.Lock_all()\nif rank == 1: win.Put(x, 0); win.Flush(0); comm.send(1, 2)\n"
        "if rank == 2: comm.recv(None, 1); win.Get(x, 0)\nwin.Unlock_all()"
    ),
    "a flush of all and a barrier": (
        "win.Lock_all()\nif rank == 1: win.Put(x, 0); win.Flush_all()\ncomm.Barrier()\n"
        "if rank == 2: win.Accumulate(x, 0)\nwin.Unlock_all()"
    ),
    "flushes of one rank": (
        "win.Lock(rank, SHARED)\nwin.Put(x, rank); win.Flush(rank); win.Get(y, rank); win.Flush_local(rank)\n"
        "win.Put(x, rank); win.Unlock(rank)"
    ),
    "reads that have come": "win.Lock(right, SHARED); win.Rget(x, right).Wait(); win.Put(x, right); win.Unlock(right)",
    "a read that was refused": (
        "win.Fence()\nif rank == 1:\n  try: win.Get_accumulate(x, y[:1], 0)\n  except MPI.Exception: pass\n"
        "if rank == 2: win.Put(x, 0)\nwin.Fence()"
    ),
    "accumulates of one rank": (
        "win.Fence(); win.Accumulate(x, right)\nwin.Accumulate(x, right, op=MPI.MAX); win.Fence()"
    ),
    "a counter": "win.Lock(0, SHARED); [win.Fetch_and_op(n, n.copy(), 0) for _ in range(9)]; win.Unlock(0)",
    "a fence's and a lock's": (
        "win.Fence()\nif rank == 1: win.Put(x, 0)\nwin.Fence()\n"
        "if rank == 2: win.Lock(0, SHARED); win.Put(x, 0); win.Unlock(0)"
    ),
}


@pytest.mark.parametrize("program", IN_ORDER.values(), ids=IN_ORDER)
def test_accesses_in_an_order_are_left_alone(windows: Callable, program: str):
    assert not windows(program)


def test_a_pair_of_lines_is_named_once_for_all_ranks(emulated: Callable):
    ran = emulated(HEAD_OF_PROGRAM + HEAD + "win.Fence()\nwin.Put(x, 0); win.Put(x, 1)\nwin.Fence()\n", 5, checks=True)
    remark = next(remark for remark in ran.outcome.summary.remarks if remark.topic == "conflicts")
    assert len(remark.facts["first"]) == 1
    assert remark.facts["n"] > 4
    assert [side["what"] for side in remark.facts["first"][0]["sides"]] == [
        "Put writes bytes 0-15 of rank 0's part"
    ] * 2


@pytest.mark.parametrize(("strict", "code"), [(True, 1), (False, 0)])
def test_mistakes_about_windows_are_errors_in_a_strict_run(emulated: Callable, strict: bool, code: int):
    program = "win.Fence(); win.Put(x, 0); win.Fence(); everybody.Free(); two.Free(); win.Free(); win2.Free()\n"
    assert emulated(HEAD_OF_PROGRAM + HEAD + program, 2, checks=True, strict=strict).code == code
