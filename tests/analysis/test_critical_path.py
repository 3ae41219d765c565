"""The critical path is what the makespan consists of."""

from math import fsum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings

pytest.importorskip("pyarrow")

from smpy.analysis.path_analysis import CriticalPath, critical_path
from smpy.errors import UsageError
from smpy.records.trace import Trace
from tests.analysis.drawn_programs import programs
from tests.analysis.small_run import Barrier, Compute, InMemory, Message, Step, perform, trace_of
from tests.records.synthetic_trace import SyntheticTrace, late_sender


def seconds(path: CriticalPath) -> dict[tuple[str, str, int], float]:
    return {(it.kind, it.place.call, it.place.line): it.seconds for it in path.rows}


@settings(max_examples=50)
@example((2, [Compute(0, 1.0, 1), Barrier(1), Message(0, 1, 1, 1)]))  # a message that takes no longer than one date
@given(programs())
def test_its_parts_follow_each_other_and_add_up_to_the_makespan(program: tuple[int, list[Step]]):
    run = perform(*program)
    if max(run.now_s) == 0:
        return
    path = critical_path(InMemory(run))
    parts = path.parts
    assert fsum(it.seconds for it in path.rows) == pytest.approx(path.time_s, rel=1e-12)
    assert path.by_rank_s.sum() == pytest.approx(path.time_s, rel=1e-12)
    assert parts.end_s[0] == pytest.approx(path.time_s, rel=1e-12)
    assert parts.start_s[-1] == 0
    assert (np.abs(parts.start_s[:-1] - parts.end_s[1:]) <= 1e-9).all()
    assert not {it.kind for it in path.rows} & {"late_sender", "late_receiver", "late_members", "idle"}


def test_at_a_late_sender_it_goes_on_with_the_sender(tmp_path: Path):
    path = critical_path(Trace(late_sender().write(tmp_path / "trace")))
    assert seconds(path) == {("compute", "", 5): 3.0, ("transfer", "Recv", 9): 1.0}
    assert path.by_rank_s.tolist() == [3.0, 1.0]
    assert (path.messages, path.bytes) == (1, 1000)


def test_at_a_late_receiver_it_goes_on_with_the_receiver(tmp_path: Path):
    steps = [Compute(0, 1.0, 1), Compute(1, 5.0, 2), Message(0, 1, 2 * 10**9, 10)]
    path = critical_path(trace_of(tmp_path / "trace", 2, steps))
    assert path.by_rank_s.sum() == pytest.approx(7.0)
    assert seconds(path)["compute", "", 2] == 5.0
    assert ("compute", "", 1) not in seconds(path)


def test_an_early_message_leads_to_its_sender_though_the_receiver_came_after_it(tmp_path: Path):
    steps = [Compute(0, 1.0, 1), Message(0, 1, 9 * 10**9, 10, eager=True)]
    early = trace_of(tmp_path / "early", 2, [Compute(1, 4.0, 2), *steps])
    path = critical_path(early)
    assert path.time_s == 10.0
    assert seconds(path) == {("compute", "", 1): 1.0, ("transfer", "Recv", 11): 9.0}


def test_at_a_barrier_it_goes_on_with_the_last_to_enter(tmp_path: Path):
    steps = [Compute(0, 1.0, 1), Compute(1, 3.0, 1), Compute(2, 2.0, 1), Barrier(5), Compute(0, 1.0, 6, "dgemm")]
    path = critical_path(trace_of(tmp_path / "trace", 3, steps))
    assert path.by_rank_s.tolist() == [1.0, 3.0, 0.0]
    assert path.by_kernel_s == {"dgemm": 1.0}


def test_a_collective_that_was_started_is_followed_from_message_to_message(tmp_path: Path):
    """Rank 0 computes, then starts a broadcast that rank 1 forwards to rank 2, while rank 1 computes."""
    run = SyntheticTrace(["a", "b", "c"])
    run.spend(0, "compute", 2.0, run.site(0, "", 3))
    run.spend(1, "compute", 9.0, run.site(1, "", 4))
    wait = run.site(2, "Wait", 7)
    first = run.message(0, 1, 10, tag=None, send_posted_s=2.0, receive_posted_s=0.0, ended_s=5.0)
    second = run.message(1, 2, 20, tag=None, send_posted_s=5.0, receive_posted_s=0.0, ended_s=10.0)
    run.spend(2, "late_members", 5.0, wait, other=1, message=second)
    run.spend(2, "transfer", 5.0, wait, message=second)
    path = critical_path(Trace(run.write(tmp_path / "trace")))
    assert first == 0
    assert path.by_rank_s.tolist() == [2.0, 3.0, 5.0]
    assert (path.messages, path.bytes) == (2, 30)


def test_polls_lead_to_the_sender_of_the_message_they_find(tmp_path: Path):
    """Rank 0 computes for 4 s and sends; rank 1 polls from 1.5 s on, finds the message at 5 s, and receives it."""
    run = SyntheticTrace(["a", "b"])
    run.spend(0, "compute", 4.0, run.site(0, "", 3))
    run.spend(1, "compute", 1.5, run.site(1, "", 3))
    run.spend(1, "late_sender", 2.5, run.site(1, "Iprobe", 5), other=0)
    run.spend(1, "polling", 1.0, run.site(1, "Iprobe", 5))
    run.spend(1, "overhead", 0.25, run.site(1, "Recv", 6))
    sent = run.message(0, 1, 10, send_posted_s=4.0, receive_posted_s=5.25, ended_s=7.25)
    run.spend(1, "transfer", 2.0, run.site(1, "Recv", 6), message=sent)
    path = critical_path(Trace(run.write(tmp_path / "trace")))
    assert seconds(path) == {
        ("compute", "", 3): 4.0,
        ("polling", "Iprobe", 5): 1.0,
        ("overhead", "Recv", 6): 0.25,
        ("transfer", "Recv", 6): 2.0,
    }
    assert path.by_rank_s.tolist() == [4.0, 3.25]


def test_a_circle_of_waits_is_cut(tmp_path: Path):
    run = SyntheticTrace(["a", "b"])
    for rank in (0, 1):
        run.spend(rank, "compute", 1.0, run.site(rank, "", 3))
        run.spend(rank, "late_sender", 1.0, run.site(rank, "Recv", 4), other=1 - rank)
    path = critical_path(Trace(run.write(tmp_path / "trace")))
    assert path.time_s == fsum(it.seconds for it in path.rows) == 2.0


def test_a_trace_without_time_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no intervals"):
        critical_path(Trace(SyntheticTrace(["a"]).write(tmp_path / "trace")))


def test_its_table_names_what_costs_most_first(tmp_path: Path):
    text = critical_path(Trace(late_sender().write(tmp_path / "trace"))).table()
    assert text.splitlines()[0] == "Critical path: 4 s, with 1 message of 1 kB together"
    assert text.splitlines()[2].split() == ["3", "s", "75.0%", "compute", "user", "code", "up", "to", "prog.py:5"]
