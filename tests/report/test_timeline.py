"""The timeline of a page shows what took most time, wherever it is looked at."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from smpy.records.profile import INTERVAL_KINDS as KINDS
from smpy.records.trace import Trace
from smpy.report import messages as messages_of_page
from smpy.report import tiled_timeline
from smpy.report import tiles as tiles_of_page
from smpy.report.messages import messages
from smpy.report.tiled_timeline import timeline
from smpy.report.timeline import PictureRows, time_by_row
from smpy.report.timeline_bins import NOTHING
from tests.records.synthetic_trace import SyntheticTrace, late_sender, seal
from tests.report.unpacking import tiles_of, unpacked

LENGTHS = st.lists(
    st.tuples(st.sampled_from(KINDS[:4]), st.floats(1e-3, 3.0, allow_nan=False)), min_size=1, max_size=12
)


@pytest.fixture
def small_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is exact; 16 bins, levels down to four, and tiles of about three intervals."""
    for name, value in {"EXACT_MAX": 0, "_BINS_MAX": 16, "_BINS_MIN": 4}.items():
        monkeypatch.setattr(tiled_timeline, name, value)
    monkeypatch.setattr(tiles_of_page, "INTERVALS", 3)


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
        sites = [trace.site(rank, "Recv", line) for line in (7, 9)]
        for kind, length_s in intervals:
            trace.spend(rank, kind, length_s, sites[round(length_s * 1000) % 2])
    return trace


def check_labels(
    trace: SyntheticTrace, read: Trace, rows: PictureRows, levels: list[NDArray[Any]], labels: list[NDArray[Any]]
) -> None:
    """In each bin, no label has more of the shown kind's time than the shown label."""
    last_s = max(trace.now_s)
    for level, shown in zip(levels, labels, strict=True):
        assert level.shape == shown.shape
        spent_s = np.zeros((*level.shape, len(read.labels)))
        for row, at in itertools.product(trace.rows["intervals"], range(level.shape[1])):
            first_s, end_s = at * last_s / level.shape[1], (at + 1) * last_s / level.shape[1]
            length_s = min(row["end_s"], end_s) - max(row["start_s"], first_s)
            place = row["rank"] // rows.per_row
            if KINDS.index(row["kind"]) == level[place, at]:
                spent_s[place, at, read.label_of_site[row["site"] or 0]] += max(length_s, 0.0)
        of_shown = np.take_along_axis(spent_s, shown[:, :, None].astype(int), axis=2)[:, :, 0]
        assert of_shown == pytest.approx(spent_s.max(axis=2), rel=1e-4, abs=1e-6)


def check_tiles(
    trace: SyntheticTrace, read: Trace, rows: PictureRows, grid: dict[str, Any], tiles: dict[str, Any]
) -> None:
    """Each tile has exactly the intervals that touch its ranks and its time, in order."""
    edges_s, per_block = grid["edges_s"], grid["places_per_block"]
    assert edges_s == sorted(set(edges_s))
    assert per_block % rows.per_row == 0
    assert tiles.keys() == {f"{block}-{slab}" for block in range(grid["n_blocks"]) for slab in range(len(edges_s) - 1)}
    for name, (stamp, tables) in tiles.items():
        assert stamp == "stamp"
        block, slab = map(int, name.split("-"))
        its = tables["intervals"]
        for at in range(len(its["first"]) - 1):
            part = slice(its["first"][at], its["first"][at + 1])
            expected = [
                row for row in trace.rows["intervals"]
                if row["rank"] == block * per_block + at
                and row["start_s"] < edges_s[slab + 1] and row["end_s"] > edges_s[slab]
            ]  # fmt: skip
            assert its["start_s"][part].tolist() == [row["start_s"] for row in expected]
            assert its["end_s"][part].tolist() == [row["end_s"] for row in expected]
            assert [KINDS[kind] for kind in its["kind"][part]] == [row["kind"] for row in expected]
            assert its["label"][part].tolist() == [read.label_of_site[row["site"] or 0] for row in expected]
        assert its["first"][-1] == len(its["start_s"])


