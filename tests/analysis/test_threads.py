"""Traces and analyses of ranks with threads have the dates that are computed by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from smpy.analysis.comparison import compare
from smpy.analysis.path_analysis import critical_path
from smpy.analysis.pop_metrics import pop
from smpy.analysis.timeline import KINDS, read_timeline
from smpy.analysis.wait_analysis import waits
from smpy.errors import UsageError
from smpy.export import export
from smpy.records.trace import Trace
from smpy.replay import replay

SOME_OVERHEADS_S = 1e-4
HEAD = """
import queue, sys, threading, time
import smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
compute = smpy.inject_seconds
def start(function, name=None):
    thread = threading.Thread(target=function, name=name)
    thread.start()
    return thread
"""
HAND_OVER = (
    HEAD
    + """
lock, ready = threading.Lock(), queue.Queue()
def receive():
    comm.Recv(bytearray(8), source=1)
    with lock:
        with smpy.region("locked"):
            compute(0.5)
    ready.put(None)
if comm.rank == 0:
    with lock:
        thread = start(receive, "receiver")
        time.sleep(2)
        compute(1)
    ready.get()
    compute(0.25)
    thread.join()
else:
    compute(1.5)
    comm.Send(bytearray(8), dest=0)
comm.Barrier()
"""
)


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Callable[..., Trace]:
    def here(program: str, n_ranks: int = 2, name: str = "trace", **config: object) -> Trace:
        ran = emulated(program, n_ranks, trace=tmp_path / name, **config)
        assert ran.error == ""
        return Trace(tmp_path / name)

    return here


def on_path(trace: Trace) -> dict[tuple[str, str], float]:
    """Seconds of the critical path by call and kind, but for overheads."""
    path = critical_path(trace)
    assert sum(row.seconds for row in path.rows) == pytest.approx(trace.makespan_s, rel=1e-9)
    spent_s: Counter[tuple[str, str]] = Counter()
    for row in path.rows:
        if row.seconds > SOME_OVERHEADS_S:
            spent_s[row.place.call, row.kind] += row.seconds
    return dict(spent_s)


def about(*seconds: float) -> object:
    return pytest.approx(seconds[0] if len(seconds) == 1 else seconds, abs=SOME_OVERHEADS_S)


def test_a_thread_has_intervals_of_its_own_from_its_start_to_its_end(traced: Callable):
    trace = traced(HAND_OVER)
    threads = trace.table("threads").to_pylist()
    assert threads == [{"rank": 0, "thread": 1, "name": "receiver", "start_s": 0.0, "end_s": about(3.5)}]
    rows = [row for row in trace.table("thread_intervals").to_pylist() if row["kind"] not in ("overhead", "transfer")]
    assert [(row["kind"], row["other"]) for row in rows] == [("late_sender", 1), ("sleep", None), ("compute", None)]
    assert [row["end_s"] for row in rows] == about(1.5, 3.0, 3.5)
    assert trace.table("thread_messages").to_pylist() == [{"message": 0, "send_thread": None, "receive_thread": 1}]
    (region,) = trace.table("thread_regions").to_pylist()
    assert (region["rank"], region["thread"], region["name"]) == (0, 1, "locked")
    assert (region["start_s"], region["end_s"]) == about(3.0, 3.5)
    assert trace.n_rows("regions") == 0


def test_the_intervals_of_each_program_and_thread_are_its_time_without_gaps(traced: Callable):
    trace = traced(HAND_OVER)
    timeline = read_timeline(trace)
    (thread,) = trace.table("threads").to_pylist()
    spans = [(0.0, trace.makespan_s)] * 2 + [(thread["start_s"], thread["end_s"])]
    for owner, (start_s, end_s) in enumerate(spans):
        its = slice(timeline.first[owner], timeline.first[owner + 1])
        edges = np.append(timeline.start_s[its], end_s)
        assert edges[0] == start_s
        assert (edges[1:] == timeline.end_s[its]).all()


def test_wake_ups_tell_who_started_a_thread_and_who_handed_over_what_it_waits_for(traced: Callable):
    rows = traced(HAND_OVER).table("wake_ups").to_pylist()
    told = [(row["rank"], row["thread"], row["by_rank"], row["by_thread"]) for row in rows]
    assert told == [(0, 1, 0, None), (0, 1, 0, None), (0, None, 0, 1)]
    assert [row["date_s"] for row in rows] == about(0.0, 3.0, 3.5)


def test_the_critical_path_goes_through_locks_and_queues_to_those_who_held_them(traced: Callable):
    trace = traced(HAND_OVER)
    assert trace.makespan_s == about(3.75)
    assert on_path(trace) == {("sleep", "sleep"): about(2.0), ("inject_seconds", "compute"): about(1.75)}
    path = critical_path(trace)
    lengths_s = [part for part in (path.parts.end_s - path.parts.start_s)[::-1].tolist() if part > SOME_OVERHEADS_S]
    assert lengths_s == about(2.0, 1.0, 0.5, 0.25)
    assert path.by_rank_s == about(3.75, 0.0)


def test_waits_of_threads_count_and_have_causes(traced: Callable):
    found = waits(traced(HAND_OVER))
    by_kind = {wait.kind: (wait.rank, wait.seconds) for wait in found.waits if wait.seconds > SOME_OVERHEADS_S}
    assert by_kind == {"late_sender": (0, about(1.5)), "late_members": (1, about(2.25))}
    assert sum(cause.seconds for cause in found.causes) == about(3.75)
    assert sum(cause.seconds for cause in found.causes if cause.rank == 1) == about(1.5)
    assert found.rank_seconds == about(3.75 + 3.75 + 3.5)
    assert "of the time of ranks and threads" in found.table()


MESSAGE_TO_A_THREAD = (
    HEAD
    + """
