"""Buffers of accesses to windows that a program changes before they are complete are named by their lines."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest

HEAD = (
    "x, y, n, m = np.zeros(4), np.zeros(4), np.zeros(1, 'i8'), np.zeros(1, 'i8'); everybody = comm.Get_group()\n"
    "win = MPI.Win.Allocate(80, 8, comm=comm); win.Lock_all()\n"
)
TAIL = "\neverybody.Free(); comm.Barrier(); win.Free()\n"


@pytest.fixture
def buffers(checked: Callable) -> Callable[[str], list]:
    """Mistakes of rank 0 about buffers; a program's first line is 3."""

    def found(source: str) -> list:
        mistakes = checked(HEAD + source + TAIL)
        assert set(mistakes) <= {"buffers"}
        return mistakes.get("buffers", [])

    return found


CHANGED = {
    "of a put": "win.Put(x, right)\nif rank == 0: x[0] = 1\nwin.Unlock_all()",
    "of a put to itself": "win.Put(x, rank)\nif rank == 0: x[0] = 1\nwin.Flush(rank); win.Unlock_all()",
    "of a part of an array": "win.Put(x[1:3], right)\nif rank == 0: x[2] = 1\nwin.Flush_local(right); win.Unlock_all()",
    "of an accumulate": "win.Accumulate(x, right)\nif rank == 0: x[0] = 1\nwin.Flush_local_all(); win.Unlock_all()",
    "of a put with a request": "r = win.Rput(x, right)\nif rank == 0: x[0] = 1\nr.Wait(); win.Unlock_all()",
    "of an accumulate with a request": (
        "r = win.Raccumulate(x, right)\nif rank == 0: x[0] = 1\nr.Wait(); win.Unlock_all()"
    ),
    "read by get": "win.Get(x, right)\nif rank == 0: x[0] = 1\nwin.Flush(right); win.Unlock_all()",
    "read by get with a request": "r = win.Rget(x, right)\nif rank == 0: x[0] = 1\nr.Wait(); win.Unlock_all()",
    "fetched": "win.Fetch_and_op(n, m, right)\nif rank == 0: m[0] = 5\nwin.Flush(right); win.Unlock_all()",
    "added": "win.Fetch_and_op(n, m, right)\nif rank == 0: n[0] = 5\nwin.Flush_all(); win.Unlock_all()",
    "compared": (
        "p = n + 1; win.Compare_and_swap(n, p, m, right)\nif rank == 0: p[0] = 5\nwin.Flush_all(); win.Unlock_all()"
    ),
    "fetched with a request": (
        "r = win.Rget_accumulate(x, y, right)\nif rank == 0: y[0] = 5\nr.Wait(); win.Unlock_all()"
    ),
    "between fences": (
        "win.Unlock_all(); win.Fence(); win.Put(x, right)\nif rank == 0: x[0] = 1\nwin.Fence(MPI.MODE_NOSUCCEED)"
    ),
    "between start and complete": (
        "win.Unlock_all(); win.Post(everybody); win.Start(everybody); win.Put(x, right)\nif rank == 0: x[0] = 1\n"
        "win.Complete(); win.Wait()"
    ),
}


@pytest.mark.parametrize("program", CHANGED.values(), ids=CHANGED)
def test_a_buffer_changed_before_the_access_is_complete_is_named_by_both_lines(buffers: Callable, program: str):
    assert buffers(program) == [[(0, 3), (0, 5)]]


def test_a_buffer_changed_for_the_next_access_of_its_line_is_named(buffers: Callable):
    assert buffers("for i in range(3):\n  if rank == 0: x[0] = i\n  win.Put(x[:1], right, i)\nwin.Unlock_all()") == [
        [(0, 5)]
    ]


LEFT_ALONE = {
    "changed after a flush": "win.Put(x, right); win.Flush(right); x[0] = 1; win.Unlock_all()",
    "changed after a local flush": "win.Put(x, right); win.Flush_local(right); x[0] = 1; win.Unlock_all()",
    "changed after the end of the epoch": "win.Get(x, right); win.Unlock_all(); x[0] = 1",
    "changed after a wait": "win.Rput(x, right).Wait(); x[0] = 1; win.Unlock_all()",
    "changed after a test": "r = win.Rget(x, right)\nwhile not r.Test(): pass\nx[0] = 1; win.Unlock_all()",
    "a flush before the wait": "r = win.Rput(x, right); win.Flush(right); x[0] = 1; r.Wait(); win.Unlock_all()",
    "another target is flushed later": (
        "win.Put(x, right); win.Flush(right); win.Put(y, rank, 4); x[0] = 1; win.Unlock_all()"
    ),
    "another part is changed": "win.Put(x[:2], right); x[2] = 1; win.Unlock_all()",
    "the data of a get": (
        "win.Put(np.ones(4), rank); win.Flush(rank); comm.Barrier(); win.Get(x, right); win.Flush(right)\n"
        "assert x.all(); win.Unlock_all()"
    ),
    "the result of a fetch": "win.Fetch_and_op(n + 1, m, right); win.Flush(right); m[0] += 1; win.Unlock_all()",
    "an origin that counts for nothing": (
        "win.Fetch_and_op(n, m, right, 0, MPI.NO_OP); n[0] = 5; win.Get_accumulate(x, y, right, op=MPI.NO_OP)\n"
        "x[0] = 5; win.Unlock_all()"
    ),
    "temporary arrays": "for i in range(9): win.Put(np.full(1, i), right, i)\nwin.Unlock_all()",
    "a loop that flushes": (
        "for i in range(3): x[0] = i; win.Put(x, right, 4 * (i % 2)); win.Flush(right)\nwin.Unlock_all()"
    ),
    "folded memory": "import smpy; f = smpy.folded((4,)); win.Put(f, right); f[0] = 1; win.Unlock_all()",
    "to nobody": "win.Put(x, MPI.PROC_NULL); win.Rput(x, MPI.PROC_NULL).Wait(); x[0] = 1; win.Unlock_all()",
}


@pytest.mark.skipif(find_spec("mpi4py") is None, reason="mpi4py is not installed")
def test_objects_of_mpi4py_are_left_alone(buffers: Callable):
    program = (
        "from mpi4py.util.sync import Counter, Mutex\nc = Counter(comm=comm); [c.next() for i in range(3)]; c.free()\n"
        "k = Mutex(comm=comm); k.acquire(); k.release(); k.free(); win.Unlock_all()"
    )
    assert buffers(program) == []


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_a_program_that_completes_accesses_first_is_left_alone(buffers: Callable, program: str):
    assert buffers(program) == []
