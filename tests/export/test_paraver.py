"""A trace that is written for Paraver has the states, calls and messages of the run, at its dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.errors import UsageError
from smpy.export import date_sort, export, rows_of_ranks
from smpy.export.paraver_names import NOT_CREATED
from smpy.records.trace import Trace
from tests.export.programs import ALL, QUICK
from tests.export.prv import RUNNING, Prv, read, values_of
from tests.export.test_otf2 import PROGRAM

SEND, ISEND, IRECV, WAITALL, BCAST = (50000001, 1), (50000001, 3), (50000001, 4), (50000001, 6), (50000002, 7)
FLOP, LINE, REGION = 42000050, 80000001, 60000019


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Trace:
    ran = emulated(PROGRAM, 4, trace=tmp_path / "trace", platform="flat hosts=2 cores=2")
    assert ran.outcome.error is None
    return Trace(tmp_path / "trace")


def written(trace: Trace, folder: Path) -> Prv:
    export(trace, "paraver", folder / "x.prv")
    return read(folder / "x.prv")


def check_states(trace: Trace, prv: Prv, names: dict[int, str]) -> None:
    """States are the intervals, and those in which a rank runs are outside its calls."""
    told = Counter()
    for row in trace.table("intervals").to_pylist():
        begin_ns, end_ns = round(row["start_s"] * 1e9), round(row["end_s"] * 1e9)
        if begin_ns < end_ns:
            told[row["rank"], begin_ns, end_ns, row["kind"]] += 1
    kinds = {"late sender": "late_sender", "late receiver": "late_receiver", "wait at collective": "late_members"}
    found = Counter()
    for task, states in prv.states.items():
        for begin_ns, end_ns, state in states:
            words = names[state].partition("(")[2].rstrip(")")
            found[task, begin_ns, end_ns, kinds.get(words, words)] += 1
    assert found == told
    for task, states in prv.states.items():
        calls = [(begin_ns, end_ns) for _, _, begin_ns, end_ns, _ in prv.calls(task)]
        for begin_ns, end_ns, state in states:
            if state == RUNNING:
                assert all(end <= begin_ns or end_ns <= begin for begin, end in calls)


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in ALL if name not in QUICK)]
)
def test_states_are_the_intervals_and_messages_the_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.chdir(tmp_path)
    trace = Trace(ALL[name].trace(tmp_path))
    prv = written(trace, tmp_path)
    check_states(trace, prv, values_of(tmp_path / "x.pcf")[0])
    rows = [row for row in trace.table("messages").to_pylist() if row["tag"] is not None]
    told = Counter(
        (row["source"], row["target"], row["bytes"], row["tag"], round(row["send_posted_s"] * 1e9)) for row in rows
    )
    assert Counter(message[:5] for message in prv.messages) == told
    for task in prv.events:
        ends = [(kind, value) for kind, value, *_ in prv.calls(task)]
        assert (ends[0], ends[-1]) == ((50000003, 31), (50000003, 32))  # Init and Finalize


def test_calls_have_the_lines_and_the_order_of_the_program(traced: Trace, tmp_path: Path):
    prv = written(traced, tmp_path)
    calls = prv.calls(0)
    assert [call[:2] for call in calls[1:7]] == [IRECV, ISEND, WAITALL] * 2
    names = values_of(tmp_path / "x.pcf")
    assert [names[LINE][call[4][LINE]] for call in calls[1:4]] == ["program.py:12", "program.py:12", "program.py:14"]
    assert {names[kind][value] for kind, value, *_ in calls} >= {"MPI_Isend", "MPI_Bcast", "MPI_Iallreduce"}


def test_collectives_say_their_bytes_root_and_communicator(traced: Trace, tmp_path: Path):
    prv = written(traced, tmp_path)
    for task in range(4):
        pairs = next(
            call[4] for call in prv.calls(task) if call[:2] == BCAST and 100 in (call[4][50100001], call[4][50100002])
        )
        is_root = task % 2
        assert (pairs[50100001], pairs[50100002], pairs[50100003]) == (100 * is_root, 100 * (1 - is_root), is_root)
        assert prv.comms[pairs[50100004]] == [task - is_root, task - is_root + 1]


def test_operations_add_up_to_those_of_the_run(traced: Trace, tmp_path: Path):
    prv = written(traced, tmp_path)
    for task in range(4):
        assert sum(pairs.get(FLOP, 0) for _, pairs in prv.events[task]) == 2 * (1e6 * (1 + task) + 1e5)


def test_operations_of_a_rank_may_be_more_than_a_number_has_room_for(emulated: Callable, tmp_path: Path):
    source = "import smpy\nfrom mpi4py import MPI\nfor _ in range(12): smpy.execute(%g); MPI.COMM_WORLD.Barrier()"
    machine = "flat hosts=2 cores=1 speed=10000Tf"
    emulated(source % 9e17, 2, trace=tmp_path / "trace", platform=machine)
    prv = written(Trace(tmp_path / "trace"), tmp_path)
    assert [pairs[FLOP] for _, pairs in prv.events[0] if pairs.get(FLOP)] == [int(9e17)] * 12
    emulated(source % 9e18, 2, trace=tmp_path / "more", platform=machine)
    with pytest.raises(UsageError, match=r"rank 0 has more than 1e\+18 flop between two calls"):
        export(Trace(tmp_path / "more"), "paraver", tmp_path / "x.prv")


def test_a_rank_that_another_one_starts_calls_nothing_before(emulated: Callable, tmp_path: Path):
    source = """
