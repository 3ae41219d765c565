"""A trace that is written as OTF2 has the calls, messages and waits of the run, at its dates."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from smpy.errors import UsageError
from smpy.export import export
from smpy.records.trace import Trace
from tests.export.programs import ALL, QUICK

otf2 = pytest.importorskip("otf2")

PROGRAM = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
after, before = (rank + 1) % size, (rank - 1) % size
sent, taken = numpy.zeros(70000, "u1"), numpy.zeros(70000, "u1")
with smpy.region("outer"):
    for step in range(2):
        smpy.execute(1e6 * (1 + rank))
        with smpy.region("inner"):
            requests = [comm.Irecv(taken, before, 5), comm.Isend(sent, after, 5)]
            smpy.execute(1e5)
            MPI.Request.Waitall(requests)
half = comm.Split(rank // 2)
half.Bcast(sent[:100], 1)
half.Send(sent[:10], 1, 3) if half.rank == 0 else half.Recv(taken, 0)
comm.Iallreduce(sent[:8], taken[:8]).Wait()
"""

WAITS = {
    "late_sender": "late sender",
    "late_receiver": "late receiver",
    "late_members": "wait at collective",
    "transfer": "transfer",
}


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Trace:
    ran = emulated(PROGRAM, 4, trace=tmp_path / "trace", platform="flat hosts=2 cores=2")
    assert ran.outcome.error is None
    return Trace(tmp_path / "trace")


def events_of(trace: Trace, folder: Path) -> dict[int, list[Any]]:
    """Events of each rank, in order."""
    export(trace, "otf2", folder)
    events: dict[int, list[Any]] = defaultdict(list)
    with otf2.reader.open(str(folder / "traces.otf2")) as archive:
        for location, event in archive.events:
            events[int(re.findall(r"\d+", location.group.name)[0])].append(event)
    return events


def names(events: list[Any], kind: type) -> list[str]:
    return [event.region.name for event in events if isinstance(event, kind)]


def test_dates_do_not_fall_and_regions_nest(traced: Trace, tmp_path: Path):
    for events in events_of(traced, tmp_path / "x").values():
        dates = [event.time for event in events]
        assert dates == sorted(dates)
        inside: list[Any] = []
        for event in events:
            if isinstance(event, otf2.events.Enter):
                inside.append(event.region)
            elif isinstance(event, otf2.events.Leave):
                assert inside.pop() is event.region
        assert not inside


def test_waits_are_regions_with_the_dates_of_their_intervals(traced: Trace, tmp_path: Path):
    events = events_of(traced, tmp_path / "x")
    rows = traced.table("intervals").to_pylist()
    for rank in range(4):
        found = []
        for event in events[rank]:
            if isinstance(event, otf2.events.Enter) and event.region.name in ("late sender", "transfer"):
                found.append([event.region.name, event.time])
            elif isinstance(event, otf2.events.Leave) and event.region.name in ("late sender", "transfer"):
                found[-1].append(event.time)
        told = [
            [row["kind"].replace("_", " "), round(row["start_s"] * 1e9), round(row["end_s"] * 1e9)]
            for row in rows
            if row["rank"] == rank and row["kind"] in ("late_sender", "transfer")
        ]
        assert found == told


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in ALL if name not in QUICK)]
)
def test_waits_of_programs_are_their_intervals_to_the_nanosecond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.chdir(tmp_path)
    trace = Trace(ALL[name].trace(tmp_path))
    found: Counter[tuple[int, str, int, int]] = Counter()
    for rank, events in events_of(trace, tmp_path / "x").items():
        entered: list[int] = []
        for event in events:
            if isinstance(event, otf2.events.Enter):
                entered.append(event.time)
            elif isinstance(event, otf2.events.Leave):
                found[rank, event.region.name, entered.pop(), event.time] += 1
    told = Counter(
        (row["rank"], WAITS[row["kind"]], round(row["start_s"] * 1e9), round(row["end_s"] * 1e9))
        for row in trace.table("intervals").to_pylist()
        if row["kind"] in WAITS
    )
    assert told
    assert Counter({key: n for key, n in found.items() if key[1] in WAITS.values()}) == told


