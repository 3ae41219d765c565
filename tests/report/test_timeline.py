"""The timeline of a page shows what took most time, wherever it is looked at."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from smpy.records.trace import Trace
from smpy.report import messages as messages_of_page
from smpy.report import timeline as timeline_of_page
from smpy.report.messages import messages
from smpy.report.timeline import KINDS, NOTHING, PictureRows, time_by_row, timeline
from tests.records.synthetic_trace import SyntheticTrace, late_sender, seal
from tests.report.unpacking import unpacked

LENGTHS = st.lists(
    st.tuples(st.sampled_from(KINDS[:4]), st.floats(1e-3, 3.0, allow_nan=False)), min_size=1, max_size=12
)


@pytest.fixture
def small_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is exact; 16 bins, read in four slabs, and levels down to four."""
    limits = {"EXACT_MAX": 0, "_BINS_MAX": 16, "_BINS_MIN": 4, "_HELD_CELLS": 12}
    for name, value in limits.items():
        monkeypatch.setattr(timeline_of_page, name, value)


def overlaps(trace: SyntheticTrace, n_rows: int, n_bins: int, per_row: int = 1) -> NDArray[np.float64]:
    """[rows, bins, kinds], interval by interval."""
    last_s = max(trace.now_s)
    spent_s = np.zeros((n_rows, n_bins, len(KINDS)))
    for row, at in itertools.product(trace.rows["intervals"], range(n_bins)):
        first_s, end_s = at * last_s / n_bins, (at + 1) * last_s / n_bins
        length_s = min(row["end_s"], end_s) - max(row["start_s"], first_s)
        spent_s[row["rank"] // per_row, at, KINDS.index(row["kind"])] += max(length_s, 0.0)
    return spent_s


def traced(ranks: list[list[tuple[str, float]]]) -> SyntheticTrace:
    trace = SyntheticTrace([f"host{rank}" for rank in range(len(ranks))])
    for rank, intervals in enumerate(ranks):
        for kind, length_s in intervals:
            trace.spend(rank, kind, length_s)
    return trace


def check_levels(trace: SyntheticTrace, rows_max: int) -> None:
    with TemporaryDirectory() as folder:
        read = Trace(trace.write(Path(folder) / "trace"))
        rows = PictureRows(read, rows_max)
        levels = [unpacked(level) for level in timeline(read, rows)["levels"]]
    assert [level.shape for level in levels] == [(rows.n, n_bins) for n_bins in (16, 8, 4)[: len(levels)]]
    for level in levels:
        spent_s = overlaps(trace, rows.n, level.shape[1], rows.per_row)
        shown = np.take_along_axis(spent_s, level[:, :, None].astype(int), axis=2)[:, :, 0]
        assert shown == pytest.approx(spent_s.max(axis=2), rel=1e-4, abs=1e-6)


@pytest.mark.usefixtures("small_bins")
@given(st.lists(LENGTHS, min_size=1, max_size=3))
def test_a_bin_shows_the_kind_that_took_most_of_it_on_every_level(ranks: list[list[tuple[str, float]]]):
    check_levels(traced(ranks), rows_max=1024)


@pytest.mark.usefixtures("small_bins")
@given(st.lists(LENGTHS, min_size=2, max_size=5))
def test_more_ranks_than_rows_share_them(ranks: list[list[tuple[str, float]]]):
    check_levels(traced(ranks), rows_max=2)


@pytest.mark.usefixtures("small_bins")
def test_a_bin_without_anything_says_nothing(tmp_path: Path):
    trace = traced([[("compute", 4.0)], [("compute", 4.0)]])
    trace.rows["intervals"][1]["start_s"] = 2.0
    read = Trace(trace.write(tmp_path / "trace"))
    level = unpacked(timeline(read, PictureRows(read))["levels"][0])
    assert level.tolist() == [[0] * 16, [NOTHING] * 8 + [0] * 8]


def test_few_intervals_are_exact_and_each_ranks_stand_together(tmp_path: Path):
    read = Trace(late_sender().write(tmp_path / "trace"))
    exact = {name: unpacked(column) for name, column in timeline(read, PictureRows(read))["exact"].items()}
    assert exact["first"].tolist() == [0, 3, 6]
    assert [KINDS[kind] for kind in exact["kind"]] == [
        *("compute", "overhead", "idle"),
        *("compute", "late_sender", "transfer"),
    ]
    assert exact["start_s"].tolist() == [0.0, 3.0, 3.5, 0.0, 1.0, 3.0]
    assert exact["end_s"].tolist() == [3.0, 3.5, 4.0, 1.0, 3.0, 4.0]
    assert exact["other"].tolist() == [-1, -1, -1, -1, 0, -1]
    assert [read.labels[label] for label in exact["label"]][1] == "Send prog.py:7"


def test_times_of_rows_add_up_to_their_ranks_times_the_makespan(tmp_path: Path):
    trace = traced([[("compute", 1.0 + rank), ("sleep", 0.5)] for rank in range(5)])
    read = Trace(trace.write(tmp_path / "trace"))
    spent_s = time_by_row(read, PictureRows(read, 2))
    assert spent_s.sum(axis=1) == pytest.approx([3 * 5.5, 2 * 5.5])
    assert spent_s[:, KINDS.index("compute")] == pytest.approx([1 + 2 + 3, 4 + 5])


def test_of_some_ranks_only_those_have_rows(tmp_path: Path):
    trace = traced([[("compute", 1.0)] for _ in range(6)])
    folder = trace.write(tmp_path / "trace")
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"ranks": null', '"ranks": [1, 4]'))
    seal(folder)
    rows = PictureRows(Trace(folder))
    assert (rows.ranks.tolist(), rows.n, rows.per_row) == ([1, 4], 2, 1)
    assert rows.row(np.array([4, 1])).tolist() == [1, 0]


def test_the_matrix_counts_all_bytes_and_the_longest_messages_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(messages_of_page, "DRAWN_MAX", 2)
    trace = traced([[("compute", 9.0)]] * 3)
    for source, target, size_bytes, length_s in ((0, 1, 10, 1.0), (0, 1, 20, 3.0), (2, 0, 5, 2.0), (1, 1, 7, 0.5)):
        trace.message(source, target, size_bytes, send_posted_s=1.0, ended_s=1.0 + length_s)
    read = Trace(trace.write(tmp_path / "trace"))
    found = messages(read, PictureRows(read), PictureRows(read))
    assert unpacked(found["matrix"]).tolist() == [[0, 30, 0], [0, 7, 0], [5, 0, 0]]
    assert unpacked(found["drawn"]["ended_s"]).tolist() == [4.0, 3.0]
    assert unpacked(found["drawn"]["source"]).tolist() == [0, 2]
    assert found["n"] == 4


def test_threads_have_rows_below_their_ranks():
    read = Trace(Path(__file__).parents[1] / "records" / "data" / "threads_9")
    rows, ranks = PictureRows(read, with_threads=True), PictureRows(read)
    found = timeline(read, rows)
    assert found["names"] == ["rank 0", "rank 0: receiver", "rank 1", "rank 1: receiver"]
    exact = {name: unpacked(column) for name, column in found["exact"].items()}
    assert len(exact["start_s"]) == read.n_rows("intervals") + read.n_rows("thread_intervals")
    thread = slice(exact["first"][1], exact["first"][2])
    assert exact["start_s"][thread].tolist() == sorted(
        row["start_s"] for row in read.table("thread_intervals").to_pylist() if row["thread"] == 1
    )
    drawn = {name: unpacked(column) for name, column in messages(read, ranks, rows)["drawn"].items()}
    pairs = set(zip(drawn["source"].tolist(), drawn["target"].tolist(), strict=True))
    assert {(0, 3), (2, 1)} <= pairs
    assert time_by_row(read, ranks).sum() == pytest.approx(2 * read.makespan_s, rel=1e-9)


def test_a_row_of_bins_of_a_thread_shows_what_the_thread_did(small_bins: None):
    read = Trace(Path(__file__).parents[1] / "records" / "data" / "threads_9")
    levels = timeline(read, PictureRows(read, with_threads=True))["levels"]
    kinds = [[KINDS[kind] for kind in row if kind != NOTHING] for row in unpacked(levels[0]).tolist()]
    assert kinds[1][0] == "late_sender"
    assert kinds[1][-1] == "compute"
