"""OTF2: traces that the package's own writer writes here."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.export.added_facts import IN_VAIN, LAUNCHED_RANK, SUCCESS
from smpy.records.trace import Trace
from smpy.replay import replay

otf2 = pytest.importorskip("otf2")

REAL = Path(__file__).parents[1] / "oracle" / "otf2"
FLAT = "flat hosts=4 cores=1 latency=1us nic=1GB/s"
NO_ROOT = 2**32 - 1
EVENTS_OF_RANK_1 = 5737  # place of their number in traces.def of ping_pong
CALLS = (
    *("MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Waitall", "MPI_Sendrecv", "MPI_Ssend"),
    *("MPI_Allreduce", "MPI_Bcast", "MPI_Iallreduce", "MPI_Put", "MPI_File_write", "MPI_Comm_split", "MPI_Test"),
)


class Written:
    """A trace of ranks with one location each; dates are in nanoseconds."""

    def __init__(self, folder: Path, n_ranks: int) -> None:
        self.folder, self.path = folder, folder / "traces.otf2"
        self.archive = otf2.writer.open(str(folder), timer_resolution=10**9)
        self.trace = self.archive.__enter__()
        definitions = self.trace.definitions
        mpi = otf2.Paradigm.MPI
        self.regions = {name: definitions.region(name, paradigm=mpi) for name in CALLS}
        node = definitions.system_tree_node("node")
        self.groups = [definitions.location_group(f"MPI Rank {r}", system_tree_parent=node) for r in range(n_ranks)]
        self.locations = [definitions.location("Master thread", group=group) for group in self.groups]
        definitions.group("", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=mpi, members=self.locations)
        self.world = self.comm("MPI_COMM_WORLD", range(n_ranks))
        self.events = [self.trace.event_writer_from_location(location) for location in self.locations]

    def comm(self, name: str, ranks: Any) -> Any:
        members = [self.locations[rank] for rank in ranks]
        group = self.trace.definitions.group(
            f"group of {name}", group_type=otf2.GroupType.COMM_GROUP, paradigm=otf2.Paradigm.MPI, members=members
        )
        return self.trace.definitions.comm(name, group)

    @contextmanager
    def call(self, rank: int, name: str, begin: int, end: int):
        self.events[rank].enter(begin, self.regions[f"MPI_{name}"])
        yield self.events[rank]
        self.events[rank].leave(end, self.regions[f"MPI_{name}"])

    def import_to(self, to: str = "imported", **options: Any) -> Trace:
        self.archive.__exit__(None, None, None)
        return smpy.import_trace(self.path, self.folder.parent / to, **options)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[int], Written]:
    return lambda n_ranks: Written(tmp_path / "written", n_ranks)


def intervals(trace: Trace, rank: int) -> list[tuple[float, float, str, int | None]]:
    table = trace.table("intervals", ["rank", "start_s", "end_s", "kind", "other"]).to_pylist()
    return [
        (round(row["start_s"] * 1e9), round(row["end_s"] * 1e9), row["kind"], row["other"])
        for row in table
        if row["rank"] == rank
    ]


def actions(trace: Trace, rank: int, *columns: str) -> list[tuple[Any, ...]]:
    return [
        tuple(row[name] for name in ("action", *columns))
        for row in trace.table("actions").to_pylist()
        if row["rank"] == rank and row["action"] not in ("compute", "end")
    ]


def test_partners_are_ranks_of_the_communicator_of_a_message(written):
    run = written(3)
    part = run.comm("last two", [2, 1])
    with run.call(0, "Test", 0, 10):
        pass
    with run.call(1, "Send", 20, 30) as events:
        events.mpi_send(25, 0, part, 5, 80)
    with run.call(2, "Recv", 40, 50) as events:
        events.mpi_recv(45, 1, part, 5, 80)
    trace = run.import_to()
    [row] = trace.table("messages").to_pylist()
    assert (row["source"], row["target"], row["tag"], row["bytes"]) == (1, 2, 5, 80)
    assert actions(trace, 1, "comm", "peer") == [("send", 1, 0)]
    assert replay(trace, platform=FLAT).messages == 1


def test_requests_are_waited_for_where_they_were_complete(written):
    run = written(2)
    for rank in (0, 1):
        with run.call(rank, "Irecv", 10, 20) as events:
            events.mpi_irecv_request(15, 7)
        with run.call(rank, "Isend", 30, 40) as events:
            events.mpi_isend(35, 1 - rank, run.world, 3, 100 + rank, 8)
        with run.call(rank, "Test", 50, 60) as events:
            events.mpi_request_test(55, 7)
        with run.call(rank, "Waitall", 70 + 100 * rank, 200) as events:
            events.mpi_irecv(190, 1 - rank, run.world, 3, 101 - rank, 7)
            events.mpi_isend_complete(190, 8)
    trace = run.import_to()
    assert actions(trace, 0, "peer", "tag", "bytes", "request", "detail") == [
        ("irecv", 1, 3, 101, 1, 0),
        ("isend", 1, 3, 100, 2, 0),
        ("wait_all", 0, 0, 0, 1, 1),
        ("and", 0, 0, 0, 2, 0),
    ]
    assert trace.info["trace"]["n_polls"] == 2
    assert replay(trace, platform=FLAT).messages == 2


def test_polls_that_complete_nothing_are_counted_with_the_time_that_replays_lack(written):
    run = written(1)
    for begin in (0, 100, 300):
        with run.call(0, "Test", begin, begin + 50):
            pass
    trace = run.import_to()
    assert [(each["text"], each["count"]) for each in trace.info["remarks"]] == [
        ("a test or probe that completes nothing is left out of replays; together they took 150 ns", 3)
    ]
    assert replay(trace, platform=FLAT).makespan_s == pytest.approx(350e-9 - 150e-9)


def test_a_send_that_was_complete_at_once_is_not_waited_for(written):
    run = written(2)
    with run.call(0, "Isend", 10, 20) as events:
        events.mpi_isend(15, 1, run.world, 3, 100, 8)
        events.mpi_isend_complete(15, 8)
    with run.call(1, "Recv", 30, 40) as events:
        events.mpi_recv(35, 0, run.world, 3, 100)
    trace = run.import_to()
    assert actions(trace, 0, "amount") == [("isend", 1.0)]
    [row] = trace.table("messages").to_pylist()
    assert row["started_s"] == row["send_posted_s"] == 0


def test_messages_match_in_the_order_in_which_their_receives_were_posted(written):
    run = written(2)
    for k in (0, 1):
        with run.call(0, "Isend", 10 + 20 * k, 20 + 20 * k) as events:
            events.mpi_isend(15 + 20 * k, 1, run.world, 3, 100 + k, k)
        with run.call(1, "Irecv", 10 + 20 * k, 20 + 20 * k) as events:
            events.mpi_irecv_request(15 + 20 * k, k)
    with run.call(0, "Waitall", 50, 60) as events:
        events.mpi_isend_complete(55, 0)
        events.mpi_isend_complete(55, 1)
    for k in (1, 0):  # the second one is waited for first
        with run.call(1, "Wait", 70 - 20 * k, 80 - 20 * k) as events:
            events.mpi_irecv(75 - 20 * k, 0, run.world, 3, 100 + k, k)
    trace = run.import_to()
    rows = trace.table("messages").to_pylist()
    assert {(row["bytes"], round(row["receive_posted_s"] * 1e9)) for row in rows} == {(100, 0), (101, 20)}
    assert [row["ended_s"] for row in sorted(rows, key=lambda row: row["bytes"])] == pytest.approx([7e-8, 5e-8])


def test_a_call_that_sends_and_receives_does_both_at_once(written):
    run = written(2)
    for rank in (0, 1):
        with run.call(rank, "Sendrecv", 10, 50) as events:
            events.mpi_send(20, 1 - rank, run.world, 1, 10**6)
            events.mpi_recv(45, 1 - rank, run.world, 1, 10**6)
    trace = run.import_to()
    assert [row[0] for row in actions(trace, 0)] == ["isend", "irecv", "wait_all", "and"]
    assert replay(trace, platform=FLAT).messages == 2


def test_a_synchronous_send_stays_one(written):
    run = written(2)
    with run.call(0, "Ssend", 10, 50) as events:
        events.mpi_send(20, 1, run.world, 1, 10)
    with run.call(1, "Recv", 40, 50) as events:
        events.mpi_recv(45, 0, run.world, 1, 10)
    trace = run.import_to()
    assert actions(trace, 0, "detail") == [("send", 1)]
    assert intervals(trace, 0) == [(0, 30, "late_receiver", 1), (30, 40, "transfer", None)]


def test_the_trace_of_an_early_send_says_that_it_waited_for_nobody(written):
    run = written(2)
    with run.call(0, "Send", 10, 20) as events:
        events.mpi_send(15, 1, run.world, 1, 10)
    with run.call(1, "Recv", 40, 50) as events:
        events.mpi_recv(45, 0, run.world, 1, 10)
    trace = run.import_to()
    assert intervals(trace, 0) == [(0, 10, "overhead", None), (10, 40, "idle", None)]
    [row] = trace.table("messages").to_pylist()
    assert row["started_s"] == row["send_posted_s"] == 0


def test_a_message_that_arrives_before_it_was_sent_is_counted(written):
    run = written(2)
    with run.call(1, "Recv", 10, 20) as events:
        events.mpi_recv(15, 0, run.world, 1, 10)
    with run.call(0, "Send", 30, 40) as events:
        events.mpi_send(35, 1, run.world, 1, 10)
    trace = run.import_to()
    assert intervals(trace, 1)[0] == (0, 10, "late_sender", 0)
    assert trace.info["remarks"] == [
        {"topic": "import", "text": "messages arrive before they were sent: clocks run apart", "count": 1}
    ]


def meet(run: Written, rank: int, name: str, begin: int, end: int, op: Any, root: int, sent: int, received: int):
    with run.call(rank, name, begin, end) as events:
        events.mpi_collective_begin(begin)
        events.mpi_collective_end(end, op, run.world, root, sent, received)


def test_a_collective_waits_for_the_last_rank_that_entered_before_the_end(written):
    run = written(3)
    ops = otf2.CollectiveOp
    for rank, begin, end in ((0, 10, 20), (1, 15, 60), (2, 40, 70)):
        meet(run, rank, "Bcast", begin, end, ops.BCAST, 0, 300 if rank == 0 else 0, 100)
    trace = run.import_to()
    assert intervals(trace, 0)[:2] == [(0, 5, "late_members", 1), (5, 10, "transfer", None)]
    assert intervals(trace, 1)[1:3] == [(5, 30, "late_members", 2), (30, 50, "transfer", None)]
    [row] = trace.table("collectives").to_pylist()
    assert (row["operation"], row["bytes"], row["algorithm"], row["n_ranks"]) == ("bcast", 100, "", 3)


def test_a_root_that_is_not_told_is_rank_0_and_counted(written):
    run = written(2)
    for rank in (0, 1):
        meet(run, rank, "Bcast", 10, 20, otf2.CollectiveOp.BCAST, NO_ROOT, 200 * (rank == 0), 100)
    trace = run.import_to()
    assert actions(trace, 1, "peer") == [("collective", 0)]
    assert [each["text"] for each in trace.info["remarks"]] == ["a root that the trace does not tell is taken to be 0"]


def test_a_replay_chooses_the_algorithm_of_a_collective(written):
    run = written(4)
    for rank in range(4):
        meet(run, rank, "Allreduce", 10, 60, otf2.CollectiveOp.ALLREDUCE, NO_ROOT, 4 * 8000, 4 * 8000)
    trace = run.import_to()
    ends_s = {
        name: replay(trace, platform=FLAT, algorithms=[("allreduce", name)]).messages
        for name in ("recursive_doubling", "rabenseifner")
    }
    assert ends_s == {"recursive_doubling": 8, "rabenseifner": 16}


def test_a_started_collective_is_waited_for(written):
    run = written(2)
    for rank in (0, 1):
        with run.call(rank, "Iallreduce", 10, 20) as events:
            events.non_blocking_collective_request(15, 4)
        with run.call(rank, "Wait", 30 + 20 * rank, 60) as events:
            events.non_blocking_collective_complete(55, otf2.CollectiveOp.ALLREDUCE, run.world, NO_ROOT, 16, 16, 4)
    trace = run.import_to()
    assert [row[0] for row in actions(trace, 0)] == ["start", "wait"]
    assert trace.table("collectives")["operation"].to_pylist() == ["iallreduce"]
    assert replay(trace, platform=FLAT).messages == 2


def test_regions_of_the_program_are_kernels(written):
    run = written(1)
    solver = run.trace.definitions.region("solve", source_file="/src/solver.f90", begin_line_number=7)
    events = run.events[0]
    events.enter(0, solver)
    with run.call(0, "Test", 100, 110):
        pass
    events.leave(150, solver)
    with run.call(0, "Test", 200, 210):
        pass
    trace = run.import_to()
    sites = {
        row["site"]: (row["call"], row["file"], row["line"], row["is_kernel"])
        for row in trace.table("sites").to_pylist()
    }
    computing = [row for row in trace.table("intervals").to_pylist() if row["kind"] == "compute"]
    kernel = ("solve", "solver.f90", 7, True)
    assert [sites[row["site"]] for row in computing] == [kernel, kernel, ("", "", 0, False)]
    [region] = trace.table("regions").to_pylist()
    assert (region["name"], region["start_s"], region["end_s"]) == ("solve", 0.0, pytest.approx(1.5e-7))


def test_further_threads_are_left_out_and_counted(written):
    run = written(1)
    with run.call(0, "Wait", 10, 20):
        pass
    thread = run.trace.definitions.location("OMP thread 1", group=run.groups[0])
    loop = run.trace.definitions.region("loop")
    writer = run.trace.event_writer_from_location(thread)
    writer.enter(12, loop)
    writer.leave(15, loop)
    trace = run.import_to()
    assert trace.n_ranks == 1
    assert [(each["text"], each["count"]) for each in trace.info["remarks"]] == [
        ("events of threads that are no rank's first are left out", 2)
    ]


def test_calls_that_cannot_be_replayed_are_refused_or_keep_their_time(written, tmp_path: Path):
    run = written(1)
    with run.call(0, "Test", 0, 0):
        pass
    with run.call(0, "File_write", 100, 400):
        pass
    with pytest.raises(UsageError, match="rank 0 calls File_write, which cannot be replayed: --keep-calls keeps"):
        run.import_to()
    assert not (tmp_path / "imported").exists()
    trace = smpy.import_trace(run.path, tmp_path / "kept", keeps_calls=True)
    assert intervals(trace, 0) == [(0, 100, "compute", None), (100, 400, "io", None)]
    for speed in ("1Gf", "5Gf"):
        result = replay(trace, platform=f"flat hosts=1 speed={speed}")
        assert result.makespan_s == pytest.approx(4e-7, rel=1e-9)


def test_the_speed_of_the_traced_machine_scales_computing(written):
    run = written(1)
    with run.call(0, "Test", 0, 0):
        pass
    with run.call(0, "Test", 1000, 1000):
        pass
    trace = run.import_to(host_speed_flop_per_s=3e9)
    assert replay(trace, platform="flat hosts=1 speed=6Gf").computing_s.tolist() == pytest.approx([5e-7])


# ---- input that makes no sense ----


def send_without_receive(run: Written) -> None:
    with run.call(0, "Send", 10, 20) as events:
        events.mpi_send(15, 1, run.world, 4, 100)
    with run.call(1, "Test", 10, 20):
        pass


def receive_without_send(run: Written) -> None:
    with run.call(0, "Test", 10, 20):
        pass
    with run.call(1, "Recv", 10, 20) as events:
        events.mpi_recv(15, 0, run.world, 4, 100)


def rank_that_does_not_exist(run: Written) -> None:
    with run.call(0, "Send", 10, 20) as events:
        events.mpi_send(15, 2, run.world, 4, 100)


def tag_beyond_the_limit(run: Written) -> None:
    with run.call(0, "Send", 10, 20) as events:
        events.mpi_send(15, 1, run.world, 2**31, 100)


def rank_without_events(run: Written) -> None:
    with run.call(0, "Test", 10, 20):
        pass


def rank_that_misses_a_collective(run: Written) -> None:
    meet(run, 0, "Bcast", 10, 20, otf2.CollectiveOp.BCAST, 0, 200, 100)
    with run.call(1, "Test", 10, 20):
        pass


def root_that_does_not_exist(run: Written) -> None:
    for rank in (0, 1):
        meet(run, rank, "Bcast", 10, 20, otf2.CollectiveOp.BCAST, 5, 200, 100)


def request_that_was_not_started(run: Written) -> None:
    with run.call(0, "Wait", 10, 20) as events:
        events.mpi_isend_complete(15, 9)


def end_within_a_call(run: Written) -> None:
    run.events[0].enter(10, run.regions["MPI_Recv"])
    with run.call(1, "Test", 10, 20):
        pass


def regions_that_cross(run: Written) -> None:
    loop = run.trace.definitions.region("loop")
    run.events[0].enter(10, loop)
    run.events[0].enter(20, run.regions["MPI_Test"])
    run.events[0].leave(30, loop)


def recording_that_stops(run: Written) -> None:
    run.events[0].measurement_on_off(10, otf2.MeasurementMode.OFF)


def polls_in_a_wait(run: Written) -> None:
    with run.call(0, "Wait", 10, 20) as events:
        for name in (SUCCESS, IN_VAIN):
            parameter = run.trace.definitions.parameter(name, otf2.ParameterType.INT64)
            events.parameter_int(15, parameter, 1)


def launched_ranks(run: Written, *of_rank: list[int]) -> None:
    """Ranks that begin with facts of launches, one each 10 ns."""
    parameter = run.trace.definitions.parameter(LAUNCHED_RANK, otf2.ParameterType.INT64)
    for rank, launched in enumerate(of_rank):
        for place, other in enumerate(launched):
            run.events[rank].parameter_int(10 * place, parameter, other)
        with run.call(rank, "Test", 100, 110):
            pass


def launch_of_a_rank_that_has_begun(run: Written) -> None:
    launched_ranks(run, [1], [])


def launch_by_nobody(run: Written) -> None:
    launched_ranks(run, [], [1])


def launch_of_an_earlier_rank(run: Written) -> None:
    launched_ranks(run, [], [0])


def launch_that_comes_twice(run: Written) -> None:
    launched_ranks(run, [1, 1], [1])


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (send_without_receive, "rank 0 sends 100 bytes to rank 1 with tag 4 at 0 s, and nobody receives them"),
        (receive_without_send, "rank 1 receives from rank 0 with tag 4 at 0 s, and nobody sends that"),
        (rank_that_does_not_exist, "rank 0 has a message with rank 2 at 0 s, in a communicator of 2 ranks"),
        (tag_beyond_the_limit, "rank 0 has a message of 100 bytes with tag 2147483648 at 0 s"),
        (rank_without_events, "there is no event of rank 1: a file of the trace is missing"),
        (rank_that_misses_a_collective, "rank 0 performs bcast number 1 of communicator 0, and rank 1 does not"),
        (root_that_does_not_exist, "rank 0 names a root 5 among 2 ranks"),
        (request_that_was_not_started, "rank 0 completes a request at 0 s that it has not started"),
        (end_within_a_call, "rank 0 is in Recv when its events end: the trace is cut off"),
        (regions_that_cross, "rank 0 leaves 'loop' at 2e-08 s, which it is not in"),
        (recording_that_stops, "rank 0 stops recording at 0 s"),
        (polls_in_a_wait, "rank 0 polls in Wait at 0 s, which makes no sense"),
        (launch_of_a_rank_that_has_begun, "rank 1 is launched, and begins before"),
        (launch_by_nobody, "rank 1 begins as a launched rank, and no rank launches it"),
        (launch_of_an_earlier_rank, "rank 1 launches rank 0 at 0 s, which makes no sense"),
        (launch_that_comes_twice, "rank 0 launches rank 1 at 1e-08 s, which makes no sense"),
    ],
)
def test_events_that_make_no_sense_are_one_sentence(write, told: str, written, tmp_path: Path):
    run = written(2)
    write(run)
    with pytest.raises(UsageError) as error:
        run.import_to()
    assert str(error.value).startswith(f"{run.path}: {told}")
    assert [each.name for each in tmp_path.iterdir()] == ["written"]


def without_its_folder(folder: Path) -> None:
    shutil.rmtree(folder / "traces")


def without_a_rank(folder: Path) -> None:
    (folder / "traces" / "1.evt").unlink()


def cut_off(folder: Path) -> None:
    path = folder / "traces" / "1.evt"
    path.write_bytes(path.read_bytes()[:400])


def with_fewer_events_than_it_says(folder: Path) -> None:
    path = folder / "traces.def"
    data = bytearray(path.read_bytes())
    assert data[EVENTS_OF_RANK_1] == 60
    data[EVENTS_OF_RANK_1] += 1
    path.write_bytes(data)


def of_zeros(folder: Path) -> None:
    (folder / "traces.def").write_bytes(bytes(4096))


@pytest.mark.parametrize(
    "damage", [without_its_folder, without_a_rank, cut_off, with_fewer_events_than_it_says, of_zeros]
)
def test_a_damaged_trace_is_one_line_and_no_folder(damage, tmp_path: Path):
    folder = tmp_path / "run"
    shutil.copytree(REAL / "ping_pong", folder)
    damage(folder)
    command = [sys.executable, "-m", "smpy", "import", str(folder / "traces.otf2"), "-o", str(tmp_path / "trace")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"smpy: {folder}")
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("name", ["traces.def", "traces/1.evt"])
@pytest.mark.parametrize("is_empty", [False, True])
def test_a_file_that_is_missing_or_empty_is_named(name: str, tmp_path: Path, *, is_empty: bool):
    shutil.copytree(REAL / "ping_pong", tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    if is_empty:
        (tmp_path / "run" / name).touch()
    with pytest.raises(UsageError, match=rf"is no whole trace in OTF2: {name} is missing, or empty$"):
        smpy.import_trace(tmp_path / "run" / "traces.otf2", tmp_path / "trace")


def test_a_pipe_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "traces.otf2")
    with pytest.raises(UsageError, match="is no plain file"):
        smpy.import_trace(tmp_path / "traces.otf2", tmp_path / "trace")


@pytest.mark.parametrize("path", ["/dev/zero", "nothing.otf2", "."])
def test_what_is_no_file_is_refused_at_once(path: str, tmp_path: Path):
    done = CliRunner().invoke(main, ["import", path, "-o", str(tmp_path / "trace"), "--from", "otf2"])
    assert done.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_without_the_package_a_sentence_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(UsageError, match=r"pip install '\.\[otf2\]'"):
        smpy.import_trace(REAL / "ping_pong" / "traces.otf2", tmp_path / "trace")


def check_mutated(folder: Path, seed: int) -> None:
    """Import a trace with bytes changed in one of its files."""
    rng = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(REAL / rng.choice(("ping_pong", "ping_pong_papi")), folder / "run")
    files = sorted(path for path in (folder / "run").rglob("*") if path.is_file())
    path = rng.choice(files)
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    match rng.randrange(4):
        case 0:
            data[at] ^= 1 << rng.randrange(8)
        case 1:
            del data[at:]
        case 2:
            del data[at : at + rng.randrange(1, 30)]
        case _:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
    path.write_bytes(data)
    main_file = folder / "run" / "traces.otf2"
    refusal = ""
    try:
        trace = smpy.import_trace(main_file, folder / "trace", form="otf2", keeps_calls=True)
        for name in ("intervals", "messages", "regions", "actions", "counters"):
            trace.table(name)
    except UsageError as error:
        refusal = str(error)
    assert refusal.startswith(str(main_file)) or (not refusal and (folder / "trace").exists())
    assert not re.search(r"Error\b|codec|'NoneType'|object|\n", refusal.removeprefix(str(main_file)))
    assert {each.name for each in folder.iterdir()} <= {"run", "trace"}


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(20, 1020))]
)
def test_a_mutated_trace_is_imported_or_refused_in_a_sentence(
    seed: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    check_mutated(tmp_path / "mutated", seed)
    assert capfd.readouterr().err == ""
