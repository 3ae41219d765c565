"""A trace that is written as a time-independent one is performed with the dates of its run, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.export import export
from smpy.importers.time_independent_files import read_main_file
from smpy.records.trace import Trace
from smpy.replay.time_independent import replay_time_independent
from tests.export.programs import ALL, QUICK, Program
from tests.peer.runners import missing_tool
from tests.peer.test_time_independent import their_finish_s

BEGIN = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
after, before = (rank + 1) % size, (rank - 1) % size
sent, taken = numpy.zeros(20000, "u1"), numpy.zeros(20000, "u1")
"""


def written(trace: Path) -> Path:
    """The main file of a trace, written beside it."""
    export(Trace(trace), "ti", trace.with_name("x.ti"))
    return trace.with_name("x.ti") / "main"


def lines_of(trace: Path, rank: int) -> list[str]:
    return (written(trace).parent / f"rank-{rank}").read_text().splitlines()


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Callable[..., Path]:
    def here(source: str, n_ranks: int = 2, **config: object) -> Path:
        ran = emulated(BEGIN + source, n_ranks, trace=tmp_path / "trace", platform="flat hosts=4 cores=1", **config)
        assert ran.outcome.error is None
        return tmp_path / "trace"

    return here


def check_round_trip(program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    trace = program.trace(folder)
    listed = read_main_file(written(trace))
    again = replay_time_independent(listed, folder / "platform.xml", hostfile=folder / "hosts")
    finish_s = Trace(trace).info["finish_s"]
    np.testing.assert_allclose(again.finish_s, finish_s, rtol=1e-9)
    assert (again.messages, again.bytes) == (Trace(trace).info["messages"], Trace(trace).info["bytes"])


@pytest.mark.parametrize("name", QUICK)
def test_a_replay_has_the_dates_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    check_round_trip(QUICK[name], tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ALL if name not in QUICK])
def test_a_replay_of_any_program_has_the_dates_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    check_round_trip(ALL[name], tmp_path, monkeypatch)


@pytest.mark.peer
@pytest.mark.parametrize("name", ALL)
def test_smpirun_replays_it_with_the_makespan_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    if (reason := missing_tool()) is not None:
        pytest.skip(reason)
    monkeypatch.chdir(tmp_path)
    trace = ALL[name].trace(tmp_path)
    listed = written(trace)
    names = listed.read_text().split()
    (tmp_path / "main").write_text("".join(f"{listed.parent / each}\n" for each in names))
    assert max(their_finish_s(tmp_path, len(names))) == pytest.approx(Trace(trace).makespan_s, rel=1e-6)


def test_receives_have_the_source_and_tag_of_what_they_took(traced: Callable[..., Path]):
    trace = traced("""
if rank:
    other = comm.Split(0)
    other.Send(sent[:5], 0, 3)
    comm.Send(sent[:7], 0, 9)
else:
    request = comm.Irecv(taken)
    other = comm.Split(0)
    other.Recv(taken)
    request.Wait()
""")
    received = [line.split() for line in lines_of(trace, 0) if " irecv 1 9 " in line or " recv 1 " in line]
    assert received[0][:4] == ["0", "irecv", "1", "9"]
    assert int(received[-1][3]) > 1 << 30  # a tag that stands for that of another communicator


def test_waits_for_some_requests_name_them_and_a_wait_for_all_does_not(traced: Callable[..., Path]):
    trace = traced("""
first = [comm.Irecv(taken[:100], before, 1), comm.Irecv(taken[100:200], before, 2)]
last = comm.Irecv(taken[200:300], before, 3)
for tag in (1, 2, 3):
    comm.Send(sent[:100], after, tag)
MPI.Request.Waitall(first)
last.Wait()
all_left = [comm.Irecv(taken[:100], before, 4), comm.Irecv(taken[100:200], before, 5)]
comm.Send(sent[:100], after, 4)
comm.Send(sent[:100], after, 5)
MPI.Request.Waitall(all_left)
""")
    waits = [line for line in lines_of(trace, 0) if "wait" in line]
    assert waits == ["0 wait 1 0 1", "0 wait 1 0 2", "0 wait 1 0 3", "0 waitall"]


def test_an_object_is_received_in_no_more_room_than_a_message_takes(traced: Callable[..., Path]):
    lines = lines_of(traced("comm.isend('x' * 50, after); comm.recv(source=before)"), 0)
    sizes = {line.split()[1]: int(line.split()[4]) for line in lines if "send" in line or "recv" in line}
    assert sizes["recv"] == sizes["isend"]


def test_sends_that_nobody_waits_for_do_not_grow_in_number(traced: Callable[..., Path]):
    trace = traced("for _ in range(300): comm.Isend(sent[:1], after); comm.Recv(taken, before)")
    n_open, most = 0, 0
    for line in lines_of(trace, 0):
        n_open += line.split()[1] == "isend"
        n_open -= line.split()[1] == "wait"
        most = max(most, n_open)
    assert most <= 66


REFUSED = {
    "while not comm.Iprobe(): comm.Send(sent[:1], rank)": r"\(Iprobe .*: it has no probes or polls",
    "comm.Ibarrier().Wait()": r"\(Ibarrier .*: it has no collectives that are started",
    "MPI.Win.Create(taken, 1, comm=comm).Fence()": "it has no one-sided accesses",
    "comm.Ssend(sent, 1) if rank == 0 else comm.Recv(taken, 0)": "it has no sends of another mode",
    "requests = [comm.Irecv(taken, before, 1) for _ in range(2)]\n"
    "for _ in range(2): comm.Send(sent, after, 1)\n"
    "requests[1].Wait(); requests[0].Wait()": "it waits for a request before an older one of the same ranks and tag",
    "comm.Barrier(); comm.Sendrecv(sent, after, (1 << 31) - 1, taken, before); comm.Split(0)": "the tag 2147483647 is",
}


@pytest.mark.parametrize("source", REFUSED)
def test_calls_that_the_format_lacks_are_refused_by_name(traced: Callable[..., Path], source: str):
    trace = traced(source)
    with pytest.raises(UsageError, match=f"is not written as a time-independent trace: .*{REFUSED[source]}"):
        written(trace)
    assert not trace.with_name("x.ti").exists()
    assert not list(trace.parent.glob(".x.ti*"))


def test_a_folder_that_exists_is_not_replaced(traced: Callable[..., Path]):
    trace = traced("comm.Barrier()")
    written(trace)
    with pytest.raises(UsageError, match="it exists already; remove it, or name another one"):
        written(trace)


def test_the_command_writes_a_folder_that_replay_takes(traced: Callable[..., Path], tmp_path: Path):
    trace = traced("comm.Barrier()")
    commands = (
        ["export", trace, "--to", "ti", "-o", tmp_path / "y.ti"],
        ["replay", tmp_path / "y.ti" / "main", "--platform", "flat hosts=4 cores=1"],
    )
    done = [CliRunner().invoke(main, list(map(str, command))) for command in commands]
    assert [each.exit_code for each in done] == [0, 0]
    assert "2 ranks" in done[1].output
