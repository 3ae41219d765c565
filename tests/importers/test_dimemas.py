"""Programs of Dimemas are imported as what their tasks do."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.main import main
from smpy.records.trace import Trace
from smpy.replay import replay
from tests.importers.import_mutations import FEW, MANY, check_mutated

FLAT = "flat hosts=4 cores=1 speed=2Gf latency=1us nic=1GB/s"
IDEAL = {"platform": FLAT, "ideal": ("latency", "bandwidth", "overhead", "contention")}
HEADER = '#DIMEMAS:"two":0:2(1,1),1\nd:1:1:2:0:1\n'

PROGRAM = (
    HEADER
    + """1:0:0:1.5
2:0:0:1:1000:7:1:0
2:0:0:1:2000:8:1:2
3:0:0:1:10:9:1:0
10:0:0:1:1:0:0:800:0:1
10:0:0:11:1:0:0:64:64:1
20:0:0:60000019:5
1:1:0:0.5
1:1:1:7.0
3:1:0:0:2000:8:1:1
3:1:0:0:1000:7:1:0
3:1:0:0:2000:8:1:2
2:1:0:0:10:9:1:1
10:1:0:1:1:0:0:0:800:1
10:1:0:11:1:0:0:64:64:1
1:1:0:0.25
"""
)


def imported(folder: Path, text: str, **options) -> Trace:
    path = folder / "two.dim"
    path.write_text(text)
    return smpy.import_trace(path, folder / "trace", overwrite=True, **options)


def test_bursts_and_messages_take_what_the_program_says(tmp_path: Path):
    trace = imported(tmp_path, PROGRAM)
    result = replay(trace, **IDEAL)
    assert result.computing_s.tolist() == [1.5, 0.75]
    assert result.finish_s == pytest.approx([1.5, 1.75], abs=1e-6)
    assert set(trace.labels) == {"", "Send", "Isend", "Ssend", "Recv", "Irecv", "Wait", "Bcast", "Allreduce"}
    sizes = {row["operation"]: row["bytes"] for row in trace.table("collectives").to_pylist()}
    assert sizes == {"bcast": 800, "allreduce": 64}
    assert {each["text"] for each in trace.info["remarks"]} == {
        "threads other than a task's first are left out",
        "user events are left out",
        "nobody waits for a started send: the format has no record of that",
    }
    assert replay(trace, platform=FLAT).messages > 3


def test_bursts_keep_their_seconds_unless_the_traced_speed_is_known(tmp_path: Path):
    assert replay(imported(tmp_path, PROGRAM), platform=FLAT).computing_s.tolist() == [1.5, 0.75]
    scaled = imported(tmp_path, PROGRAM, host_speed_flop_per_s=1e9)
    assert replay(scaled, platform=FLAT).computing_s.tolist() == [0.75, 0.375]


def test_a_partner_may_have_a_thread_and_ranks_are_those_of_the_communicator(tmp_path: Path):
    text = (
        '#DIMEMAS:"x":1,300:3(1,1,1),2,0,0\nd:1:1:3:0:1:2\nd:1:2:2:2:1\n'
        "2:1:0:2:-1:50:3:2:0\n10:1:0:0:2:0:0:0:0:1\n3:2:0:1:-1:50:3:2:0\n10:2:0:0:2:0:0:0:0:1\ns:0:10\n"
    )
    trace = imported(tmp_path, text)
    assert replay(trace, platform=FLAT).bytes == 50
    rows = trace.table("actions").to_pandas()
    assert rows[rows["action"] == "send"][["comm", "peer"]].to_numpy().tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("sent", "received", "operation", "expected"),
    [
        ((8, 8, 8), (8, 8, 8), 11, ("allreduce", 8, None)),
        ((8, 0, 0), (0, 8, 8), 1, ("bcast", 8, None)),
        ((8, 8, 8), (8, 0, 0), 10, ("reduce", 8, None)),
        ((8, 8, 8), (24, 0, 0), 3, ("gatherv", 8, None)),
        ((4, 8, 12), (24, 24, 24), 7, ("allgatherv", 4, 24)),
        ((24, 24, 24), (4, 8, 12), 12, ("reduce_scatter", 4, 24)),
        ((8, 8, 8), (8, 8, 8), 8, ("alltoall", 8, None)),
        ((8, 8, 8), (8, 8, 8), 14, ("scan", 8, None)),
    ],
)
def test_sizes_of_collectives_are_those_of_the_calls(
    tmp_path: Path, sent: tuple, received: tuple, operation: int, expected: tuple
):
    lines = [f"10:{r}:0:{operation}:1:0:0:{sent[r]}:{received[r]}:1" for r in range(3)]
    trace = imported(tmp_path, '#DIMEMAS:"x":0:3(1,1,1),1\nd:1:1:3:0:1:2\n' + "\n".join(lines))
    (row,) = trace.table("collectives").to_pylist()
    assert (row["operation"], row["bytes"], row["total_bytes"]) == expected
    assert replay(trace, platform=FLAT).messages > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#DIMEMAS:x\n", "line 1: it is no `#DIMEMAS"),
        ('#DIMEMAS:"x":0:3(1,1),1\n', "line 1: it says 3 tasks"),
        (HEADER + "1:2:0:1\n", "line 3: '2' is no task: there are 0 to 1"),
        (HEADER + "1:0:0:1e400\n", "line 3: '1e400' is no number of seconds"),
        (HEADER + "1:0:0:-1\n", "line 3: '-1' is no number of seconds"),
        (HEADER + "2:0:0:1:10:3:1:0\n", "line 3: rank 0 sends 1 message that nobody receives: to rank 1 with tag 3"),
        (HEADER + "2:0:0:2:10:3:1:0\n", "line 3: '2' is no task"),
        (HEADER + "2:0:0:1:10:2147483648:1:0\n", "line 3: '2147483648' is no tag"),
        (HEADER + "2:0:0:1:10:3:4:0\n", "line 3: communicator 4 is not defined"),
        (HEADER + "2:0:0:1:10\n", "line 3: it is no message"),
        (HEADER + "3:0:0:1:10:3:1:2\n", "line 3: it waits for a message of task 1 with tag 3"),
        (HEADER + "10:0:0:1:1:0:0:8:8:1\n", "line 3: task 1 does not take part in this bcast"),
        (HEADER + "10:0:0:1:1:0:0:8:8:1\n10:1:0:0:1:0:0:8:8:1\n", "line 4: this barrier meets the bcast of line 3"),
        (HEADER + "10:0:0:20:1:0:0:8:8:1\n", "line 3: operation 20 cannot be imported"),
        (HEADER + "11:0:0:1\n", "line 3: a record of kind '11' cannot be imported"),
        (HEADER + "d:1:1:1:0\n", "line 3: communicator 1 is defined twice"),
        (HEADER + "d:1:2:2:0:0\n", "line 3: communicator 2 does not have the 2 different tasks"),
        (HEADER + "\0\n", "line 3: this is no text of Dimemas"),
        (HEADER + "\u00e9\n", "line 3: this is no text of Dimemas"),
    ],
)
def test_wrong_lines_are_refused_by_file_and_line_and_leave_no_folder(tmp_path: Path, text: str, said: str):
    path = tmp_path / "bad.dim"
    path.write_text(text)
    ran = CliRunner().invoke(main, ["import", str(path), "-o", str(tmp_path / "trace")])
    assert ran.exit_code == 2
    assert said in ran.output
    assert str(path) in ran.output
    assert len(ran.output.strip().splitlines()) == 1
    assert not (tmp_path / "trace").exists()


def check_mutation(folder: Path, seed: int) -> None:
    path = folder / "two.dim"
    path.write_text(PROGRAM)
    check_mutated([path], path, folder / "trace", seed, "dimemas")


@pytest.mark.parametrize("seed", FEW)
def test_mutated_programs_end_with_a_trace_or_a_sentence(tmp_path: Path, seed: int):
    check_mutation(tmp_path, seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", MANY)
def test_many_mutated_programs_end_with_a_trace_or_a_sentence(tmp_path: Path, seed: int):
    check_mutation(tmp_path, seed)