def receive():
    comm.Recv(bytearray(8), source=1)
    compute(1)
if comm.rank == 0:
    thread = start(receive)
    compute(1)
    thread.join()
else:
    compute(2)
    comm.Send(bytearray(8), dest=0)
"""
)
MESSAGE_FROM_A_THREAD = (
    HEAD
    + """
def send():
    compute(2)
    comm.Send(bytearray(8), dest=1)
    time.sleep(0.25)
if comm.rank == 0:
    start(send)
    time.sleep(0.5)
else:
    comm.Recv(bytearray(8), source=0)
    compute(1)
"""
)
BARRIER_OF_A_THREAD = (
    HEAD
    + """
def enter():
    compute(2)
    comm.Barrier()
    time.sleep(0.25)
if comm.rank == 0:
    start(enter)
    time.sleep(0.5)
else:
    comm.Barrier()
    compute(1)
"""
)
LOCK_OF_A_THREAD = (
    HEAD
    + """
window = MPI.Win.Allocate(8, comm=comm)
def hold():
    window.Lock(1)
    compute(2)
    window.Unlock(1)
    time.sleep(0.25)
if comm.rank == 0:
    start(hold).join(0.5)
    time.sleep(2)
else:
    compute(0.5)
    window.Lock(1)
    window.Unlock(1)
    compute(1)
"""
)


@pytest.mark.parametrize(
    "program",
    [MESSAGE_TO_A_THREAD, MESSAGE_FROM_A_THREAD, BARRIER_OF_A_THREAD, LOCK_OF_A_THREAD],
    ids=["message to a thread", "message from a thread", "barrier", "lock of a window"],
)
def test_the_critical_path_goes_to_the_thread_that_was_waited_for(traced: Callable, program: str):
    trace = traced(program)
    assert trace.makespan_s == about(3.0)
    assert on_path(trace) == {("inject_seconds", "compute"): about(3.0)}


@pytest.mark.parametrize("program", [MESSAGE_FROM_A_THREAD, BARRIER_OF_A_THREAD], ids=["message", "barrier"])
def test_a_wait_for_a_thread_is_due_to_what_the_thread_did(traced: Callable, program: str):
    (cause,) = (cause for cause in waits(traced(program)).causes if cause.seconds > SOME_OVERHEADS_S)
    assert (cause.rank, cause.place.call, cause.kind, cause.seconds) == (0, "inject_seconds", "compute", about(2.0))


def test_a_sleep_that_ends_by_itself_is_on_the_critical_path_where_a_thread_starts_then(traced: Callable):
    trace = traced(f"{HEAD}time.sleep(1)\nstart(lambda: compute(1)).join()\n", 1)
    assert on_path(trace) == {("sleep", "sleep"): about(1.0), ("inject_seconds", "compute"): about(1.0)}


def test_two_threads_that_compute_at_once_are_one_rank_that_computes(traced: Callable):
    program = f"{HEAD}threads = [start(lambda: compute(1)) for _ in range(2)]\n[thread.join() for thread in threads]\n"
    trace = traced(f"{program}with smpy.region('all'):\n    compute(2)\n", 2)
    assert read_timeline(trace).computing_s() == about(4.0, 4.0)
    (run,) = pop([trace]).runs
    assert (run.parallel, run.load_balance) == about(1.0, 1.0)


def test_a_region_of_several_threads_counts_their_common_time_once(traced: Callable):
    program = f"""{HEAD}
def work():
    with smpy.region("work"):
        compute(1)
threads = [start(work) for _ in range(2)]
for thread in threads:
    thread.join()
