"""A trace that is written as GOAL is performed with the dates of its replay, or is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.errors import DamagedFileError, UsageError
from smpy.export import export
from smpy.records.trace import Trace
from smpy.replay import replay
from smpy.replay.goal import replay_goal
from tests.records.synthetic_trace import seal

NETWORK = "loggp:L=2500ns,o=1500ns,g=1000ns,G=6ns,O=0s,S=%dB"
BEGIN = """
import time, numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
before, after = (rank - 1) % size, (rank + 1) % size
sent, taken = numpy.zeros(20000, "u1"), numpy.zeros(50000, "u1")
"""
RING = """
for step in range(4):
    smpy.execute(1e5 * (1 + rank) / 3)
    if rank == 0:
        comm.Send(sent, after, step)
        comm.Recv(taken, before, step)
    else:
        comm.Recv(taken, before, step)
        comm.Send(sent, after, step)
"""
SHIFTS = """
for step in range(3):
    smpy.execute(1e4 * (1 + (rank + step) % 3) / 7)
    comm.Sendrecv(sent[:900], after, 3, taken, before, 3)
"""
OVERLAP = """
requests = [comm.Irecv(taken, before, 9), comm.Isend(sent, after, 9)]
smpy.execute(1e5 + rank)
MPI.Request.Waitall(requests)
"""
MASTER = """
if rank:
    smpy.execute(1e7 * (size - rank))
    comm.Send(sent[: 100 * rank], 0, rank)
else:
    for _ in range(1, size):
        comm.Recv(taken)
"""
SLEEPS = "time.sleep(1e-3 * rank); MPI.Wtime()"


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Callable[[str], Path]:
    def here(source: str) -> Path:
        ran = emulated(BEGIN + source, 4, trace=tmp_path / "trace", platform="flat hosts=4 cores=1")
        assert ran.outcome.error is None
        return tmp_path / "trace"

    return here


def exported(trace: Path) -> Path:
    done = CliRunner().invoke(main, ["export", str(trace), "--to", "goal", "-o", str(trace.parent / "x.goal")])
    assert done.exit_code == 0, done.output
    return trace.parent / "x.goal"


@pytest.mark.parametrize("eager_bytes", [1000, 65535])
@pytest.mark.parametrize("source", [RING, MASTER, RING + SLEEPS], ids=["ring", "master", "sleeps"])
def test_a_program_of_blocking_calls_has_the_dates_of_its_replay(
    traced: Callable[[str], Path], source: str, eager_bytes: int
) -> None:
    trace = traced(source)
    network = NETWORK % eager_bytes
    of_trace, of_goal = replay(trace, network=network), replay_goal(exported(trace), network=network)
    np.testing.assert_allclose(of_goal.finish_s, of_trace.finish_s, rtol=0, atol=2e-9)
    assert (of_goal.messages, of_goal.bytes) == (of_trace.messages, of_trace.bytes)
    assert not of_goal.depends_on_time


@pytest.mark.parametrize("source", [SHIFTS, OVERLAP], ids=["shifts", "overlap"])
def test_a_program_that_does_not_wait_for_sends_has_the_dates_of_its_replay(
    traced: Callable[[str], Path], source: str
) -> None:
    trace = traced(source)
    network = NETWORK % 65535
    of_trace, of_goal = replay(trace, network=network), replay_goal(exported(trace), network=network)
    np.testing.assert_allclose(of_goal.finish_s, of_trace.finish_s, rtol=0, atol=2e-9)


COLLECTIVES = {
    "barrier": "comm.Barrier()",
    "bcast": "comm.Bcast(sent[:3000], 1)",
    "gather": "comm.Gather(sent[:500], all_of[:4 * 500], 2)",
    "gatherv": "comm.Gatherv(sent[: 100 * (1 + rank)], (all_of[:1000], PARTS), 0)",
    "scatter": "comm.Scatter(all_of[:4 * 700], taken[:700], 3)",
    "scatterv": "comm.Scatterv((all_of[:1000], PARTS), taken[: 100 * (1 + rank)], 0)",
    "allgather": "comm.Allgather(sent[:600], all_of[:4 * 600])",
    "allgatherv": "comm.Allgatherv(sent[: 100 * (1 + rank)], (all_of[:1000], PARTS))",
    "alltoall": "comm.Alltoall(all_of[:4 * 64], taken[:4 * 64])",
    "alltoallv": "comm.Alltoallv((all_of[:40], TENS), (taken[:40], TENS))",
    "reduce": "comm.Reduce(sent[:2000], taken[:2000], root=1)",
    "allreduce": "comm.Allreduce(sent[:800], taken[:800])",
    "allreduce_of_20000": "comm.Allreduce(sent, taken[:20000])",
    "reduce_scatter": "comm.Reduce_scatter(sent[:400], taken[:100], (100,) * 4)",
    "reduce_scatter_block": "comm.Reduce_scatter_block(sent[:400], taken[:100])",
    "scan": "comm.Scan(sent[:100], taken[:100])",
    "exscan": "comm.Exscan(sent[:100], taken[:100])",
}


def check_dates(trace: Path, network: str) -> None:
    """Check that the program in GOAL ends at the dates of the trace, both replayed on a network."""
    of_trace, of_goal = replay(trace, network=network), replay_goal(exported(trace), network=network)
    np.testing.assert_allclose(of_goal.finish_s, of_trace.finish_s, rtol=0, atol=2e-9)
    assert (of_goal.messages, of_goal.bytes) == (of_trace.messages, of_trace.bytes)
    assert not of_goal.unreceived


CASES = [(name, eager_bytes) for name in COLLECTIVES for eager_bytes in (90, 65535)]
CASES.remove(("gatherv", 90))  # its senders wait for one rank from one date on: GOAL takes them in another order


@pytest.mark.parametrize(("name", "eager_bytes"), CASES)
def test_a_program_with_a_collective_has_the_dates_of_its_replay(
    traced: Callable[[str], Path], name: str, eager_bytes: int
) -> None:
    trace = traced(f"""
