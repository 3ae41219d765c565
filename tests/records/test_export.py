"""A trace in the formats of other tools says what the trace says."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.records.trace import Trace
from tests.records.synthetic_trace import SyntheticTrace, late_sender, seal


def exported(folder: Path, *options: str) -> None:
    done = CliRunner().invoke(main, ["export", str(folder), *options])
    assert done.exit_code == 0, done.output


def perfetto(trace: SyntheticTrace, tmp_path: Path) -> list[dict[str, Any]]:
    exported(trace.write(tmp_path / "trace"), "--to", "perfetto", "-o", str(tmp_path / "trace.json"))
    return json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def pipeline(n_ranks: int, n_rounds: int) -> SyntheticTrace:
    """Each rank waits for the one before it, in lengths that no decimal number is."""
    trace = SyntheticTrace([f"host{rank // 2}" for rank in range(n_ranks)])
    for _ in range(n_rounds):
        number = None
        for rank in range(n_ranks):
            if number is not None:
                sent_s = trace.rows["messages"][number]["ended_s"]
                posted_s = trace.now_s[rank]
                trace.rows["messages"][number]["receive_posted_s"] = posted_s
                if sent_s > posted_s:
                    trace.spend(rank, "late_sender", sent_s - posted_s, trace.site(rank, "Recv", 3), rank - 1, number)
            trace.spend(rank, "compute", 1e-6 / 3, trace.site(rank, "dgemm", 4, is_kernel=True))
            times = {"send_posted_s": trace.now_s[rank], "started_s": trace.now_s[rank]}
            trace.spend(rank, "overhead", 1e-7 / 7, trace.site(rank, "Send", 5))
            if rank + 1 < n_ranks:
                number = trace.message(rank, rank + 1, 8, **times, ended_s=trace.now_s[rank] + 1e-7 / 3)
    return trace


def test_slices_of_a_rank_follow_each_other_from_0_to_the_makespan(tmp_path: Path):
    trace = pipeline(5, 20)
    slices = defaultdict(list)
    for event in perfetto(trace, tmp_path):
        if event["ph"] == "X":
            slices[event["tid"]].append((round(event["ts"] * 1000), round(event["dur"] * 1000)))
    assert sorted(slices) == [0, 1, 2, 3, 4]
    for of_rank in slices.values():
        of_rank.sort()
        assert of_rank[0][0] == 0
        assert [ts + dur for ts, dur in of_rank] == [*(ts for ts, _ in of_rank[1:]), round(max(trace.now_s) * 1e9)]


def test_both_ends_of_a_message_lie_in_slices_of_its_ranks(tmp_path: Path):
    trace = pipeline(5, 20)
    events = perfetto(trace, tmp_path)
    slices = [(it["tid"], it["ts"], it["ts"] + it["dur"]) for it in events if it["ph"] == "X"]
    flows = [it for it in events if it["ph"] in "sf"]
    assert Counter(it["id"] for it in flows) == dict.fromkeys(range(len(trace.rows["messages"])), 2)
    for flow in flows:
        assert any(tid == flow["tid"] and start <= flow["ts"] < end for tid, start, end in slices)
    for source, target in zip(flows[::2], flows[1::2], strict=True):
        assert (source["ph"], target["ph"], target["tid"]) == ("s", "f", source["tid"] + 1)
        assert source["ts"] <= target["ts"]


def test_a_message_is_drawn_from_its_send_to_the_end_of_the_wait_for_it(tmp_path: Path):
    source, target = (event for event in perfetto(late_sender(), tmp_path) if event["ph"] in "sf")
    assert (source["tid"], source["ts"], target["tid"], target["ts"]) == (0, 3e6, 1, 4e6 - 0.001)


def test_a_slice_says_call_kind_line_and_who_was_waited_for(tmp_path: Path):
    (wait,) = (event for event in perfetto(late_sender(), tmp_path) if event.get("cat") == "late_sender")
    assert wait["name"] == "Recv: late sender"
    assert (wait["ts"], wait["dur"]) == (1e6, 2e6)
    assert wait["args"] == {"line": "prog.py:9", "waits for rank": 0, "message": 0}


def test_hosts_are_processes_and_ranks_their_threads(tmp_path: Path):
    names = [event for event in perfetto(pipeline(4, 1), tmp_path) if event["name"] in ("process_name", "thread_name")]
    processes = {it["pid"]: it["args"]["name"] for it in names if it["name"] == "process_name"}
    ranks = {it["args"]["name"]: processes[it["pid"]] for it in names if it["name"] == "thread_name"}
    assert ranks == {"rank 0": "host0", "rank 1": "host0", "rank 2": "host1", "rank 3": "host1"}
    assert not set(processes) & {it["tid"] for it in names if it["name"] == "thread_name"}


def test_regions_within_each_other_open_and_close_in_order(tmp_path: Path):
    trace = late_sender()
    for name, start_s, end_s in (("inner", 0.0, 1.0), ("again", 1.0, 2.0), ("outer", 0.0, 2.0)):
        trace.rows["regions"].append({"rank": 1, "name": name, "start_s": start_s, "end_s": end_s})
    events = [it for it in perfetto(trace, tmp_path) if it.get("cat") == "region"]
    marks = sorted(events, key=lambda it: it["ts"])  # stable, as viewers sort
    assert [(it["ph"], it["name"]) for it in marks] == [
        ("b", "rank 1"), ("b", "outer"), ("b", "inner"), ("e", "inner"), ("b", "again"), ("e", "again"), ("e", "outer"),
        ("e", "rank 1"),
    ]  # fmt: skip


def test_a_trace_of_some_ranks_has_no_message_to_another_one(tmp_path: Path):
    trace = pipeline(4, 1)
    folder = trace.write(tmp_path / "trace")
    info = json.loads((folder / "run.json").read_text())
    info["trace"]["ranks"] = [1, 2]
    (folder / "run.json").write_text(json.dumps(info))
    seal(folder)
    exported(folder, "--to", "perfetto", "-o", str(tmp_path / "out"))
    events = json.loads((tmp_path / "out").read_text())["traceEvents"]
    assert {(it["tid"], it["ph"]) for it in events if it["ph"] in "sf"} == {(1, "s"), (2, "f")}


def test_a_run_that_was_cut_short_with_messages_under_way_is_written(tmp_path: Path):
    trace = late_sender()
    trace.message(0, 1, 5, send_posted_s=1.0)
    exported(trace.write(tmp_path / "trace", is_complete=False), "--to", "perfetto", "-o", str(tmp_path / "out"))
    content = json.loads((tmp_path / "out").read_text())
    assert content["otherData"]["is_complete"] is False
    assert [event["id"] for event in content["traceEvents"] if event["ph"] == "s"] == [0]


def test_names_with_quotes_make_valid_json(tmp_path: Path):
    trace = SyntheticTrace(['the "big" one'])
    trace.spend(0, "compute", 1.0, trace.site(0, 'k"', 3, 'a "b\\c.py'))
    trace.rows["regions"].append({"rank": 0, "name": 'x"y', "start_s": 0.0, "end_s": 1.0})
    assert 'x"y' in {event["name"] for event in perfetto(trace, tmp_path)}


def test_a_name_that_ends_in_gz_is_compressed(tmp_path: Path):
    exported(late_sender().write(tmp_path / "trace"), "--to", "perfetto", "-o", str(tmp_path / "out.json.gz"))
    with gzip.open(tmp_path / "out.json.gz") as file:
        assert len(json.load(file)["traceEvents"]) > 6


def test_csv_files_hold_the_rows_of_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = pipeline(3, 2).write(tmp_path / "trace")
    monkeypatch.chdir(tmp_path)
    exported(folder, "--to", "csv")
    for name in ("intervals", "messages", "sites"):
        with (tmp_path / "trace.csv" / f"{name}.csv").open(newline="") as file:
            found = list(csv.DictReader(file))
        rows = Trace(folder).table(name).to_pylist()
        assert [list(row) for row in found] == [list(row) for row in rows]
        for is_row, row in zip(found, rows, strict=True):
            for column, value in row.items():
                told = is_row[column]
                assert (None if told == "" else float(told) if isinstance(value, float) else told) == (
                    value if value is None or isinstance(value, (str, float)) else str(value).lower()
                )
    assert json.loads((tmp_path / "trace.csv" / "run.json").read_text()) == Trace(folder).info


def test_what_cannot_be_written_or_read_is_told_and_nothing_is_left(tmp_path: Path):
    folder = late_sender().write(tmp_path / "trace")
    done = CliRunner().invoke(main, ["export", str(folder), "--to", "perfetto", "-o", str(tmp_path / "no" / "x")])
    assert (done.exit_code, "cannot write" in done.output) == (2, True)
    (folder / "messages.parquet").write_bytes(b"PAR1")
    done = CliRunner().invoke(main, ["export", str(folder), "--to", "perfetto", "-o", str(tmp_path / "x")])
    assert (done.exit_code, "messages.parquet is shorter than" in done.output) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]