def check_levels(trace: SyntheticTrace, rows_max: int) -> None:
    with TemporaryDirectory() as folder:
        read = Trace(trace.write(Path(folder) / "trace"))
        rows = PictureRows(read, rows_max)
        found = timeline(read, rows, "stamp", Path(folder))
        levels, labels = ([unpacked(level) for level in found[name]] for name in ("levels", "labels"))
        check_tiles(trace, read, rows, found["tiles"], tiles_of(Path(folder)))
    check_labels(trace, read, rows, levels, labels)
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
    level = unpacked(timeline(read, PictureRows(read), "stamp", tmp_path)["levels"][0])
    assert level.tolist() == [[0] * 16, [NOTHING] * 8 + [0] * 8]


def test_few_intervals_are_exact_and_each_ranks_stand_together(tmp_path: Path):
    read = Trace(late_sender().write(tmp_path / "trace"))
    exact = {
        name: unpacked(column) for name, column in timeline(read, PictureRows(read), "", tmp_path)["exact"].items()
    }
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


def test_threads_have_rows_below_their_ranks(tmp_path: Path):
    read = Trace(Path(__file__).parents[1] / "records" / "data" / "threads_9")
    rows, ranks = PictureRows(read, with_threads=True), PictureRows(read)
    found = timeline(read, rows, "", tmp_path)
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


def test_a_row_of_bins_of_a_thread_shows_what_the_thread_did(small_bins: None, tmp_path: Path):
    read = Trace(Path(__file__).parents[1] / "records" / "data" / "threads_9")
    levels = timeline(read, PictureRows(read, with_threads=True), "stamp", tmp_path)["levels"]
    kinds = [[KINDS[kind] for kind in row if kind != NOTHING] for row in unpacked(levels[0]).tolist()]
    assert kinds[1][0] == "late_sender"
    assert kinds[1][-1] == "compute"


@pytest.mark.usefixtures("small_bins")
def test_a_message_stands_in_the_tiles_of_its_send_and_of_its_end(tmp_path: Path):
    trace = traced([[("compute", 1.0), ("sleep", 1.0)] * 6] * 4)
    for source, target, sent_s, ended_s in ((0, 3, 0.5, 11.5), (1, 1, 2.0, 2.1), (2, 0, 11.0, 12.0)):
        trace.message(source, target, 10, send_posted_s=sent_s, ended_s=ended_s)
    read = Trace(trace.write(tmp_path / "trace"))
    grid = timeline(read, PictureRows(read), "stamp", tmp_path)["tiles"]
    assert len(tiles_of(tmp_path)) > 4

    def tile(rank: int, date_s: float) -> str:
        slab = max(number for number, edge_s in enumerate(grid["edges_s"]) if edge_s < date_s)
        return f"{rank // grid['places_per_block']}-{slab}"

    found: dict[float, set[str]] = {}
    for name, (_, tables) in tiles_of(tmp_path).items():
        for sent_s in tables["messages"]["sent_s"].tolist():
            assert name not in found.get(sent_s, set())
            found.setdefault(sent_s, set()).add(name)
    assert found == {
        0.5: {tile(0, 0.5), tile(3, 11.5)},
        2.0: {tile(1, 2.0), tile(1, 2.1)},
        11.0: {tile(2, 11.0), tile(0, 12.0)},
    }


def test_tiles_have_about_as_many_intervals_each_however_dense_they_are():
    dates_s = [np.sort(np.concatenate([np.linspace(0, 100, 1000), np.linspace(50, 50.01, 9_000)]))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles_of_page, "INTERVALS", 100)
        grid = tiles_of_page.grid_of(10_000, 1, 1, dates_s, (0.0, 100.0))
    counts, _ = np.histogram(dates_s[0], grid.edges_s)
    assert grid.n_blocks * grid.n_slabs == 100
    assert counts.min() >= 90
    assert counts.max() <= 110


def test_a_page_takes_the_place_of_the_tiles_of_the_last_one_and_of_nothing_else(tmp_path: Path):
    folder, new = tmp_path / "report.tiles", tmp_path / "new"
    folder.mkdir()
    new.mkdir()
    for name in ("0-0.js", "17-3.js", "notes.txt"):
        (folder / name).write_text("")
    (new / "0-1.js").write_text("")
    tiles_of_page.replace_tiles(folder, new)
    assert sorted(path.name for path in folder.iterdir()) == ["0-1.js", "notes.txt"]
    (folder / "notes.txt").unlink()
    tiles_of_page.replace_tiles(folder, new)
    tiles_of_page.replace_tiles(folder, new)
    assert not folder.exists()