all_of = numpy.zeros(80000, "u1")
PARTS = (100, 200, 300, 400), (0, 100, 300, 600)
TENS = (10,) * 4, (0, 10, 20, 30)
smpy.execute(1e6)
{COLLECTIVES[name]}
""")
    network = NETWORK % eager_bytes
    check_dates(trace, network)


@pytest.mark.parametrize("eager_bytes", [1000, 100_000])
@pytest.mark.parametrize("call", ["Bcast(big, 0)", "Reduce(big, taken_big, root=3)", "Allreduce(big, taken_big)"])
def test_strands_of_a_collective_have_the_dates_of_their_replay(
    emulated: Callable, tmp_path: Path, call: str, eager_bytes: int
) -> None:
    source = f"big, taken_big = numpy.zeros((2, 5 * 65536 + 8), 'u1')\nsmpy.execute(1e6)\ncomm.{call}"
    platform = "flat hosts=2 cores=2"
    ran = emulated(BEGIN + source, 4, trace=tmp_path / "trace", platform=platform, collectives="openmpi-5")
    assert ran.outcome.error is None
    trace = tmp_path / "trace"
    network = f"loggp:L=2500ns,o=0s,g=0s,G=0s,O=0s,S={eager_bytes}B"  # else the order of messages at a rank matters
    check_dates(trace, network)


@pytest.mark.parametrize(
    "name",
    ["reduce", "allreduce", "allreduce_of_20000", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"],
)
def test_the_arithmetic_of_reductions_is_computing(emulated: Callable, tmp_path: Path, name: str) -> None:
    machine, trace = "flat hosts=4 cores=1 mpi.reduction_bandwidth=1GB/s", tmp_path / "trace"
    ran = emulated(BEGIN + COLLECTIVES[name], 4, trace=trace, platform=machine)
    assert ran.outcome.error is None
    check_dates(trace, NETWORK % 65535)
    assert "calc" in exported(trace).read_text()


FAR = NETWORK.replace("2500ns", "250us") % 65535  # messages arrive when all ranks have begun to wait
STARTED = {
    f"i{name}": f"comm.I{call[5].lower()}{call[6:]}"
    for name, call in COLLECTIVES.items()
    if name not in ("barrier", "allreduce_of_20000")
}


COMPUTES, EXCHANGES = "smpy.execute(1e6)", "comm.Sendrecv(sent[:900], after, 3, taken, before, 3)"


@pytest.mark.parametrize(
    ("name", "between"),
    [*((name, COMPUTES) for name in STARTED), *product(("iallgather", "ibcast", "ireduce_scatter"), ("", EXCHANGES))],
)
def test_a_program_with_a_started_collective_has_the_dates_of_its_replay(
    traced: Callable[[str], Path], name: str, between: str
) -> None:
    trace = traced(f"""
all_of = numpy.zeros(80000, "u1")
PARTS = (100, 200, 300, 400), (0, 100, 300, 600)
TENS = (10,) * 4, (0, 10, 20, 30)
smpy.execute(1e6)
request = {STARTED[name]}
{between}
request.Wait()
smpy.execute(1e6)
""")
    of_trace, of_goal = replay(trace, network=FAR), replay_goal(exported(trace), network=FAR)
    np.testing.assert_allclose(of_goal.finish_s, of_trace.finish_s, rtol=0, atol=2e-9)
    assert (of_goal.messages, of_goal.bytes) == (of_trace.messages, of_trace.bytes)
    assert not of_goal.unreceived


@pytest.mark.parametrize("computing_us", [1, 10])
def test_a_started_collective_takes_what_loggp_says(emulated: Callable, tmp_path: Path, computing_us: int) -> None:
    source = f"""
