"""The summary of a run, as a record and as text."""

import dataclasses
import errno
import itertools
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from smpy.errors import UsageError
from smpy.records.files import check_writable, write_whole
from smpy.records.inputs import Inputs, mapping_of
from smpy.records.summary import SCHEMA, Summary
from smpy.records.time_shares import TimeShares

SUMMARY = Summary(
    inputs=Inputs("0.1", "program.py", False, ("--its",), None, None, [("h", 1)], {"bcast": ["ring"]}, "seed"),
    platform="default cluster",
    n_ranks=2,
    makespan_s=0.25,
    finish_s=np.array([0.125, 0.25]),
    messages=12,
    bytes=3000,
    shares=TimeShares(compute=0.75, communication=0.125, waiting=0.0625, sleep=0.0625),
    compute="measured",
    host_speed_flop_per_s=None,
    keeps_memory=False,
    is_partial=False,
    is_folded=False,
    remarks=(),
    wall_s=1.5,
    peak_rss_bytes=50_000_000,
)


def test_json_opens_with_its_schema_and_has_the_named_keys():
    record = json.loads(SUMMARY.to_json())
    assert next(iter(record)) == "schema"
    assert record["schema"] == SCHEMA
    named = {"makespan_s": 0.25, "ranks": 2, "messages": 12, "bytes": 3000, "smpy": "0.1", "program": "program.py"}
    assert named.items() <= record.items()
    assert {"wall_s": 1.5, "peak_rss_bytes": 50_000_000, "command": sys.argv}.items() <= record["host"].items()
    assert record["finish_s"] == [0.125, 0.25]


@pytest.mark.parametrize(
    ("keeps_memory", "told"),
    [(False, "goes back to the system (--keep-memory: stays)"), (True, "stays with the process")],
)
def test_where_computing_is_measured_it_is_said_what_becomes_of_freed_memory(keeps_memory: bool, told: str):
    summary = dataclasses.replace(SUMMARY, keeps_memory=keeps_memory)
    assert f"\n  freed memory   {told}" in summary.render()
    assert json.loads(summary.to_json())["keeps_memory"] is keeps_memory
    assert "freed memory" not in dataclasses.replace(summary, compute="models").render()


def test_json_of_equal_runs_differs_in_the_last_line_alone():
    other = dataclasses.replace(SUMMARY, wall_s=2.5, peak_rss_bytes=1, host_speed_flop_per_s=1e9)
    lines, other_lines = SUMMARY.to_json().splitlines(), other.to_json().splitlines()
    assert lines[:-2] == other_lines[:-2]
    assert [line.split(":")[0].strip() for line in lines[-2:]] == ['"host"', "}"]


@pytest.mark.parametrize(
    ("hosts", "mapping"),
    [
        ([0, 0, 1, 1], [("a", 2), ("b", 2)]),
        ([0, 1, 0, 1, 0], [("a", 1), ("b", 1)]),
        ([0, 1, 1, 0, 1], [("a", 1), ("b", 2)]),
        ([0, 1, 0, 0], [("a", 1), ("b", 1), ("a", 2)]),
        ([0] * 1_000_000, [("a", 1_000_000)]),
        ([0, 1] * 500_000, [("a", 1), ("b", 1)]),
    ],
)
def test_a_mapping_is_told_once_however_many_ranks_it_places(hosts: list[int], mapping: list[tuple[str, int]]):
    assert mapping_of(hosts, ["a", "b"]) == mapping
    runs = itertools.cycle(mapping)
    placed: list[str] = []
    while len(placed) < len(hosts):
        host, count = next(runs)
        placed += [host] * count
    assert [("a", "b")[host] for host in hosts] == placed[: len(hosts)]


def test_dates_survive_the_json_bit_for_bit():
    finish_s = np.array([0.1 + 0.2, 1e-9 / 3])
    record = json.loads(dataclasses.replace(SUMMARY, finish_s=finish_s).to_json())
    assert record["finish_s"] == finish_s.tolist()


def test_a_rank_that_had_not_ended_has_no_date():
    partial = dataclasses.replace(SUMMARY, finish_s=np.array([0.125, np.nan]), is_partial=True)
    assert json.loads(partial.to_json())["finish_s"] == [0.125, None]
    assert "stopped before the end" in partial.render()


def test_summary_says_that_measured_time_was_not_scaled():
    assert "not scaled to the simulated cores: --host-speed" in SUMMARY.render()
    assert "2.5e+09 flop/s" in dataclasses.replace(SUMMARY, host_speed_flop_per_s=2.5e9).render()
    assert "free" in dataclasses.replace(SUMMARY, compute="none").render()


def test_summary_says_that_folded_numbers_are_not_results():
    assert "not results" in dataclasses.replace(SUMMARY, is_folded=True).render()
    assert "not results" not in SUMMARY.render()


def test_a_record_replaces_its_file_whole(tmp_path: Path):
    path = tmp_path / "summary.json"
    path.write_text("old", encoding="utf-8")
    SUMMARY.write_json(path)
    assert path.read_text(encoding="utf-8") == SUMMARY.to_json()
    assert [file.name for file in tmp_path.iterdir()] == ["summary.json"]


def test_a_record_follows_a_link_to_its_file(tmp_path: Path):
    path, link = tmp_path / "summary.json", tmp_path / "link.json"
    link.symlink_to(path)
    write_whole(link, "text")
    assert link.is_symlink()
    assert path.read_text(encoding="utf-8") == "text"


def test_a_full_disk_leaves_the_old_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "summary.json"
    path.write_text("old", encoding="utf-8")

    def full(*args: object, **kwargs: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(UsageError, match=r"cannot write .*summary.json: No space left on device"):
            SUMMARY.write_json(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["summary.json"]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("missing/summary.json", "No such file or directory"), ("folder", "it is a folder")],
)
def test_a_path_that_cannot_be_written_is_known_before_the_run(tmp_path: Path, name: str, complaint: str):
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=complaint):
        check_writable(tmp_path / name)


def test_looking_whether_a_path_can_be_written_leaves_no_trace(tmp_path: Path):
    check_writable(tmp_path / "summary.json")
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_written_to_and_not_replaced():
    check_writable(Path("/dev/null"))
    write_whole(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()
