"""Calls of a rank get the dates of their intervals and messages."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smpy.errors import DamagedFileError, UsageError
from smpy.export.communicators import Communicators
from smpy.export.dated_calls import DatedCall, dated_ranks
from smpy.export.mpi_calls import bytes_of, name_of, sizes_of
from smpy.records.trace import Trace
from tests.records.synthetic_trace import seal

LATENCY_S, GAP_S_PER_BYTE, FLOP_PER_S = 1e-3, 1e-6, 1e9
BEGIN = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank = comm.rank
sent, taken = numpy.zeros(1001, "u1"), numpy.zeros(1001, "u1")
"""


@pytest.fixture
def dated(emulated: Callable, tmp_path: Path) -> Callable[[str], list[list[DatedCall]]]:
    def here(source: str, **config: object) -> list[list[DatedCall]]:
        machine = {"platform": "flat hosts=2 cores=1 speed=1Gf", "network": "loggp:L=1ms,o=0s,g=0s,G=1us,O=0s,S=65535B"}
        ran = emulated(BEGIN + source, 2, trace=tmp_path / "trace", **machine | config)
        assert ran.outcome.error is None
        trace = Trace(tmp_path / "trace")
        return [list(of_rank.calls()) for of_rank in dated_ranks(trace, Communicators(trace))]

    return here


def dates_of(calls: list[DatedCall]) -> list[tuple[str, float, float]]:
    return [(call.action, pytest.approx(call.begin_s), pytest.approx(call.end_s)) for call in calls]


def test_a_wait_ends_when_its_message_has_arrived(dated: Callable):
    _, receiver = dated("""
if rank == 0:
    smpy.execute(2e6)
    comm.Send(sent, 1)
else:
    request = comm.Irecv(taken, 0)
    smpy.execute(1e6)
    request.Wait()
    smpy.execute(1e6)
""")
    assert dates_of(receiver) == [("irecv", 0, 0), ("compute", 0, 1e-3), ("wait", 1e-3, 4e-3), ("compute", 4e-3, 5e-3)]
    assert receiver[2].completed == [receiver[0].message]


def test_receives_of_one_line_that_wait_one_after_the_other_have_their_own_dates(dated: Callable):
    _, receiver = dated("""
for step in range(3):
    if rank == 0:
        smpy.execute(2e6)
        comm.Send(sent[:1], 1, step)
    else:
        comm.Recv(taken, 0, step)
""")
    ends_s = [2e-3 * (step + 1) + LATENCY_S for step in range(3)]
    assert dates_of(receiver) == list(zip(["recv"] * 3, [0, *ends_s[:2]], ends_s, strict=True))


def test_a_probe_of_a_sequence_ends_when_its_message_is_received(dated: Callable):
    _, receiver = dated("""
import smpy.experimental
if rank == 0:
    smpy.execute(2e6)
    comm.Send(sent, 1, 5)
else:
    take = smpy.experimental.MessageProgram()
    take.Recv((0, 0, 1001), 0, None)
    smpy.experimental.AwaitedMessage(comm, 0, 5, take, taken).wait()
""")
    assert dates_of(receiver) == [("iprobe", 0, 2e-3), ("recv", 2e-3, 4e-3)]


def test_messages_of_a_sequence_are_posted_within_their_calls(dated: Callable):
    ranks = dated(
        """
import smpy.experimental
steps = smpy.experimental.MessageProgram()
for _ in range(4):
    coming = steps.Irecv((0, 0, 1001 if rank else 500), 1 - rank, 5)
    steps.Send((1, 0, 500 if rank else 1001), 1 - rank, 5)
    steps.Wait(coming)
smpy.execute(1e4 * rank)
steps.perform(comm, taken, sent)
""",
        network=None,
    )
    messages = [(call.begin_s, call.message.posted_s, call.end_s) for calls in ranks for call in calls if call.message]
    assert len(messages) == 16
    assert all(begin_s <= posted_s <= end_s for begin_s, posted_s, end_s in messages)


def test_messages_without_time_in_between_are_calls_in_their_order(dated: Callable):
    sender, _ = dated("""
if rank == 0:
    for tag in (5, 3, 4):
        comm.Send(sent[:tag], 1, tag)
else:
    for tag in (3, 4, 5):
        comm.Recv(taken, 0, tag)
""")
    assert [(call.message.tag, call.message.bytes) for call in sender] == [(5, 5), (3, 3), (4, 4)]
    assert [call.begin_s for call in sender] == [0, *(call.end_s for call in sender[:2])]


def test_a_receive_from_any_source_has_the_message_that_it_took(dated: Callable):
    receiver, _ = dated("comm.Send(sent[:7], 0, 9) if rank else comm.Recv(taken)")
    (message,) = receiver[0].completed
    assert (message.source, message.tag, message.bytes, message.is_receive) == (1, 9, 7, True)


def test_a_buffered_send_is_complete_in_its_own_call(dated: Callable):
    sender, _ = dated("""
MPI.Attach_buffer(bytearray(5000))
comm.Bsend(sent, 1) if rank == 0 else comm.Recv(taken, 0)
""")
    (call,) = (call for call in sender if call.action == "send")
    assert (list(call.completed), call.end_s) == ([call.message], 0)
    assert name_of(call.action, call.detail, "", is_over=True) == "Bsend"


