"""Traces for Paraver are imported as the run that they tell of."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.records.trace import Trace
from smpy.replay import replay
from tests.importers.import_mutations import FEW, MANY, check_mutated

FLAT = "flat hosts=4 cores=1 speed=2Gf latency=1us nic=1GB/s"
HEADER = "#Paraver (01/02/26 at 10:00):9000000000_ns:2(1,1):1:2(1:1,1:2),1\nc:1:1:2:1:2\n"
PCF = """DEFAULT_OPTIONS

LEVEL               THREAD
UNITS               NANOSEC


EVENT_TYPE
7  42000059  PAPI_TOT_CYC [Total cycles]

EVENT_TYPE
0  60000019  User function
VALUES
5   sweep
0   End

EVENT_TYPE
0  80000001  Caller line
VALUES
3   a.c:17
0   End
"""
ROW = "LEVEL NODE SIZE 2\nfirst\nsecond\n\nLEVEL TASK SIZE 2\nTASK 1.1\nTASK 1.2\n"


def event(task: int, date_s: float, *values: int) -> str:
    return f"2:{task}:1:{task}:1:{round(date_s * 1e9)}:{':'.join(map(str, values))}"


def message(source: int, target: int, posted_s: float, received_from_s: float, ended_s: float, rest: str) -> str:
    dates = [round(each * 1e9) for each in (posted_s, received_from_s, ended_s)]
    return f"3:{source}:1:{source}:1:{dates[0]}:{dates[0]}:{target}:1:{target}:1:{dates[1]}:{dates[2]}:{rest}"


LINES = (
    event(1, 0, 50000003, 31),
    event(2, 0, 50000003, 31),
    event(1, 0, 50000003, 0),
    event(2, 0, 50000003, 0),
    "1:1:1:1:1:0:1000000000:1",
    event(1, 0.25, 60000019, 5),
    event(2, 0.5, 50000001, 4),
    event(2, 0.5, 50000001, 0),
    event(2, 0.75, 50000001, 2, 80000001, 3),
    event(1, 1, 60000019, 0, 42000059, 1500),
    message(1, 2, 1, 0.75, 1.5, "1000:7"),
    event(1, 1, 50000001, 1),
    event(1, 1.25, 50000001, 0),
    event(2, 1.5, 50000001, 0),
    message(1, 2, 2, 0.5, 2.75, "2000:8"),
    event(1, 2, 50000001, 1),
    event(1, 2.25, 50000001, 0),
    event(2, 2.5, 50000001, 5),
    event(2, 2.75, 50000001, 0),
    event(1, 3, 50000002, 10),
    event(1, 3, 50100001, 64, 50100002, 64, 50100004, 1),
    event(2, 4, 50000002, 10, 50100001, 64, 50100002, 64, 50100004, 1),
    event(1, 4.5, 50000002, 0),
    event(2, 4.5, 50000002, 0),
    event(1, 5, 50000003, 32),
    event(2, 5, 50000003, 32),
    event(1, 5, 50000003, 0),
    event(2, 5, 50000003, 0),
)


def written(folder: Path, lines: tuple[str, ...] | list[str] = LINES, header: str = HEADER) -> Path:
    path = folder / "run.prv"
    path.write_text(header + "".join(f"{line}\n" for line in lines))
    (folder / "run.pcf").write_text(PCF)
    (folder / "run.row").write_text(ROW)
    return path


def spans(trace: Trace, rank: int) -> list[tuple[float, float, str]]:
    rows = [row for row in trace.table("intervals").to_pylist() if row["rank"] == rank]
    return [(row["start_s"], row["end_s"], row["kind"]) for row in rows]


def test_intervals_messages_and_sites_are_those_of_the_run(tmp_path: Path):
    trace = smpy.import_trace(written(tmp_path), tmp_path / "trace")
    assert trace.makespan_s == 5.0
    assert trace.host_of_rank == ["first", "second"]
    assert spans(trace, 0) == [
        (0.0, 0.25, "compute"),
        (0.25, 1.0, "compute"),
        (1.0, 1.25, "transfer"),
        (1.25, 2.0, "compute"),
        (2.0, 2.25, "transfer"),
        (2.25, 3.0, "compute"),
        (3.0, 4.0, "late_members"),
        (4.0, 4.5, "transfer"),
        (4.5, 5.0, "compute"),
    ]
    assert spans(trace, 1) == [
        (0.0, 0.5, "compute"),
        (0.5, 0.75, "compute"),
        (0.75, 1.0, "late_sender"),
        (1.0, 1.5, "transfer"),
        (1.5, 2.5, "compute"),
        (2.5, 2.75, "transfer"),
        (2.75, 4.0, "compute"),
        (4.0, 4.5, "transfer"),
        (4.5, 5.0, "compute"),
    ]
    messages = [row for row in trace.table("messages").to_pylist() if row["tag"] is not None]
    assert [(row["source"], row["target"], row["tag"], row["bytes"]) for row in messages] == [
        (0, 1, 7, 1000),
        (0, 1, 8, 2000),
    ]
    assert [(row["send_posted_s"], row["receive_posted_s"]) for row in messages] == [(1.0, 0.75), (2.0, 0.5)]
    assert {"Recv a.c:17", "Wait", "Irecv", "Send", "Allreduce", "sweep"} <= set(trace.labels)
    assert [(row["rank"], row["name"]) for row in trace.table("regions").to_pylist()] == [(0, "sweep")]


def test_a_replay_does_what_the_ranks_did_with_the_seconds_of_the_run(tmp_path: Path):
    trace = smpy.import_trace(written(tmp_path), tmp_path / "trace")
    result = replay(trace, platform=FLAT, ideal=("latency", "bandwidth", "overhead", "contention"))
    assert result.computing_s.tolist() == pytest.approx(
        [0.25 + 0.75 + 0.75 + 0.75 + 0.5, 0.5 + 0.25 + 1.0 + 1.25 + 0.5]
    )
    rows = [row["action"] for row in trace.table("actions").to_pylist() if row["rank"] == 1]
    assert [name for name in rows if name != "compute"] == ["irecv", "recv", "wait", "collective", "end"]
    assert trace.table("collectives").to_pylist()[0]["bytes"] == 64


def test_computing_is_taken_from_a_counter_of_cycles(tmp_path: Path):
    lines = [
        event(task, date, 50000003, value, 42000059, cycles)
        for date, value, cycles in ((0, 31, 10), (0, 0, 10), (1, 32, 3000 * 1), (1, 0, 500))
        for task in (1, 2)
    ]
    counted = {"cycles": "PAPI_TOT_CYC", "frequency_hz": 1e4}
    trace = smpy.import_trace(written(tmp_path, lines), tmp_path / "trace", **counted)
    amounts = [row["amount"] for row in trace.table("actions").to_pylist() if row["action"] == "compute"]
    assert amounts == pytest.approx([0.3e9, 0.3e9])
    assert trace.info["trace"]["imported"]["cycles"] == "PAPI_TOT_CYC"


def test_a_wait_completes_the_request_that_ended_in_it_and_a_waitall_all(tmp_path: Path):
    lines = [
        *(event(task, 0, 50000003, value) for value in (31, 0) for task in (1, 2)),
        *(event(2, date, 50000001, value) for date in (0.1, 0.2, 0.3) for value in (4, 0)),
        *(
            line
            for date, posted, ended, tag in ((1, 0.1, 5, 1), (2, 0.2, 3, 2), (2.5, 0.3, 5, 3))
            for line in (
                message(1, 2, date, posted, ended, f"10:{tag}"),
                event(1, date, 50000001, 1),
                event(1, date, 50000001, 0),
            )
        ),
        event(2, 2.6, 50000001, 5),
        event(2, 3, 50000001, 0),
        event(2, 3, 50000001, 6),
        event(2, 5, 50000001, 0),
    ]  # fmt: skip
    trace = smpy.import_trace(written(tmp_path, lines), tmp_path / "trace")
    rows = [row for row in trace.table("actions").to_pylist() if row["rank"] == 1]
    requests = {row["request"]: row["tag"] for row in rows if row["action"] == "irecv"}
    waits = [(row["action"], requests[row["request"]]) for row in rows if row["action"] in ("wait", "wait_all", "and")]
    assert waits == [("wait", 2), ("wait_all", 1), ("and", 3)]


def test_a_message_that_overtakes_another_one_is_of_another_communicator(tmp_path: Path):
    lines = [
        *(event(task, 0, 50000003, value) for value in (31, 0) for task in (1, 2)),
        message(1, 2, 1, 4, 5, "10:7"),
        *(event(1, 1, 50000001, value) for value in (1, 0)),
        message(1, 2, 2, 3, 3.5, "20:7"),
        *(event(1, 2, 50000001, value) for value in (1, 0)),
        *(event(2, date, 50000001, value) for date, value in ((3, 2), (3.5, 0), (4, 2), (5, 0))),
    ]
    trace = smpy.import_trace(written(tmp_path, lines), tmp_path / "trace")
    rows = [row for row in trace.table("actions").to_pylist() if row["action"] in ("send", "recv")]
    comm_of = {(row["action"], row["bytes"]): row["comm"] for row in rows}
    assert comm_of["send", 10] == comm_of["recv", 10] != comm_of["send", 20] == comm_of["recv", 20]
    assert replay(trace, platform=FLAT).messages == 2


def test_a_receive_has_the_message_that_came_by_its_end_though_another_one_started_at_its_date(tmp_path: Path):
    lines = [
        *(event(task, 0, 50000003, value) for value in (31, 0) for task in (1, 2)),
        message(1, 2, 0, 1, 1.5, "10:2"),
        *(event(1, 0, 50000001, value) for value in (1, 0)),
        *(event(2, date, 50000001, value) for date, value in ((1, 4), (1, 0), (1, 2), (1.5, 0))),
        message(1, 2, 2, 1, 3, "20:1"),
        *(event(1, 2, 50000001, value) for value in (1, 0)),
        *(event(2, date, 50000001, value) for date, value in ((2, 5), (3, 0))),
    ]
    trace = smpy.import_trace(written(tmp_path, lines), tmp_path / "trace")
    rows = [row for row in trace.table("actions").to_pylist() if row["rank"] == 1]
    assert [(row["action"], row["tag"]) for row in rows if "recv" in row["action"]] == [("irecv", 1), ("recv", 2)]


def test_a_collective_that_cannot_be_imported_is_refused(tmp_path: Path):
    lines = [line.replace(":50000002:10", ":50000002:1000") for line in LINES]
    path = written(tmp_path, lines)
    names = "\nEVENT_TYPE\n9  50000002  MPI Collective Comm\nVALUES\n1000 MPI_Neighbor_alltoall\n"
    path.with_suffix(".pcf").write_text(PCF + names)
    with pytest.raises(UsageError, match="line 25: task 1 calls Neighbor_alltoall, which cannot be imported"):
        smpy.import_trace(path, tmp_path / "trace")


def test_calls_without_a_name_are_counted(tmp_path: Path):
    init = [event(task, 0, 50000003, value) for value in (31, 0) for task in (1, 2)]
    lines = [*init, event(1, 1, 50000004, 665), event(1, 2, 50000004, 0)]
    trace = smpy.import_trace(written(tmp_path, lines), tmp_path / "trace")
    [remark] = trace.info["remarks"]
    assert remark["text"] == "a call that the .pcf does not name is left out of replays"
    assert remark["count"] == 1
    lines[-2] = event(1, 1, 50000004, 65)
    with pytest.raises(UsageError, match="rank 0 calls Put, which cannot be replayed"):
        smpy.import_trace(written(tmp_path, lines), tmp_path / "other")


def test_dates_are_microseconds_where_the_header_does_not_say_nanoseconds(tmp_path: Path):
    header = HEADER.replace("9000000000_ns", "9000000")
    lines = [event(task, date / 1e3, 50000003, value) for date, value in ((0, 31), (5, 0)) for task in (1, 2)]
    assert smpy.import_trace(written(tmp_path, lines, header), tmp_path / "trace").makespan_s == 5.0


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["4:1:1:1:1:0:1"], "line 3: '4:1:1:1:1:0:1' is no state, event or message"),
        ([event(3, 0, 50000003, 31)], "line 3: there are tasks 1 to 2"),
        ([event(1, 1, 1, 1), event(1, 0.5, 1, 1)], "line 4: its date is before that of the record above"),
        ([event(1, -1, 1, 1)], "line 3: there are tasks 1 to 2, and dates of 0 or more"),
        (["2:1:1:1:1:0:50000001"], "line 3: it has 7 numbers, which are no record"),
        (["2:1:1:1:1:0:x:1"], "line 3: 'x' is no whole number"),
        ([f"2:1:1:1:1:0:1:{'9' * 30}"], "is no whole number"),
        (["\u00e9"], "line 3: this is no text of Paraver"),
        ([message(1, 2, 1, 1, 2, "10:3")], "line 3: task 1 is in no call that sends or receives this message"),
        ([message(1, 2, 3, 1, 2, "10:3")], "line 3: its receiver, or the order of its dates, is wrong"),
        ([event(1, 1, 50000001, 0)], "line 3: rank 0 leaves a call at 1 s that it has not entered"),
        ([event(1, 1, 50000001, 1)], "the trace is cut off"),
        ([event(1, 0, 50000003, 31), event(1, 0, 50000003, 0)], "there is no event of rank 1"),
        (LINES[:-1], "rank 1 is in Finalize when its events end"),
        ([line.replace("50100004:1", "50100004:9") for line in LINES], "performs allreduce in communicator 9"),
        ([line for line in LINES if not line.startswith("2:2:") or "50000002" not in line], "and rank 1 does not"),
        (
            [line.replace(":1000:7", ":1000:2147483648") for line in LINES],
            "with tag 2147483648 at 1 s: there is no such",
        ),
    ],
)
def test_wrong_records_are_refused_by_file_and_line_and_leave_no_folder(tmp_path: Path, lines: list[str], said: str):
    path = written(tmp_path, lines)
    ran = CliRunner().invoke(main, ["import", str(path), "-o", str(tmp_path / "trace")])
    assert ran.exit_code == 2
    assert said in ran.output
    assert str(path) in ran.output
    assert len(ran.output.strip().splitlines()) == 1
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("#Paraver nothing\n", "line 1: it is no `#Paraver"),
        (HEADER.replace(":1:2(", ":2:2("), "line 1: it is of 2 programs"),
        (HEADER.replace("(1:1,1:2)", "(1:1)"), "line 1: it says 2 tasks"),
        (HEADER.replace("c:1:1:2:1:2", "c:1:1:3:1:2"), "line 2: it does not list the different tasks"),
        (HEADER.replace("c:1:1:2:1:2", "c:1:1:2:1:5"), "line 2: it lists a task that is not among 2"),
        (HEADER.replace("c:1:1:2:1:2", "c:1"), "line 2: it does not list the different tasks"),
    ],
)
def test_a_wrong_header_is_refused(tmp_path: Path, header: str, said: str):
    path = written(tmp_path, LINES, header)
    ran = CliRunner().invoke(main, ["import", str(path), "-o", str(tmp_path / "trace")])
    assert ran.exit_code == 2
    assert said in ran.output


@pytest.mark.parametrize("suffix", [".pcf", ".row"])
def test_a_trace_without_its_names_is_refused(tmp_path: Path, suffix: str):
    path = written(tmp_path)
    path.with_suffix(suffix).unlink()
    ran = CliRunner().invoke(main, ["import", str(path), "-o", str(tmp_path / "trace")])
    assert ran.exit_code == 2
    assert f"run{suffix}': No such file or directory: a .prv has a .pcf and a .row beside it" in ran.output


def check_mutation(folder: Path, seed: int) -> None:
    path = written(folder)
    files = [path, path, path.with_suffix(".pcf"), path.with_suffix(".row")]
    check_mutated(files, path, folder / "trace", seed, "paraver")


@pytest.mark.parametrize("seed", FEW)
def test_mutated_traces_end_with_a_trace_or_a_sentence(tmp_path: Path, seed: int):
    check_mutation(tmp_path, seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", MANY)
def test_many_mutated_traces_end_with_a_trace_or_a_sentence(tmp_path: Path, seed: int):
    check_mutation(tmp_path, seed)