def test_each_message_is_sent_and_received_with_its_communicator_tag_and_size(traced: Trace, tmp_path: Path):
    events = events_of(traced, tmp_path / "x")
    kinds = otf2.events.MpiSend, otf2.events.MpiIsend
    sent = Counter(
        (rank, tuple(event.communicator.group.members)[event.receiver].group.name, event.msg_tag, event.msg_length)
        for rank in events
        for event in events[rank]
        if isinstance(event, kinds)
    )
    kinds = otf2.events.MpiRecv, otf2.events.MpiIrecv
    received = Counter(
        (int(tuple(event.communicator.group.members)[event.sender].group.name[9:]), f"MPI Rank {rank}", event.msg_tag,
         event.msg_length)
        for rank in events
        for event in events[rank]
        if isinstance(event, kinds)
    )  # fmt: skip
    rows = traced.table("messages").to_pylist()
    told = Counter(
        (row["source"], f"MPI Rank {row['target']}", row["tag"], row["bytes"]) for row in rows if row["tag"] is not None
    )
    assert sent == received == told


def test_requests_that_a_call_starts_are_completed_by_a_later_one(traced: Trace, tmp_path: Path):
    kinds = otf2.events
    for events in events_of(traced, tmp_path / "x").values():
        receives = [event.request_id for event in events if isinstance(event, kinds.MpiIrecvRequest)]
        assert [event.request_id for event in events if isinstance(event, kinds.MpiIrecv)] == receives
        sends = [event.request_id for event in events if isinstance(event, kinds.MpiIsend)]
        assert [event.request_id for event in events if isinstance(event, kinds.MpiIsendComplete)] == sends
        started = [event.request_id for event in events if isinstance(event, kinds.NonBlockingCollectiveRequest)]
        done = [event.request_id for event in events if isinstance(event, kinds.NonBlockingCollectiveComplete)]
        assert (len(started), done) == (1, started)


def test_collectives_say_their_communicator_root_and_bytes(traced: Trace, tmp_path: Path):
    events = events_of(traced, tmp_path / "x")
    (bcast,) = (
        event
        for event in events[3]
        if isinstance(event, otf2.events.MpiCollectiveEnd) and event.collective_op == otf2.CollectiveOp.BCAST
        and event.size_received == 100
    )  # fmt: skip
    assert [member.group.name for member in bcast.communicator.group.members] == ["MPI Rank 2", "MPI Rank 3"]
    assert (bcast.root, bcast.size_sent) == (1, 200)


def test_operations_are_counted_at_calls(traced: Trace, tmp_path: Path):
    for rank, events in events_of(traced, tmp_path / "x").items():
        counted = [event.values[0] for event in events if isinstance(event, otf2.events.Metric)]
        assert counted == sorted(counted)
        assert (counted[0], counted[-1]) == (1e6 * (1 + rank), 2 * (1e6 * (1 + rank) + 1e5))


def test_regions_of_the_program_and_lines_of_calls_are_there(traced: Trace, tmp_path: Path):
    events = events_of(traced, tmp_path / "x")[0]
    entered = Counter(names(events, otf2.events.Enter))
    assert (entered["outer"], entered["inner"], entered["program.py"], entered["execute"]) == (1, 2, 1, 4)
    places = {
        (event.region.source_file, event.region.begin_line_number)
        for event in events
        if isinstance(event, otf2.events.Enter) and event.region.name == "MPI_Isend"
    }
    assert places == {("program.py", 12), ("program.py", 15)}


def test_threads_are_refused(emulated: Callable, tmp_path: Path):
    emulated(PROGRAM + "import threading; threading.Thread(target=comm.Barrier).start()", 2, trace=tmp_path / "trace")
    with pytest.raises(UsageError, match="cannot be written as OTF2: its ranks have threads"):
        export(Trace(tmp_path / "trace"), "otf2", tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in ALL if name not in QUICK)]
)
def test_otf2_print_reads_every_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    if shutil.which("otf2-print") is None:
        pytest.skip("otf2-print is not installed: Debian's otf2-tools has it")
    monkeypatch.chdir(tmp_path)
    trace = Trace(ALL[name].trace(tmp_path))
    export(trace, "otf2", tmp_path / "x")
    done = subprocess.run(["otf2-print", tmp_path / "x" / "traces.otf2"], capture_output=True, text=True, check=True)
    assert not done.stderr
    kinds = Counter(line.split()[0] for line in done.stdout.splitlines() if re.match(r"[A-Z_]+ +\d+ +\d+ ", line))
    n_messages = sum(tag is not None for tag in trace.table("messages")["tag"].to_pylist())
    assert kinds["MPI_SEND"] + kinds["MPI_ISEND"] == kinds["MPI_RECV"] + kinds["MPI_IRECV"] == n_messages
    assert kinds["ENTER"] == kinds["LEAVE"] > 0
