"""A program whose ranks do nothing but poll in vain: it is told who polls for what, and never ended for it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from smpy.emulate.run import poll_watch
from smpy.emulate.run.poll_watch import PollWatch
from smpy.engine.running import current
from smpy.mpi import MPI
from tests.mpi.conftest import run_world

STUCK = """
from mpi4py import MPI
import os, time
c = MPI.COMM_WORLD
if c.rank == 0:
    request = c.Irecv(bytearray(8), 1, 7)
    while not request.Test():
        pass
elif c.rank == 1:
    n = 0
    while not c.Iprobe(0, 5):
        time.sleep(1e-3)
        n += 1
        if n == 100_000:
            os.posix_spawnp("kill", ["kill", "-INT", str(os.getpid())], os.environ)
elif c.rank == 2:
    request = c.Ibarrier()
    while not request.Test():
        pass
elif c.rank == 3:
    import smpy
    smpy.experimental.poll_until(c.Iprobe, 0, 9)
else:
    import smpy
    take = smpy.experimental.MessageProgram()
    take.Recv(0, 0, None)
    smpy.experimental.AwaitedMessage(c, 0, 11, take, bytearray(8)).wait()
"""

WHO = [
    r"  rank 0: Test\(Irecv\(source=1, tag=7\)\) +program.py:7",
    r"  rank 1: Iprobe\(source=0, tag=5\) +program.py:1\d",
    r"  rank 2: Test\(Ibarrier\(\)\) +program.py:1\d",
    r"  rank 3: Iprobe\(source=0, tag=9\) +program.py:2\d",
    r"  rank 4: Iprobe\(source=0, tag=11\) +program.py:2\d",
]


def test_who_polls_for_what_is_told_at_ctrl_c(smpy_run: Callable):
    ran = smpy_run(STUCK, 5, "--compute", "none", "--quiet")
    assert ran.code == 130
    head, *lines = ran.err.splitlines()
    assert head.endswith("s of simulated time, polls in vain are all that happens")
    assert all(re.fullmatch(expected, line) for expected, line in zip(WHO, lines, strict=True))


def watched(monkeypatch: pytest.MonkeyPatch, body: Callable[[PollWatch], None]) -> list[str]:
    """Reports of the poll watch when rank 0 looks and rank 1 polls in vain."""
    monkeypatch.setattr(poll_watch, "_AIRS_MAX", 3)
    told: list[str] = []

    def main(rank: int) -> None:
        if rank:
            while not MPI.COMM_WORLD.Iprobe(0, 1):
                pass
            MPI.COMM_WORLD.Recv(bytearray(8), 0)
        else:
            body(PollWatch(current(), "", told.append))
            MPI.COMM_WORLD.Send(bytearray(8), 1, 1)

    run_world(2, main)
    return told


def poll_a_while() -> None:
    """Let the other rank poll."""
    current().sleep(1e-3)
    current().block("sleep")


def test_polls_are_told_of_when_nothing_else_happens(monkeypatch: pytest.MonkeyPatch):
    def body(watch: PollWatch) -> None:
        for _ in range(8):
            poll_a_while()
            watch.look()

    (told,) = watched(monkeypatch, body)
    assert "polls in vain are all that happens" in told
    assert "rank 1: Iprobe(source=0, tag=1)" in told


def test_polls_beside_messages_are_not_told_of(monkeypatch: pytest.MonkeyPatch):
    def body(watch: PollWatch) -> None:
        for _ in range(8):
            poll_a_while()
            MPI.COMM_WORLD.Sendrecv(bytearray(8), 0, 2, bytearray(8), 0, 2)
            MPI.COMM_WORLD.Isend(bytearray(8), 0, 3)
            MPI.COMM_WORLD.Recv(bytearray(8), 0, 3)
            watch.look()
        MPI.COMM_WORLD.Isend(bytearray(8), 0, 3)
        MPI.COMM_WORLD.Recv(bytearray(8), 0, 3)
        assert watch.describe() == ""

    assert watched(monkeypatch, body) == []


def test_who_has_found_something_polls_no_longer():
    def main(rank: int) -> None:
        comm = MPI.COMM_WORLD
        if rank:
            assert not comm.Iprobe(0, 1)
            assert [wait.rank for wait in current().polling()] == [1]
            current().sleep(1.0)
            assert comm.Iprobe(0, 1)
            assert current().polling() == []
            assert not comm.Iprobe(0, 2)
            comm.Recv(bytearray(8), 0)
            assert current().polling() == []
        else:
            current().sleep(0.5)
            comm.Send(bytearray(8), 1, 1)

    run_world(2, main)


def clocks_watched(monkeypatch: pytest.MonkeyPatch, body: Callable[[], None]) -> list[str]:
    """The remarks on two ranks that do something again and again, with the thresholds lowered."""
    monkeypatch.setattr(poll_watch, "_CLOCK_AIRS", 2)
    monkeypatch.setattr(poll_watch, "_MANY_LOOKS", 100)
    told: list[str] = []

    def main(rank: int) -> None:
        watch = PollWatch(current(), "", told.append)
        for _ in range(6):
            body()
            if rank == 0:
                watch.look()

    run_world(2, main)
    return told


def test_polls_of_the_clock_are_told_of_once_with_a_line_and_a_cure(monkeypatch: pytest.MonkeyPatch):
    def body() -> None:
        for _ in range(600):
            MPI.Wtime()

    (told,) = clocks_watched(monkeypatch, body)
    assert re.match(r"smpy: ranks poll the clock, \d,\d{3} times for ", told)
    assert ": rank " in told
    assert "time.sleep(seconds)" in told
    assert "--set mpi.wtime=1us" in told


def test_a_program_that_times_its_calls_is_not_told_of_its_clock(monkeypatch: pytest.MonkeyPatch):
    def body() -> None:
        for _ in range(60):
            MPI.Wtime()
            MPI.COMM_WORLD.Barrier()

    assert clocks_watched(monkeypatch, body) == []