import sys, smpy
from mpi4py import MPI
if MPI.Comm.Get_parent() == MPI.COMM_NULL:
    smpy.execute(5e6)
    MPI.COMM_SELF.Spawn(sys.executable, [__file__], 1).recv()
else:
    MPI.Comm.Get_parent().send(1, 0)
"""
    emulated(source, 1, trace=tmp_path / "trace", platform="flat hosts=2 cores=1 speed=1Gf")
    prv = written(Trace(tmp_path / "trace"), tmp_path)
    assert prv.states[1][0] == (0, 5_000_000, NOT_CREATED)
    assert min(begin_ns for _, _, begin_ns, _, _ in prv.calls(1)) == 5_000_000


def test_regions_begin_and_end_in_order(traced: Trace, tmp_path: Path):
    prv = written(traced, tmp_path)
    names = values_of(tmp_path / "x.pcf")[REGION]
    marks = [names[pairs[REGION]] for _, pairs in prv.events[0] if REGION in pairs]
    assert marks == ["outer", "inner", "End", "inner", "End", "End"]


def test_rows_name_the_hosts_and_tasks(traced: Trace, tmp_path: Path):
    assert written(traced, tmp_path).node_of_task == [0, 0, 1, 1]
    levels = [block.splitlines() for block in (tmp_path / "x.row").read_text().split("\n\n")]
    assert [level[0] for level in levels] == [
        "LEVEL CPU SIZE 4", "LEVEL NODE SIZE 2", "LEVEL TASK SIZE 4", "LEVEL THREAD SIZE 4"
    ]  # fmt: skip
    assert [len(level) for level in levels] == [5, 3, 5, 5]


def test_a_trace_that_is_written_in_many_spans_and_groups_is_the_same(
    traced: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written(traced, tmp_path)
    whole = (tmp_path / "x.prv").read_text()
    monkeypatch.setattr(date_sort, "_SPAN_RECORDS", 7)
    monkeypatch.setattr(date_sort, "_HELD_RECORDS", 5)
    monkeypatch.setattr(rows_of_ranks, "_GROUP_ROWS", 20)
    written(traced, tmp_path)
    assert (tmp_path / "x.prv").read_text() == whole


def test_a_state_shorter_than_a_nanosecond_is_left_out(emulated: Callable, tmp_path: Path):
    source = "import smpy\nfor flop in (1e3, 0.2, 1e3, 0.4, 0.4): smpy.execute(flop)"
    emulated(source, 1, trace=tmp_path / "trace", platform="flat hosts=1 cores=1 speed=1Gf")
    trace = Trace(tmp_path / "trace")
    prv = written(trace, tmp_path)
    check_states(trace, prv, values_of(tmp_path / "x.pcf")[0])
    assert [(begin_ns, end_ns) for begin_ns, end_ns, _ in prv.states[0]] == [(0, 1000), (1000, 2000), (2000, 2001)]


def test_threads_are_refused(emulated: Callable, tmp_path: Path):
    source = PROGRAM + "import threading; threading.Thread(target=comm.Barrier).start()"
    emulated(source, 2, trace=tmp_path / "trace")
    with pytest.raises(UsageError, match="cannot be written for Paraver: its ranks have threads"):
        export(Trace(tmp_path / "trace"), "paraver", tmp_path / "x.prv")
    assert not list(tmp_path.glob("*x.*"))
