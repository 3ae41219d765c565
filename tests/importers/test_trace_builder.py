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
from smpy.replay.trace_schedules import members_of

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
    builder.begin(2, options)
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
    with pytest.raises(UsageError, match=r"-np asks for 3 ranks, and .* has 2"):
        import_with(lambda path, builder, options: builder.begin(2, ImportOptions(n_ranks=3)))
    assert Trace(tmp_path / "trace").n_rows("actions") == 5


def test_rows_wait_for_what_is_under_way_and_not_for_the_end(import_with, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("smpy.importers.real_run._CALLS_AT_ONCE", 16)
    written = []

    def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
        builder.begin(1)
        run = RealRun(builder, options)
        for number in range(1000):
            run.call_begins(0, 2.0 * number, "Comm_rank")
            run.call_ends(0, 2.0 * number + 1)
            written.append(len(run._ranks[0].intervals))
        run.end()

    trace = import_with(read)
    assert max(written) <= 2 * 16
    assert trace.n_rows("intervals") == 1999


def test_a_send_whose_receive_is_far_away_is_taken_not_to_have_waited(import_with, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("smpy.importers.real_run._CALLS_AT_ONCE", 16)
    monkeypatch.setattr("smpy.importers.run_tables._ROWS_HELD", 64)

    def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
        builder.begin(2)
        run = RealRun(builder, options)
        run.call_begins(0, 0.0, "Send")
        run.message_sent(0, 0, 1, 7, 100)
        run.call_ends(0, 1.0)
        for number in range(1, 200):
            run.call_begins(0, 2.0 * number, "Comm_rank")
            run.call_ends(0, 2.0 * number + 1)
            held.append(len(run._ranks[0].intervals))
        run.call_begins(1, 0.5, "Recv")
        run.message_received(1, 0, 0, 7, 100)
        run.call_ends(1, 900.0)
        run.end()

    held: list[int] = []
    trace = import_with(read)
    assert max(held) <= 64 + 2 * 16
    assert intervals(trace, 0)[0] == (0.0, 1.0, "overhead", None)
    assert trace.n_rows("messages") == 1


def test_receives_are_matched_although_one_before_them_stays_open(import_with, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("smpy.importers.matching._RECEIVES_HELD", 8)

    def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
        builder.begin(2)
        run = RealRun(builder, options)
        run.call_begins(1, 0.0, "Irecv")
        run.receive_posted(1, 99)
        run.call_ends(1, 0.5)
        for number in range(1, 30):
            run.call_begins(0, float(number), "Send")
            run.message_sent(0, 0, 1, number, 100)
            run.call_ends(0, number + 0.25)
            run.call_begins(1, number + 0.5, "Recv")
            run.message_received(1, 0, 0, number, 100)
            run.call_ends(1, number + 0.75)
            waiting.append(len(run._ranks[1].posted))
        run.call_begins(0, 40.0, "Send")
        run.message_sent(0, 0, 1, 0, 5)
        run.call_ends(0, 41.0)
        run.call_begins(1, 40.0, "Wait")
        run.message_received(1, 0, 0, 0, 5, 99)
        run.call_ends(1, 42.0)
        run.end()

    waiting: list[int] = []
    trace = import_with(read)
    assert max(waiting) <= 8
    assert sorted(row["tag"] for row in trace.table("messages").to_pylist()) == list(range(30))
    assert replay(trace, platform=FLAT).messages == 30


def test_what_a_rank_does_with_others_outside_of_a_call_is_refused(import_with):
    def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
        builder.begin(2)
        RealRun(builder, options).message_sent(0, 0, 1, 7, 100)

    with pytest.raises(UsageError, match="rank 0 has to do with others after 0 s, outside of a call"):
        import_with(read)


def test_members_of_a_communicator_are_told_in_their_order(import_with):
    members = [[3, 1], [0, 2, 4, 5, 6], [7], [6, 5, 4, 3, 0]]

    def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
        builder.begin(8)
        assert [builder.comm(each) for each in members] == [1, 2, 3, 4]
        builder.actions(np.concatenate([row(rank, "end", comm=-1) for rank in range(8)]))

    found, _ = members_of(import_with(read))
    assert found == {0: list(range(8)), **dict(enumerate(members, start=1))}
