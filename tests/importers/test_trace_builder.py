"""The builder of imported traces, and events of a real run, with readers that stand in this file."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import smpy
from smpy.engine.trace import ACTIONS, dtype_of
from smpy.errors import UsageError
from smpy.export import export
from smpy.importers import formats
from smpy.importers.import_options import ImportOptions
from smpy.importers.real_run import RealRun
from smpy.importers.trace_builder import TraceBuilder
from smpy.records.trace import Trace
from smpy.replay import replay

FLAT = "flat hosts=4 cores=1 speed=2Gf latency=1us nic=1GB/s"


def reader(read) -> ModuleType:
    module = ModuleType("reader_of_a_test")
    module.recognises = lambda path, head: head.startswith(b"test")
    module.read = read
    return module


@pytest.fixture
def import_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Import a file whose reader is the given function."""
    source = tmp_path / "run.test"
    source.write_text("test")

    def run(read, to: str = "trace", **options) -> Trace:
        monkeypatch.setitem(sys.modules, "reader_of_a_test", reader(read))
        monkeypatch.setitem(formats.FORMATS, "test", "reader_of_a_test")
        return smpy.import_trace(source, tmp_path / to, **options)

    return run


def row(rank: int, action: str, **fields: float) -> np.ndarray:
    rows = np.zeros(1, dtype_of("actions"))
    rows["rank"], rows["action"] = rank, ACTIONS.index(action)
    for name, value in fields.items():
        rows[name] = value
    return rows


def read_undated(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
    """Rank 0 computes 3 Gf and sends 1,000 bytes to rank 1."""
    builder.begin(2)
    builder.actions(np.concatenate([
        row(0, "compute", amount=3e9, comm=-1),
        row(0, "send", peer=1, tag=7, bytes=1000, amount=1, request=1),
        row(0, "end", comm=-1),
        row(1, "recv", peer=0, tag=7, bytes=1000, request=1),
        row(1, "end", comm=-1),
    ]))  # fmt: skip


def test_a_trace_without_dates_is_replayed_on_a_machine_that_is_named(import_with):
    trace = import_with(read_undated)
    result = replay(trace, platform=FLAT)
    assert result.computing_s.tolist() == [1.5, 0.0]
    assert (result.messages, result.bytes) == (1, 1000)
    with pytest.raises(UsageError, match="names no machine: say --platform"):
        replay(trace)


def test_a_trace_without_dates_says_so_to_an_analysis(import_with):
    trace = import_with(read_undated)
    for ask in (lambda: trace.makespan_s, lambda: trace.table("intervals"), lambda: list(trace.batches("messages"))):
        with pytest.raises(UsageError, match="has no dates, as its format has none: replay it with --trace"):
            ask()


def test_csv_of_a_trace_without_dates_has_the_tables_that_there_are(import_with, tmp_path: Path):
    export(import_with(read_undated), "csv", tmp_path / "csv")
    names = {path.name for path in (tmp_path / "csv").iterdir()}
    assert names == {"actions.csv", "collectives.csv", "comms.csv", "sites.csv", "run.json"}


def test_a_machine_that_is_written_in_needs_no_name_later(import_with):
    trace = import_with(read_undated, platform=FLAT)
    assert replay(trace).makespan_s == replay(import_with(read_undated, "other"), platform=FLAT).makespan_s


def read_dated(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
    """Rank 1 waits from 1 s to 3 s for a message that rank 0 sends until 3.5 s; both then meet in a barrier."""
    builder.begin(2, keeps_seconds=options.host_speed_flop_per_s is None)
    run = RealRun(builder, options)
    run.region_begins(0, 0.0, "work")
    run.region_begins(1, 0.0, "work")
    run.call_begins(1, 1.0, "Recv", "a.f90", 4)
    run.call_begins(0, 3.0, "Send", "a.f90", 3)
    run.message_sent(0, 0, 1, 5, 100)
    run.call_ends(0, 3.5)
    run.message_received(1, 0, 0, 5, 100)
    run.call_ends(1, 3.75)
    for rank in (0, 1):
        run.call_begins(rank, 4.0 + rank, "Barrier")
        run.collective(rank, "barrier", 0, -1, 0, 0)
    for rank in (0, 1):
        run.call_ends(rank, 5.5 + rank)
        run.region_ends(rank, 7.0)
    run.end()


def intervals(trace: Trace, rank: int) -> list[tuple[float, float, str, int | None]]:
    table = trace.table("intervals", ["rank", "start_s", "end_s", "kind", "other"]).to_pylist()
    return [(row["start_s"], row["end_s"], row["kind"], row["other"]) for row in table if row["rank"] == rank]


def test_a_receive_waits_for_its_sender_and_then_for_the_transfer(import_with):
    trace = import_with(read_dated)
    assert intervals(trace, 1) == [
        (0.0, 1.0, "compute", None),
        (1.0, 3.0, "late_sender", 0),
        (3.0, 3.75, "transfer", None),
        (3.75, 5.0, "compute", None),
        (5.0, 6.5, "transfer", None),
        (6.5, 7.0, "compute", None),
    ]


def test_a_rank_waits_in_a_collective_for_the_last_one_to_enter(import_with):
    trace = import_with(read_dated)
    assert intervals(trace, 0)[-3:] == [
        (4.0, 5.0, "late_members", 1),
        (5.0, 5.5, "transfer", None),
        (5.5, 7.0, "compute", None),
    ]


@pytest.mark.parametrize(("speed", "expected"), [(None, [5.0, 2.75]), (1e9, [2.5, 1.375])])
def test_computing_keeps_its_seconds_unless_the_traced_speed_is_known(import_with, speed, expected):
    trace = import_with(read_dated, host_speed_flop_per_s=speed)
    assert replay(trace, platform=FLAT).computing_s.tolist() == pytest.approx(expected, rel=1e-12)


def test_an_import_that_fails_leaves_no_folder(import_with, tmp_path: Path):
    def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
        read_undated(path, builder, options)
        raise UsageError("line 5 is wrong")

    with pytest.raises(UsageError, match="line 5"):
        import_with(read)
    assert [each.name for each in tmp_path.iterdir()] == ["run.test"]


def test_an_import_that_fails_leaves_the_trace_that_was_there(import_with, tmp_path: Path):
    import_with(read_undated)
    with pytest.raises(UsageError, match="ranks: there can be"):
        import_with(lambda path, builder, options: builder.begin(0))
    assert Trace(tmp_path / "trace").n_rows("actions") == 5
