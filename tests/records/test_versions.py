"""Traces and journals of each version that is read (`data/README.md`)."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from smpy.options import RunConfig
from smpy.records.trace import Trace
from smpy.records.trace_layout import COLUMNS, RARE_TABLES, READABLE
from smpy.replay import replay
from smpy.runs.run_text import to_json
from smpy.study.journal import Entry, Journal, RunOrigin

DATA = Path(__file__).parent / "data"


def test_each_format_that_is_read_has_a_trace_here():
    assert sorted(int(path.name.removeprefix("trace_")) for path in DATA.glob("trace_*")) == sorted(READABLE)


@pytest.mark.parametrize("number", READABLE)
def test_a_trace_of_each_format_is_read_and_performed(number: int):
    trace = Trace(DATA / f"trace_{number}")
    assert {name: trace.table(name).num_rows for name in COLUMNS} == {name: trace.n_rows(name) for name in COLUMNS}
    assert all(trace.n_rows(name) for name in COLUMNS if name not in RARE_TABLES)
    result = replay(trace)
    assert result.makespan_s == trace.makespan_s
    assert result.finish_s.tolist() == trace.info["finish_s"]


def test_a_trace_with_threads_is_read():
    trace = Trace(DATA / "threads_9")
    assert {name: trace.table(name).num_rows for name in RARE_TABLES if name != "counters"} == {
        "threads": 2, "thread_intervals": 9, "thread_messages": 2, "thread_regions": 2, "wake_ups": 5,
    }  # fmt: skip


def test_a_journal_of_this_format_is_read(tmp_path: Path):
    path = Path(shutil.copy(DATA / "journal_3.sqlite", tmp_path))
    origin = RunOrigin(
        {"program.py": "0" * 64}, {"smpy": "0.1", "numpy": "2.0", "python": "3.11"}, {"HOME": "1" * 64}
    )  # fmt: skip
    numbers = {"ranks": 4, "makespan_s": 1.5, "messages": 7, "bytes": 80, "wall_s": 0.25, "peak_rss_bytes": 1 << 26}
    run = to_json(RunConfig(4, "program.py", compute="none"))
    ended = Entry({**numbers, "parts": None}, output="rate 3\n", run=run)
    failed = Entry({"wall_s": 2.0}, "it took longer than 2 s", "", "time", 2.0, matches={"rate (.*)": None}, run=run)
    with closing(Journal(path)) as journal:
        assert list(journal.entries()) == [("a" * 64, origin, ended), ("b" * 64, origin, failed)]
        assert not journal.damage