compute(2)
"""
    (run,) = pop([traced(program, 2)], region="work").runs
    assert (run.time_s, run.computing_s, run.longest_computing_s) == about(2.0, 4.0, 2.0)


def test_two_runs_with_threads_differ_by_what_threads_do(traced: Callable):
    before = traced(f"{HEAD}start(lambda: compute(1)).join()\n", 1, "before")
    after = traced(f"{HEAD}start(lambda: compute(2)).join()\n", 1, "after")
    found = compare(before, after)
    (difference,) = (each for each in found.differences if each.kind == "compute")
    assert difference.seconds == about(1.0)
    assert found.after.rank_seconds - found.before.rank_seconds == about(2.0)
    assert "Summed over all ranks and threads: +2 s" in found.table()


def test_a_run_with_threads_has_the_same_trace_every_time(traced: Callable):
    first, second = (traced(HAND_OVER, 2, name) for name in ("first", "second"))
    files = first.info["trace"]["files"]
    assert "thread_intervals.parquet" in files
    assert files == second.info["trace"]["files"]


@pytest.mark.skipif(find_spec("mpi4py") is None, reason="mpi4py is not installed")
def test_a_pool_of_mpi4py_has_its_manager_as_a_thread(traced: Callable):
    trace = traced(
        """
from mpi4py.futures import MPIPoolExecutor
import smpy
def work(number):
    smpy.inject_seconds(1)
    return number
if __name__ == "__main__":
    with MPIPoolExecutor(2) as pool:
        assert list(pool.map(work, range(4))) == [0, 1, 2, 3]
""",
        1,
        platform="flat hosts=4 cores=4",
    )
    assert [row["rank"] for row in trace.table("threads").to_pylist()] == [0]
    found = on_path(trace)
    assert found["inject_seconds", "compute"] == pytest.approx(2.0, abs=5e-3)
    assert trace.table("thread_messages").num_rows > 4


def test_the_critical_path_goes_from_spawned_ranks_to_the_one_that_spawned_them(traced: Callable):
    trace = traced(
        HEAD
        + """
parent = MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    compute(1)
    comm.Spawn(sys.executable, args=[__file__], maxprocs=2).recv(source=1)
else:
    compute(1 + comm.rank)
    if comm.rank == 1:
        parent.send("done", 0)
""",
        1,
        platform="flat hosts=4 cores=4",
    )
    assert on_path(trace) == {("inject_seconds", "compute"): about(1.0 + 2.0)}
    path = critical_path(trace)
    assert path.by_rank_s == about(1.0, 0.0, 2.0)


def test_threads_have_tracks_below_their_ranks_in_perfetto(traced: Callable, tmp_path: Path):
    import json

    export(traced(HAND_OVER), "perfetto", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    order = {event["tid"]: event["args"]["sort_index"] for event in events if event["name"] == "thread_sort_index"}
    assert [names[tid] for tid in sorted(names, key=order.__getitem__)] == ["rank 0", "rank 0: receiver", "rank 1"]
    (receiver,) = (tid for tid, name in names.items() if name == "rank 0: receiver")
    assert {event["cat"] for event in events if event["ph"] == "X" and event["tid"] == receiver} == {
        "late_sender", "transfer", "overhead", "sleep", "compute",
    }  # fmt: skip
    (taken,) = (event for event in events if event["ph"] == "f" and event["tid"] == receiver)
    (sent,) = (event for event in events if event["ph"] == "s" and event["id"] == taken["id"])
    assert names[sent["tid"]] == "rank 1"
    assert receiver not in {event["pid"] for event in events}


def test_what_needs_a_replay_refuses_a_trace_with_threads(traced: Callable, tmp_path: Path):
    trace = traced(HAND_OVER)
    with pytest.raises(UsageError, match="its ranks have threads"):
        replay(trace)
    with pytest.raises(UsageError, match="its ranks have threads"):
        export(trace, "goal", tmp_path / "trace.goal")
    assert "its ranks have threads" in pop([trace], replay).table()


def test_a_part_of_a_trace_has_the_threads_of_its_ranks(traced: Callable):
    program = f"{HEAD}start(lambda: compute(1 + comm.rank)).join()\n"
    trace = traced(program, 3, trace_ranks=(1,), trace_window_s=(0.5, 1.0))
    assert [(row["rank"], row["thread"]) for row in trace.table("threads").to_pylist()] == [(1, 1)]
    (row,) = trace.table("thread_intervals").to_pylist()
    assert (row["rank"], row["kind"], row["end_s"]) == (1, "compute", about(2.0))
    assert KINDS.index(row["kind"]) == read_timeline(trace).kind[-1]
