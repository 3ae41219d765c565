"""Programs in GOAL are imported as what their ranks do, in one order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.main import main
from smpy.export import export
from smpy.records.recorded_machine import recorded_machine
from smpy.records.trace import Trace
from smpy.replay import replay
from tests.importers.import_mutations import FEW, MANY, check_mutated
from tests.peer.case import Case
from tests.peer.cases import CASES
from tests.peer.runners import smpy_outcome

FLAT = "flat hosts=4 cores=1 speed=2Gf latency=1us nic=1GB/s"
TWO = """num_ranks 2
rank 0 {
a: calc 1000
b: send 100b to 1 tag 2
b requires a
c: calc 500
c requires b
}
rank 1 {
a: calc 300
b: recv 100b from 0 tag 2
b irequires a
c: calc 700
c requires b
}
"""
POINT_TO_POINT = [
    case
    for case in CASES
    if case.name.startswith(("pingpong-send", "pingpong-isend", "pipeline", "ring-", "halo"))
    and "perhost" not in case.name
    and "cyclic" not in case.name
]


def imported(folder: Path, text: str, **options) -> Trace:
    path = folder / "two.goal"
    path.write_text(text)
    return smpy.import_trace(path, folder / "trace", overwrite=True, **options)


def test_computing_keeps_its_nanoseconds_and_messages_their_order(tmp_path: Path):
    trace = imported(tmp_path, TWO)
    assert replay(trace, platform=FLAT).computing_s.tolist() == pytest.approx([1.5e-6, 1e-6])
    rows = [(row["rank"], row["action"]) for row in trace.table("actions").to_pylist()]
    assert [action for rank, action in rows if rank == 0] == ["compute", "isend", "wait", "compute", "end"]
    assert [action for rank, action in rows if rank == 1] == ["irecv", "compute", "wait", "compute", "end"]
    assert replay(imported(tmp_path, TWO, host_speed_flop_per_s=1e9), platform=FLAT).computing_s.tolist() == (
        pytest.approx([0.75e-6, 0.5e-6])
    )


def test_a_message_that_needs_nothing_is_started_before_the_rank_computes(tmp_path: Path):
    trace = imported(tmp_path, TWO.replace("b requires a\n", ""))
    rows = [row["action"] for row in trace.table("actions").to_pylist() if row["rank"] == 0]
    assert rows == ["isend", "compute", "wait", "compute", "end"]
    assert (
        trace.info["remarks"][0]["text"] == "concurrent operations of a rank are performed in the order of their lines"
    )


def test_concurrent_computing_follows_by_lines(tmp_path: Path):
    trace = imported(tmp_path, "num_ranks 1\nrank 0 {\na: calc 30\nb: calc 10\nc: calc 20\n}\n")
    rows = trace.table("actions").to_pylist()
    assert [row["amount"] for row in rows if row["action"] == "compute"] == [30, 10, 20]


@pytest.mark.parametrize("case", random.Random(5).sample(POINT_TO_POINT, 8), ids=lambda case: case.name)
def test_messages_that_are_exported_and_imported_end_when_the_run_did(tmp_path: Path, case: Case):
    smpy_outcome(case, tmp_path, trace=tmp_path / "trace")
    trace = Trace(tmp_path / "trace")
    export(trace, "goal", tmp_path / "x.goal")
    again = smpy.import_trace(tmp_path / "x.goal", tmp_path / "imported")
    machine = recorded_machine(trace)
    names = machine.build().host_names
    hosts = [names[host] for host, n_ranks in trace.info["trace"]["hosts_of_ranks"] for _ in range(n_ranks)]
    (tmp_path / "hosts").write_text("".join(f"{host}\n" for host in hosts))
    makespan_s = replay(again, platform=machine, hostfile=tmp_path / "hosts").makespan_s
    assert makespan_s == pytest.approx(trace.makespan_s, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TWO.replace("to 1 tag 2", "to 5 tag 2"), "line 4: send of rank 0 to rank 5: there are ranks 0 to 1"),
        (TWO.replace("c requires b", "a requires c\nc requires b"), "it is in a cycle of requirements"),
        (TWO.replace("tag 2\nb requires", "tag 3\nb requires"), "line 11: rank 1 receives more"),
        (TWO[:-3], "there is a } missing"),
        (TWO.replace("b: recv 100b from 0 tag 2", "b: calc 3"), "line 4: rank 0 sends 1 message that nobody receives"),
        (TWO.replace("c: calc 500", "c: send 9b to 1 tag 7"), "line 6: rank 0 sends 1 message that nobody receives"),
        (
            TWO.replace("c: calc 500", "c: send 9b to 1 tag 7").replace("from 0 tag 2", "from -1 tag 2"),
            "line 4: rank 0 sends 1 message that nobody receives: to rank 1",
        ),
    ],
)
def test_a_text_that_is_no_program_is_refused_by_line_and_leaves_no_folder(tmp_path: Path, text: str, said: str):
    path = tmp_path / "bad.goal"
    path.write_text(text)
    ran = CliRunner().invoke(main, ["import", str(path), "-o", str(tmp_path / "trace")])
    assert ran.exit_code == 2
    assert said in ran.output
    assert not (tmp_path / "trace").exists()


def check_mutation(folder: Path, seed: int) -> None:
    path = folder / "two.goal"
    path.write_text(TWO)
    check_mutated([path], path, folder / "trace", seed, "goal")


@pytest.mark.parametrize("seed", FEW)
def test_mutated_programs_end_with_a_trace_or_a_sentence(tmp_path: Path, seed: int):
    check_mutation(tmp_path, seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", MANY)
def test_many_mutated_programs_end_with_a_trace_or_a_sentence(tmp_path: Path, seed: int):
    check_mutation(tmp_path, seed)


@pytest.mark.parametrize("form", ["goal", "ti", "dimemas"])
def test_nanoseconds_are_written_as_those_of_the_machine(tmp_path: Path, form: str):
    trace = imported(tmp_path, TWO, platform=FLAT)
    written = export(trace, form, tmp_path / "again")
    path = written / "main" if form == "ti" else written
    again = smpy.import_trace(path, tmp_path / "trace-again", platform=FLAT)
    assert replay(again).computing_s.tolist() == pytest.approx([1.5e-6, 1e-6])
