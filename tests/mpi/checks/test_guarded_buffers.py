"""Buffers of receives under way are guarded: who reads or writes one is named by its line, and goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mpi.checks.conftest import HEAD

TOUCHES = {
    "an element": "v = x[1]",
    "a part": "v = x[2:].copy()",
    "an expression": "v = x[1:3] + 1",
    "a sum of many": "v = x.sum()",
    "a product": "v = x @ x",
    "a conversion": "v = x.tolist()",
    "its text": "v = str(x)",
    "its bytes": "v = bytes(memoryview(x))",
    "a copy of it": "import copy; v = copy.copy(x)",
    "its pickle": "import pickle; v = pickle.dumps(x)",
    "a message that sends it": "comm.Send(x[:1], 0, 9)",
    "a function of a library": "v = np.linalg.norm(x)",
    "a function that is called": "v = (lambda: x[1])()",
    "a write": "x[1] = 5",
    "the same is written": "x[1] = 0",
}
BEGINNINGS = {
    "a receive": ("x = np.zeros({})", "r = comm.Irecv(x, 0)"),
    "any source": ("x = np.zeros({})", "r = comm.Irecv(x)"),
    "a persistent receive": ("x = np.zeros({}); r = comm.Recv_init(x, 0)", "r.Start()"),
    "a receive of entries": ("x = np.zeros({})", "r = comm.Irecv([x, MPI.DOUBLE], 0)"),
}
SENDER = (
    "if rank == 0:\n  comm.Barrier(); comm.Send(np.ones({}), 1); comm.Barrier()\n"
    "  if comm.Iprobe(1, 9): comm.Recv(np.ones(1), 1, 9)\nelse:\n"
)


def receiver(begin: tuple[str, str], touch: str, n: int, *, has_come: bool) -> str:
    """A program whose receive begins in line 6, and whose touch is in line 8."""
    before, start = begin
    lines = [before, start, "comm.Barrier(); comm.Barrier()" if has_come else "", touch]
    end = "r.Wait()" if has_come else "comm.Barrier(); comm.Barrier(); r.Wait()"
    return (SENDER + "".join(f"  {line}\n" for line in [*lines, end])).replace("{}", str(n))


@pytest.mark.parametrize("n", [4, 5000])
@pytest.mark.parametrize("has_come", [False, True], ids=["before the message", "after the message"])
@pytest.mark.parametrize("touch", TOUCHES.values(), ids=TOUCHES)
def test_a_touch_of_a_buffer_under_way_is_named_by_its_line(checked: Callable, touch: str, n: int, has_come: bool):
    found = checked(receiver(BEGINNINGS["a receive"], touch, n, has_come=has_come))
    assert found == {"buffers": [[(1, 6), (1, 8)]]}


@pytest.mark.parametrize("has_come", [False, True], ids=["before the message", "after the message"])
@pytest.mark.parametrize("begin", BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_read_is_named_however_the_receive_began(checked: Callable, begin: tuple[str, str], has_come: bool):
    found = checked(receiver(begin, "v = x[0]", 4, has_come=has_come))
    assert found["buffers"] == [[(1, 6), (1, 8)]]


def test_a_read_and_a_write_are_told_apart(emulated: Callable):
    program = receiver(BEGINNINGS["a receive"], "v = x[0]", 4, has_come=False)
    sides = {
        how: _sides_of(emulated(HEAD + program.replace("v = x[0]", touch), 2, checks=True))
        for how, touch in (("read", "v = x[0]"), ("written", "x[0] = 2"))
    }
    assert sides["read"] == ["Irecv: its buffer is read before the operation completes", "reads it"]
    assert sides["written"] == ["Irecv: its buffer is written before the operation completes", "writes it"]


def _sides_of(ran: object) -> list[str]:
    (remark,) = (each for each in ran.outcome.summary.remarks if each.topic == "buffers")  # type: ignore[attr-defined]
    return [side["what"] for side in remark.facts["first"][0]["sides"]]


def test_the_data_of_a_buffer_that_was_touched_arrives(checked: Callable):
    program = receiver(BEGINNINGS["a receive"], "v = x[0]", 4, has_come=False) + "  assert v == 0 and (x == 1).all()\n"
    assert checked(program)["buffers"]


def test_rows_that_fill_pages_are_guarded_one_by_one(checked: Callable):
    program = (
        "x = np.zeros((3, 512)); s = comm.Isend(np.ones(512), right)\n"
        "r = comm.Irecv(x[1], left)\n"
        "v = x[0].sum() + x[2].sum()\n"
        "v += x[1].sum()\n"
        "r.Wait(); s.Wait(); assert x.sum() == 512\n"
    )
    assert checked(program)["buffers"] == [[(0, 2), (0, 4)]]


def test_the_middle_of_a_part_that_shares_pages_is_guarded_and_its_ends_are_compared(checked: Callable):
    program = (
        "x = np.zeros(5000); s = comm.Isend(np.ones(4000), right)\n"
        "r = comm.Irecv(x[100:4100], left)\n"
        "{}\n"
        "comm.Barrier(); r.Wait(); s.Wait()\n"
    )
    both = [[(0, 2), (0, 3)]]
    assert checked(program.format("v = x[2000]"))["buffers"] == both
    assert checked(program.format("x[2000] = 7"))["buffers"] == both
    assert sorted(checked(program.format("if rank: x[100] = 7"))["buffers"]) == [[(1, 2)]]
    assert checked(program.format("v = x[0] + x[4999]; x[4200] = 1")) == {}


def test_a_line_that_always_reads_too_early_is_named_after_many_that_do_not(checked: Callable):
    program = (
        "x, y = np.zeros(4), np.zeros(4)\n"
        "for i in range(400):\n"
        "  r = comm.Irecv(x, left); comm.Send(y, right)\n"
        "  if i > 300 and rank: x[0]\n"
        "  r.Wait()\n"
    )
    assert checked(program)["buffers"] == [[(1, 3), (1, 4)]]


def test_a_touch_is_named_though_nobody_completes_the_receive(checked: Callable):
    assert checked("x = np.zeros(4)\nr = comm.Irecv(x, left)\nx[0]\n")["buffers"] == [[(0, 2), (0, 3)]]
    persistent = "x = np.zeros(4); r = comm.Recv_init(x, left)\nr.Start()\nx[0]\n"
    assert checked(persistent)["buffers"] == [[(0, 2), (0, 3)]]


LEFT_ALONE = {
    "read after a wait": "s = comm.Isend(y, right); r = comm.Irecv(x, left); r.Wait(); v = x.sum(); s.Wait()",
    "read after a test": (
        "s = comm.Isend(y, right); r = comm.Irecv(x, left)\nwhile not r.Test(): pass\nv = x.sum(); s.Wait()"
    ),
    "read after a wait for all": "MPI.Request.Waitall([comm.Irecv(x, left), comm.Isend(y, right)]); v = x.sum()",
    "read after a wait for any": (
        "r = [comm.Irecv(x, left), comm.Isend(y, right)]\nwhile (i := MPI.Request.Waitany(r)) >= 0: i or x.sum()"
    ),
    "read between starts": (
        "r = comm.Recv_init(x, left)\nfor i in range(3): r.Start(); comm.Send(y, right); r.Wait(); v = x[0]\nr.Free()"
    ),
    "other arrays": (
        "z = x + 1; r = comm.Irecv(x, left); comm.Send(y, right); v = z.sum() + y.sum(); z[:] = 3; r.Wait()"
    ),
    "another part": "r = comm.Irecv(x[:2], left); comm.Send(y[:2], right); v = x[2:].sum(); x[3] = 5; r.Wait()",
    "facts of the array": "r = comm.Irecv(x, left); comm.Send(y, right); v = x.shape, x.dtype, x[1:], len(x); r.Wait()",
    "an exchange": "comm.Sendrecv(y, right, 0, x, left, 0); v = x.sum()",
    "a collective": "r = comm.Iallreduce(y, x); r.Wait(); v = x.sum(); comm.Allreduce(y, x); v = x.sum()",
    "a vector": (
        "V = MPI.DOUBLE.Create_vector(2, 1, 2).Commit(); r = comm.Irecv([x, 1, V], left); comm.Send(y[:2], right)\n"
        "v = x[1]; r.Wait(); V.Free()"
    ),
    "a shorter message": "r = comm.Irecv(x, left); comm.Send(y[:2], right); r.Wait(); v = x.sum()",
    "no message": "r = comm.Irecv(x, left); r.Cancel(); r.Wait(); v = x.sum()",
    "a receive that the program forgets": "r = comm.Irecv(x, left); comm.Send(y, right); comm.Barrier(); r.Free()",
    "memory that is given away": (
        "for i in range(50):\n  r = comm.Irecv(np.empty(64), left); comm.Send(np.ones(64), right); r.Wait(); del r\n"
        "  v = np.ones(64).sum()"
    ),
    "an array that is resized": (
        "r = comm.Irecv(x, left); comm.Send(y, right); r.Wait(); del r; x.resize(9999, refcheck=False)\n"
        "assert x.sum() == 4; x.resize(3, refcheck=False); assert x.sum() == 3"
    ),
    "a child process": (
        "import os; r = comm.Irecv(x, left); pid = os.fork()\n"
        "if not pid: os._exit(int(x.sum()) + 3)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3; comm.Send(y, right); r.Wait()"
    ),
    "a program that is started": (
        "import subprocess, sys; r = comm.Irecv(x, left)\n"
        "subprocess.run([sys.executable, '-c', '0'], check=True); comm.Send(y, right); r.Wait()"
    ),
    "a handler of faults of its own": (
        "import faulthandler; faulthandler.enable(); r = comm.Irecv(x, left); comm.Send(y, right)\n"
        "r.Wait(); v = x.sum()"
    ),
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_a_program_that_waits_first_is_left_alone(checked: Callable, program: str):
    assert checked(f"x, y = np.zeros(4), np.ones(4)\n{program}\n") == {}


def test_receives_under_way_at_the_end_leave_memory_as_it_was(checked: Callable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("smpy.mpi.MPI.x", None, raising=False)  # what a program sets is gone afterwards
    assert list(checked("x = np.zeros(4); MPI.x = x; r = comm.Irecv(x, left)\n")) == []
    assert checked("x = [np.zeros(4) for i in range(99)]; assert not any(v.any() for v in x)\n") == {}


def test_a_system_call_on_a_guarded_buffer_fails(checked: Callable):
    program = (
        "import os, errno; x = np.zeros(4); r = comm.Irecv(x, left); a, b = os.pipe()\n"
        "try: os.write(b, x)\n"
        "except OSError as e: assert e.errno == errno.EFAULT\n"
        "else: raise AssertionError\n"
        "comm.Send(np.ones(4), right); r.Wait(); os.write(b, x)\n"
    )
    assert checked(program) == {}


def test_arrays_are_zeros_and_keep_their_content_whatever_their_sizes(checked: Callable):
    program = (
        "import random; kept, draw = [], random.Random(rank)\n"
        "for i in range(1500):\n"
        "  n = draw.choice([0, 1, 7, 512, 513, 4000, 32768, 32769, 40000, 300000])\n"
        "  z = np.zeros(n); assert not z.any()\n"
        "  z[:] = i; kept.append([z, i, n])\n"
        "  if len(kept) > 9:\n"
        "    z, v, n = kept.pop(draw.randrange(9)); assert (z == v).all()\n"
        "    m = draw.choice([1, 600, 33000, 70000]); z.resize(m, refcheck=False); k = min(n, m)\n"
        "    assert (z[:k] == v).all() and not z[k:].any()\n"
        "  del z\n"
    )
    assert checked(program) == {}


def test_zeros_take_memory_as_they_are_touched(checked: Callable):
    program = (
        "from pathlib import Path; pages = lambda: int(Path('/proc/self/statm').read_text().split()[1])\n"
        "before = pages(); x = [np.zeros(1 << 27), *(np.zeros(1 << 20) for i in range(100))]; x[0][5] = 1\n"
        "assert pages() - before < 10_000\n"
        "del x; x = np.zeros(1 << 27); assert x[5] == 0 and pages() - before < 10_000\n"
    )
    assert checked(program, 1) == {}


@pytest.mark.parametrize("crash", ["ctypes.string_at(8)", "ctypes.CDLL(None)['raise'](11)"])
@pytest.mark.parametrize("listener", ["", "faulthandler.enable()"])
def test_a_fault_elsewhere_ends_the_program_as_it_would_without_checks(tmp_path: Path, crash: str, listener: str):
    program = tmp_path / "program.py"
    first = f"import ctypes, faulthandler, os\n{listener}\n"
    second = (
        f"x = np.zeros(4); r = comm.Irecv(x, left); v = x[0]; {listener}\nr = comm.Irecv(np.zeros(4), left)\n{crash}\n"
    )
    program.write_text(first + HEAD + second)
    command = [sys.executable, "-m", "smpy", "run", "-np", "2", "--check", str(program)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode in (-11, 139)
    assert ran.stderr.count("Fatal Python error: Segmentation fault") == (1 if listener else 0)
