"""Loops that only look, such as `while not done: pass`, end when another thread or rank assigns what they look at."""

from collections.abc import Callable

import pytest

from smpy.emulate.modules.looking_loops import GIVE_WAY, code_with_giving_way
from smpy.emulate.run import poll_watch

PROGRAM = """
import threading, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
"""


@pytest.mark.parametrize("loop", ["while not done: pass", "while len(done) == 0:\n    looks += 1", "watch.wait(done)"])
def test_a_loop_without_calls_ends_when_a_thread_assigns(emulated: Callable, loop: str):
    program = f"""{PROGRAM}
import watch
done, looks = [], 0
threading.Thread(target=lambda: (time.sleep(1), done.append(1))).start()
{loop}
assert 1 <= MPI.Wtime() < 1.006, MPI.Wtime()
"""
    files = {"watch.py": "def wait(done):\n    while not done:\n        continue\n"}
    assert emulated(program, 2, files=files).error == ""


def test_a_loop_that_looks_at_shared_memory_ends_when_another_rank_writes(emulated: Callable):
    program = f"""{PROGRAM}
window = MPI.Win.Allocate_shared(1 if comm.rank == 0 else 0, comm=comm)
memory = window.Shared_query(0)[0]
if comm.rank == 1:
    time.sleep(1)
    memory[0] = 7
while memory[0] != 7: pass
window.Free()
"""
    assert emulated(program, 2).error == ""


def test_dates_of_looks_are_the_same_in_every_run(emulated: Callable):
    program = f"""{PROGRAM}
done = False
def finish():
    global done
    time.sleep(0.3)
    done = True
threading.Thread(target=finish).start()
while not done: pass
print(repr(MPI.Wtime()))
"""
    assert emulated(program, 3).out == emulated(program, 3).out != ""


@pytest.mark.parametrize(
    "loop",
    [
        "while n < 9: n += 1",
        "while step(): pass",
        "while not done: n += f()",
        "while not done: time.sleep(0)",
        "while (n := n + 1) < 9: pass",
        "for n in range(9): pass",
    ],
)
def test_a_loop_that_can_end_by_itself_is_left_alone(loop: str):
    assert code_with_giving_way(loop.encode(), "program.py") is None


def test_a_loop_keeps_its_lines():
    code = code_with_giving_way(b"\n\nwhile not done:\n    pass\n", "program.py")
    assert code is not None
    assert GIVE_WAY in code.co_names
    assert {line for *_, line in code.co_lines() if line} == {3, 4}


def test_threads_that_wait_for_each_other_s_flags_are_told(emulated: Callable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(poll_watch, "_IDLE_LOOKS_MAX", 1000)
    program = f"""{PROGRAM}
flags = [False, False]
def wait(own, other):
    n = 0
    while not flags[other]:
        time.sleep(0)
        n += 1
        if n == 40_000:  # a second: the watch looks each 50 ms
            break
    flags[own] = True
threads = [threading.Thread(target=wait, args=pair) for pair in ((0, 1), (1, 0))]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    ran = emulated(program, 1)
    assert ran.error == ""
    assert "of simulated time, loops look " in ran.err
    assert "rank 0 at program.py:10\n" in ran.err
    assert ran.err.count("smpy:") == 1