request = comm.Iallgather(sent[:1001], taken[:2002])
smpy.execute({computing_us * 49600})
request.Wait()
"""
    machine = {"platform": "flat hosts=2 cores=1", "network": NETWORK % 65535}
    ran = emulated(BEGIN + source, 2, trace=tmp_path / "trace", **machine)
    o_us, latency_us, bytes_us = 1.5, 2.5, 6.0  # 1,000 bytes but the first
    finish_s = 1e-6 * (o_us + max(latency_us, computing_us) + o_us + bytes_us)
    assert ran.outcome.summary.finish_s == pytest.approx([finish_s] * 2, rel=1e-9)
    assert replay_goal(exported(tmp_path / "trace"), network=NETWORK % 65535).finish_s == pytest.approx(
        [finish_s] * 2, rel=1e-9
    )


OTHERS = {
    "split": """
part = comm.Split(rank % 2, -rank)
sleep_until(0.01)
part.Allgather(sent[:300], taken[:600])
sleep_until(0.02)
part.Bcast(sent[:700], 1)
sleep_until(0.03)
requests = [part.Iallreduce(sent[:90], taken[:90]), comm.Iallgather(sent[:80], taken[1000:1320])]
MPI.Request.Waitall(requests)
sleep_until(0.04)
part.Sendrecv(sent[:50], 1 - part.rank, recvbuf=taken, source=1 - part.rank)
""",
    "tags": """
other = comm.Dup()
sleep_until(0.01)
if rank == 0:
    requests = [other.Isend(sent[:100], 1, 3), comm.Isend(sent[:2000], 1, 3), other.Isend(sent[:30], 1, 4)]
    MPI.Request.Waitall(requests)
elif rank == 1:
    comm.Recv(taken, 0, MPI.ANY_TAG)
    other.Recv(taken, MPI.ANY_SOURCE, 4)
    other.Recv(taken, 0, MPI.ANY_TAG)
""",
    "between": """
