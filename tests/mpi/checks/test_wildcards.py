"""Runs with --check-wildcards: each race of a receive from any source is run again with the other message."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import smpy
from smpy.cli import wildcards
from smpy.errors import UsageError
from smpy.options import RunConfig

PROGRAM = """
import time
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    {receives}
else:
    time.sleep(1 if comm.rank == 1 else 0)
    comm.send(comm.rank, 0, {tag})
"""
NEEDS_THE_FIRST = "first = comm.recv()\n    print(first, comm.recv(source=1))"
OPTIONS = ("--compute=none", "--check-wildcards", "--json=out.json")


def runs_of(record: Path) -> list[dict[str, object]]:
    remarks = json.loads(record.read_text())["remarks"]
    return next((remark["runs"] for remark in remarks if remark["topic"] == "other message"), [])


@pytest.fixture
def endings(tmp_path: Path) -> Callable[[str], list[str]]:
    """Ends of runs of a program on three ranks with other messages, which a warm server makes."""

    def of(receives: str) -> list[str]:
        (tmp_path / "program.py").write_text(PROGRAM.format(receives=receives, tag=0))
        config = RunConfig(3, str(tmp_path / "program.py"), compute="none", check_wildcards=True)
        remark = wildcards.remark_on_other_messages(config, str(tmp_path))
        assert "not looked for" not in str(remark)
        return [] if remark is None else [run["ending"] for run in remark.facts["runs"]]

    return of


def test_a_program_that_needs_the_usual_message_is_told_with_the_option_that_shows_it(
    smpy_run: Callable, tmp_path: Path
):
    program = PROGRAM.format(receives=NEEDS_THE_FIRST, tag=0)
    ran = smpy_run(program, 3, *OPTIONS)
    assert (ran.code, ran.out) == (0, "2 1\n")
    assert "of 1 run with another message 1 fails" in ran.err
    (other,) = runs_of(tmp_path / "out.json")
    assert other["race"] == "rank 0 at program.py:6 takes what rank 1 sends at program.py:10"
    assert (other["ending"], other["error"][:7]) == ("deadlock", "at 1.00")
    again = smpy_run(program, 3, "--compute=none", f"--choose-message={other['choose_message']}")
    assert again.code == 1
    assert "rank 0: recv(source=1, tag=ANY_TAG)   program.py:7" in again.err


def test_such_a_program_fails_a_strict_run(smpy_run: Callable):
    program = PROGRAM.format(receives=NEEDS_THE_FIRST.replace("comm.recv()", "comm.recv(status=MPI.Status())"), tag=0)
    ran = smpy_run(program, 3, "--compute=none", "--check", "--strict", "--quiet")
    assert (ran.code, ran.err) == (0, "")  # it asks who has sent
    ran = smpy_run(program, 3, "--compute=none", "--check-wildcards", "--strict", "--quiet")
    assert ran.code == 1
    assert ran.err.startswith("smpy: other message: of 1 run with another message 1 fails\n")


def test_a_program_that_takes_either_message_ends_the_same(endings: Callable):
    assert endings("print(comm.recv() + comm.recv())") == ["ends the same"]


def test_a_program_that_prints_what_came_first_prints_something_else(endings: Callable):
    assert endings("print(comm.recv(), comm.recv())") == ["ends well, and prints something else"]


def test_an_exception_is_a_failure(endings: Callable):
    (ending,) = endings("assert comm.recv() == 2; comm.recv()")
    assert ending == "fails"


def test_a_program_without_a_race_runs_once(endings: Callable):
    assert endings("comm.recv(source=1), comm.recv(source=2)") == []


def test_the_receive_is_counted_among_those_from_any_source(smpy_run: Callable, tmp_path: Path):
    receives = "[comm.recv(source=r, tag=9) for r in (1, 2)]; comm.recv(); comm.recv()"
    ran = smpy_run(PROGRAM.format(receives=receives, tag="9); comm.send(comm.rank, 0, 3"), 3, *OPTIONS)
    assert ran.code == 0, ran.err
    assert [run["choose_message"][:4] for run in runs_of(tmp_path / "out.json")] == ["0:1="]


@pytest.mark.parametrize("call", ["comm.irecv().wait()", "comm.Irecv(bytearray(99)).Wait()"])
def test_started_receives_are_chosen_messages_too(endings: Callable, call: str):
    (ending,) = endings(f"{call}; comm.recv(source=1)")
    assert ending == "deadlock"


def test_a_run_that_goes_on_for_ever_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wildcards, "_LIMIT_S", 1.0)
    monkeypatch.setattr(wildcards, "_LIMIT_FACTOR", 0.0)
    receives = "comm.recv()\n    while not comm.iprobe(source=1): time.sleep(1)\n    comm.recv(source=1)"
    (tmp_path / "program.py").write_text(PROGRAM.format(receives=receives, tag=0))
    config = RunConfig(3, str(tmp_path / "program.py"), compute="none", check_wildcards=True)
    remark = wildcards.remark_on_other_messages(config, str(tmp_path))
    assert remark is not None
    assert remark.is_fault
    assert remark.facts["runs"][0]["ending"] == "does not end in twenty times the time"


def test_measured_computing_is_left_out_of_the_further_runs(smpy_run: Callable, tmp_path: Path):
    ran = smpy_run(PROGRAM.format(receives=NEEDS_THE_FIRST, tag=0), 3, "--check-wildcards", "--json=out.json")
    assert ran.code == 0, ran.err
    assert len(runs_of(tmp_path / "out.json")) == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0:1=2", "'0:1=2' is not RANK:N=SOURCE:TAG, such as 0:1=2:7"),
        ("0:0=2:0", "N begins with 1"),
        ("3:1=2:0", "there is no rank 3: the last one is 2"),
        ("0:1=2:99999999999", "is not RANK:N=SOURCE:TAG"),
    ],
)
def test_a_value_that_means_nothing_is_refused(smpy_run: Callable, value: str, message: str):
    ran = smpy_run("", 3, f"--choose-message={value}")
    assert (ran.code, message in " ".join(ran.err.split())) == (2, True), ran.err


def test_a_run_from_python_refuses_the_further_runs(tmp_path: Path):
    (tmp_path / "program.py").write_text("")
    with pytest.raises(UsageError, match="check_wildcards: the command `smpy run` makes such runs"):
        smpy.simulate(tmp_path / "program.py", ranks=2, check_wildcards=True)