def test_a_message_of_the_line_of_a_collective_says_when_that_was_over(dated: Callable):
    first, second = dated("""
if rank == 1:
    smpy.execute(1e6)
total = comm.allreduce(1)
""")
    for calls in (first, second):
        for before, call in pairwise(calls):
            assert before.end_s <= call.begin_s
            if call.message is not None:
                assert call.begin_s <= call.message.posted_s <= call.end_s
    assert {call.action for call in (*first, *second)} >= {"collective", "send", "recv"}


def test_a_started_send_lasts_until_its_message_is_posted(dated: Callable):
    source = """
if rank == 0:
    requests = [comm.Isend(sent[:9], 1, tag) for tag in (1, 2)]
else:
    for tag in (1, 2):
        comm.Recv(taken, 0, tag)
"""
    (first, second), _ = dated(source, platform=None, network=None)  # a machine with overheads of sends
    assert (first.begin_s, second.begin_s) == (0, first.end_s)
    for call in (first, second):
        assert call.begin_s < call.end_s == call.message.posted_s


def test_a_collective_that_was_started_is_complete_in_its_wait(dated: Callable):
    first, _ = dated("comm.Iallreduce(sent[:8], taken[:8]).Wait()")
    assert first[-1].collectives == [first[-2]]
    assert (first[-2].action, first[-2].end_s) == ("start", 0)


def test_a_wait_for_a_message_and_a_collective_ends_with_the_later_one(dated: Callable):
    first, _ = dated("""
requests = [comm.Irecv(taken, 1 - rank), comm.Isend(sent[:9], 1 - rank)]
if rank == 1:
    smpy.execute(1e7)
MPI.Request.Waitall([*requests, comm.Iallreduce(sent[:8], taken[:8])])
smpy.execute(1e6)
""")
    wait, last = first[-2:]
    assert (wait.action, len(wait.collectives), last.begin_s) == ("wait_all", 1, wait.end_s)
    assert wait.end_s > 1e-2
    assert last.end_s == pytest.approx(wait.end_s + 1e-3)


def test_a_flush_has_the_time_of_its_accesses(dated: Callable):
    first, _ = dated(
        """
window = MPI.Win.Create(taken, 1, comm=comm)
window.Lock_all()
if rank == 0:
    window.Put(sent, 1)
    window.Flush(1)
    smpy.execute(1e6)
window.Unlock_all()
""",
        network=None,
    )
    (flush,) = (call for call in first if call.action == "complete" and call.end_s > call.begin_s)
    (work,) = (call for call in first if call.action == "compute")
    assert (work.begin_s, work.end_s) == (flush.end_s, pytest.approx(flush.end_s + 1e-3))


def test_intervals_that_are_not_those_of_the_actions_are_refused(dated: Callable, tmp_path: Path):
    dated("smpy.execute(1e6); comm.Barrier(); smpy.execute(1e6)")
    table = pq.read_table(tmp_path / "trace" / "actions.parquet")
    kept = [action != "compute" for action in table["action"].to_pylist()]
    pq.write_table(table.filter(pa.array(kept)), tmp_path / "trace" / "actions.parquet")
    trace = Trace(seal(tmp_path / "trace"))
    with pytest.raises(DamagedFileError, match="the intervals of rank 0 are not those of its actions"):
        list(dated_ranks(trace, Communicators(trace)))


def test_a_message_that_nobody_receives_is_the_reason_for_calls_without_dates(dated: Callable):
    machine = {"network": None, "platform": "flat hosts=2 cores=1 speed=1Gf"}
    with pytest.raises(UsageError, match=r"nobody receives a message of rank 0 \(Send program.py:7\), so its"):
        dated("if rank == 0: comm.Send(sent[:5], 1)\ncomm.Barrier()", **machine)


BYTES = {
    "bcast": ([40, 0, 0, 0], [10, 10, 10, 10]),
    "gather": ([10, 10, 10, 10], [40, 0, 0, 0]),
    "scatter": ([40, 0, 0, 0], [10, 10, 10, 10]),
    "reduce": ([10, 10, 10, 10], [40, 0, 0, 0]),
    "allreduce": ([40] * 4, [40] * 4),
    "alltoall": ([40] * 4, [40] * 4),
    "scan": ([40, 30, 20, 10], [10, 20, 30, 40]),
    "exscan": ([30, 20, 10, 0], [0, 10, 20, 30]),
    "barrier": ([0] * 4, [0] * 4),
}


PASSED = {
    "bcast": [(10, 0), (0, 10)],
    "gather": [(10, 10), (10, 0)],
    "scatter": [(10, 10), (0, 10)],
    "reduce": [(10, 10), (10, 0)],
    "allreduce": [(10, 10)] * 2,
    "barrier": [(0, 0)] * 2,
}
"""Sizes that a root passes, and those that others pass."""


@pytest.mark.parametrize("operation", PASSED)
def test_sizes_are_those_that_a_caller_passes(operation: str):
    assert [sizes_of(operation, 10, {}, is_root=is_root) for is_root in (True, False)] == PASSED[operation]


@pytest.mark.parametrize("operation", BYTES)
def test_ranks_send_as_many_bytes_in_a_collective_as_they_receive(operation: str):
    sent, received = zip(*(bytes_of(operation, 10, {}, 4, rank, 0) for rank in range(4)), strict=True)
    assert (list(sent), list(received)) == BYTES[operation]
    assert sum(sent) == sum(received)