half = comm.Split(rank // 2)
inter = half.Create_intercomm(0, comm, 2 - rank // 2 * 2, 9)
sleep_until(0.01)
inter.Allgather(sent[:40], taken[:80])
sleep_until(0.02)
inter.Sendrecv(sent[:60], inter.rank, recvbuf=taken, source=inter.rank)
inter.Iallreduce(sent[:50], taken[:50]).Wait()
""",
    "self": """
MPI.COMM_SELF.Sendrecv(sent[:100], 0, recvbuf=taken)
comm.Sendrecv(sent[:100], after, 1, taken, before, 1)
""",
}


SLEEP_UNTIL = """
begin = MPI.Wtime()
def sleep_until(date_s):
    time.sleep(date_s - (MPI.Wtime() - begin))
"""


@pytest.mark.parametrize("name", OTHERS)
def test_communicators_of_some_ranks_have_the_dates_of_the_run(emulated: Callable, tmp_path: Path, name: str) -> None:
    source, trace = BEGIN + SLEEP_UNTIL + OTHERS[name], tmp_path / "trace"
    ran = emulated(source, 4, trace=trace, platform="flat hosts=4 cores=1", network=FAR)
    assert ran.outcome.error is None
    of_goal = replay_goal(exported(trace), network=FAR)
    np.testing.assert_allclose(of_goal.finish_s, ran.outcome.summary.finish_s, rtol=0, atol=2e-9)
    assert (of_goal.messages, of_goal.bytes) == (ran.outcome.summary.messages, ran.outcome.summary.bytes)
    assert not of_goal.unreceived


def test_messages_of_equal_tags_on_two_communicators_are_told_apart(traced: Callable[[str], Path]) -> None:
    text = exported(traced(SLEEP_UNTIL + OTHERS["tags"])).read_text()
    sends = dict(re.findall(r"send (100|2000|30)b to 1 tag (\d+)", text))
    assert sends["2000"] == "3"
    assert len(set(sends.values())) == 3
    assert re.findall(r"recv (100|2000|30)b from 0 tag (\d+)", text) == [
        (size, sends[size]) for size in ("2000", "30", "100")
    ]


def test_receives_have_the_source_tag_and_size_of_what_they_took(traced: Callable[[str], Path]) -> None:
    text = exported(traced(MASTER)).read_text()
    assert re.findall(r"recv (\d+)b from (\d+) tag (\d+)", text) == [
        ("300", "3", "3"),
        ("200", "2", "2"),
        ("100", "1", "1"),
    ]


def test_a_receive_of_any_tag_takes_no_message_of_a_collective(traced: Callable[[str], Path]) -> None:
    trace = traced("""
request = comm.Irecv(taken[:3000], 1, MPI.ANY_TAG) if rank == 0 else MPI.REQUEST_NULL
comm.Bcast(sent[:200], 1)
if rank == 1:
    comm.Send(sent[:30], 0, 7)
request.Wait()
""")
    path = exported(trace)
    assert re.findall(r"recv (\d+b from 1 tag \d{1,9})\n", path.read_text()) == ["30b from 1 tag 7"]
    of_trace, of_goal = replay(trace), replay_goal(path)
    assert (of_goal.messages, of_goal.bytes) == (of_trace.messages, of_trace.bytes)
    assert not of_goal.unreceived
    assert not of_goal.depends_on_time


def test_objects_are_messages_of_their_pickled_sizes(traced: Callable[[str], Path]) -> None:
    trace = traced("request = comm.isend(rank, after); comm.recv(source=before); request.wait(); comm.bcast(rank)")
    of_trace, of_goal = replay(trace), replay_goal(exported(trace))
    assert (of_goal.messages, of_goal.bytes) == (of_trace.messages, of_trace.bytes)


def test_a_rank_computes_as_many_nanoseconds_as_in_the_run(traced: Callable[[str], Path]) -> None:
    trace = traced("for _ in range(1000): smpy.execute(12345); comm.Send(sent[:1], rank); comm.Recv(taken, rank)")
    ranks = exported(trace).read_text().split("rank ")[1:]
    calculated = [sum(map(int, re.findall(r"calc (\d+)", rank))) for rank in ranks]
    assert calculated == pytest.approx([1000 * 12345 / 49.6] * 4, abs=0.6)


REFUSED = {
    "comm.Ibarrier().Wait()": r"rank \d \(Ibarrier program.py:8\): it waits for ranks that send it no message",
    "comm.Barrier(); comm.Sendrecv(sent, after, (1 << 31) - 1, taken, before)": "the tag 2147483647 is one that colle",
    "if rank < 2: comm.Ssend(sent, 1) if rank == 0 else comm.Recv(taken, 0)": r"\(Ssend .*\): GOAL has no sends of",
    "if rank < 2: comm.Send(sent, 1) if rank == 0 else (comm.Probe(0), comm.Recv(taken, 0))": "GOAL has nothing for 'p",
}


@pytest.mark.parametrize("source", REFUSED)
def test_what_goal_cannot_tell_is_refused_with_rank_and_call(traced: Callable[[str], Path], source: str) -> None:
    trace = traced(source)
    with pytest.raises(UsageError, match=f"{re.escape(str(trace))} is not written as GOAL: .*{REFUSED[source]}"):
        export(Trace(trace), "goal", trace.parent / "x.goal")
    assert not (trace.parent / "x.goal").exists()


@pytest.mark.parametrize(("column", "value"), [("amount", 1e300), ("amount", float("nan")), ("bytes", -5)])
def test_an_amount_that_no_run_has_is_refused(traced: Callable[[str], Path], column: str, value: float) -> None:
    trace = traced(RING)
    table = pq.read_table(trace / "actions.parquet")
    wrong = pa.array([value] * len(table), table.schema.field(column).type)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, wrong), trace / "actions.parquet")
    seal(trace)
    with pytest.raises(DamagedFileError, match=r"actions\.parquet"):
        export(Trace(trace), "goal", trace.parent / "x.goal")


def test_computing_may_have_more_operations_than_a_calc_has_nanoseconds(emulated: Callable, tmp_path: Path) -> None:
    machine = "flat hosts=1 cores=1 speed=10000Tf"
    emulated("import smpy; smpy.execute(2e19)", 1, trace=tmp_path / "trace", platform=machine)
    assert "calc 2000000000000\n" in exported(tmp_path / "trace").read_text()


def test_a_trace_of_a_part_of_a_run_is_refused(emulated: Callable, tmp_path: Path) -> None:
    emulated(BEGIN + SLEEPS, 4, trace=tmp_path / "trace", trace_ranks=(0, 1))
    with pytest.raises(UsageError, match="cannot be written as GOAL: it has some ranks only: trace the whole run"):
        export(Trace(tmp_path / "trace"), "goal", tmp_path / "x.goal")


def test_a_trace_of_ranks_with_threads_is_refused_for_them(emulated: Callable, tmp_path: Path) -> None:
    emulated(BEGIN + "import threading; threading.Thread(target=comm.Barrier).start()", 2, trace=tmp_path / "trace")
    with pytest.raises(UsageError, match="cannot be written as GOAL: its ranks have threads"):
        export(Trace(tmp_path / "trace"), "goal", tmp_path / "x.goal")
