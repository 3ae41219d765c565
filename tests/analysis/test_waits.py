"""Waits are due to whom began them."""

from itertools import pairwise
from math import fsum
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

from smpy.analysis import causes
from smpy.analysis.timeline import Place
from smpy.analysis.wait_analysis import Cause, Wait, Waits, waits
from smpy.errors import DamagedFileError
from smpy.records.trace import Trace
from tests.analysis.drawn_programs import programs
from tests.analysis.small_run import Barrier, Compute, InMemory, Message, Step, perform
from tests.records.synthetic_trace import SyntheticTrace


def caused(found: Waits) -> dict[tuple[int, str, int], float]:
    return {(it.rank, it.kind, it.place.line): it.seconds for it in found.causes}


def of(n_ranks: int, steps: list[Step]) -> Waits:
    return waits(InMemory(perform(n_ranks, steps)))


@settings(max_examples=50)
@given(programs())
def test_causes_add_up_to_the_waits(program: tuple[int, list[Step]]):
    run = perform(*program)
    if max(run.now_s) == 0:
        return
    found = waits(InMemory(run))
    late_s = fsum(it["end_s"] - it["start_s"] for it in run.rows["intervals"] if it["kind"].startswith("late"))
    assert found.seconds == pytest.approx(late_s, rel=1e-9, abs=1e-12)
    assert fsum(it.seconds for it in found.causes) == pytest.approx(late_s, rel=1e-9, abs=1e-12)
    assert not any(it.kind.startswith("late") for it in found.causes)


@settings(max_examples=50)
@given(programs())
def test_causes_do_not_depend_on_how_many_waits_are_looked_at_together(program: tuple[int, list[Step]]):
    run = perform(*program)
    if max(run.now_s) == 0:
        return
    trace = InMemory(run)
    with pytest.MonkeyPatch.context() as patch:
        at_once = caused(waits(trace))
        patch.setattr(causes, "_TOGETHER", 2)
        assert caused(waits(trace)) == pytest.approx(at_once)


def test_no_rank_is_named_that_causes_no_more_than_noise():
    steps: list[Step] = [Compute(0, 3.0, 3), Compute(1, 2.0, 3), Barrier(4), Compute(2, 9.0, 5), Barrier(6)]
    trace = InMemory(perform(3, steps))
    named = waits(trace)
    trace.info["profile"] = {"noise_waiting_s": 7.0}
    found = waits(trace)
    assert found.causes == named.causes
    beyond, within = (line.split() for line in found.table().partition("Causes of waits")[2].splitlines()[2:4])
    assert (beyond[4], beyond[-1]) == ("2", "prog.py:5")
    assert (within[4], within[-1]) == ("noise", "prog.py:3")
    assert "noise of this machine explains, 7 s of waits" in found.table()
    assert "noise" not in named.table()


def test_noise_is_compared_with_all_that_a_rank_causes():
    parts: list[Step] = [step for line in (3, 5) for step in (Compute(0, 2.0, line), Barrier(9))]
    trace = InMemory(perform(2, parts))
    trace.info["profile"] = {"noise_waiting_s": 3.0}
    assert "noise" not in waits(trace).table()  # 4 s, in two lines


def test_the_time_of_ranks_ends_where_they_do():
    """Rank 0 ends after 1 s, rank 1 waits for 3 s of rank 2, which ends with it."""
    trace = InMemory(perform(3, [Compute(0, 1.0, 3), Compute(2, 3.0, 4), Message(2, 1, 0, 5, eager=True)]))
    assert waits(trace).rank_seconds == pytest.approx(7.0)
    assert "3 s, 42.9% of the ranks' time" in waits(trace).table()


TURNS: list[Step] = [Compute(1, 1.0, 3), Message(1, 0, 0, 5, eager=True), Compute(0, 0.01, 7)] * 10
BEGINS_LATE: list[Step] = [Compute(3, 3.5, 4), Message(3, 2, 0, 9, eager=True)]  # within a wait of rank 0's
LASTS: list[Step] = [Message(0, 2, 0, 11, eager=True), Message(0, 3, 0, 12, eager=True)]


@settings(max_examples=50)
@given(programs(), st.integers(2, 6))
@example((4, [*TURNS, *BEGINS_LATE, *LASTS]), 4)
@example((4, [*BEGINS_LATE, *TURNS, *TURNS[:2], *LASTS, *TURNS, *LASTS]), 4)
def test_wide_windows_are_summed_up_to_the_same(program: tuple[int, list[Step]], width: int):
    run = perform(*program)
    if max(run.now_s) == 0:
        return
    trace = InMemory(run)
    with pytest.MonkeyPatch.context() as patch:
        narrow = caused(waits(trace))
        patch.setattr(causes, "_WIDE", width)
        wide = caused(waits(trace))
    for cause in narrow.keys() | wide.keys():
        assert wide.get(cause, 0.0) == pytest.approx(narrow.get(cause, 0.0), rel=1e-9, abs=1e-12)


def test_a_chain_of_three_late_senders_is_due_to_the_first():
    steps = [
        Compute(0, 5.0, 3),
        *(Compute(rank, 1.0, 4) for rank in (1, 2, 3)),
        *(Message(k, k + 1, 0, 9) for k in range(3)),
    ]
    found = of(4, steps)
    assert [(it.rank, it.kind, it.seconds) for it in found.waits] == [(r, "late_sender", 4.0) for r in (1, 2, 3)]
    assert caused(found) == {(0, "compute", 3): pytest.approx(12.0)}


def test_a_chain_within_which_everybody_computes_is_due_to_all_of_them():
    """Rank 1 has 3 s more than rank 0 waits for; rank 2 computes as long as rank 1 after it."""
    steps = [Compute(0, 3.0, 3), Message(0, 1, 0, 9), Compute(1, 2.0, 5), Message(1, 2, 0, 9)]
    assert caused(of(3, steps)) == {(0, "compute", 3): pytest.approx(3.0 + 3.0), (1, "compute", 5): pytest.approx(2.0)}


def test_the_line_that_takes_longer_is_blamed_and_not_the_last_one():
    first = [Compute(0, 2.0, 3), Compute(1, 0.5, 3)]
    then = [Compute(0, 1.0, 4), Compute(1, 1.0, 4), Message(0, 1, 0, 9)]
    assert caused(of(2, [*first, *then])) == {(0, "compute", 3): pytest.approx(1.5)}


def test_a_slow_kernel_is_named():
    steps = [Compute(0, 3.0, 3, "dgemm"), Compute(1, 1.0, 3, "dgemm"), Message(1, 0, 0, 9)]
    (cause,) = of(2, steps).causes
    assert (cause.rank, cause.place.call, cause.place.is_kernel) == (0, "dgemm", True)
    assert cause.seconds == pytest.approx(2.0)


def test_the_last_to_enter_a_barrier_is_blamed_for_what_all_others_wait():
    steps = [*(Compute(rank, 4.0 if rank == 2 else 1.0, 3) for rank in range(4)), Barrier(7)]
    found = of(4, steps)
    assert {it.kind for it in found.waits} == {"late_members"}
    assert caused(found) == {(2, "compute", 3): pytest.approx(9.0)}


def test_a_late_receiver_that_was_held_up_by_a_slow_message_blames_its_transfer():
    steps = [Message(0, 1, 3 * 10**9, 5), Message(2, 1, 0, 9)]
    assert caused(of(3, steps)) == {(1, "transfer", 6): pytest.approx(3.0)}


def test_a_wait_that_does_not_tell_for_whom_is_its_own_cause(tmp_path: Path):
    run = SyntheticTrace(["a", "b"])
    run.spend(0, "late_sender", 2.0, run.site(0, "Recv", 4))
    run.spend(1, "compute", 2.0)
    found = waits(Trace(run.write(tmp_path / "trace")))
    assert caused(found) == {(0, "late_sender", 4): 2.0}


def test_a_circle_of_waits_keeps_its_time(tmp_path: Path):
    run = SyntheticTrace(["a", "b"])
    for rank in (0, 1):
        run.spend(rank, "late_sender", 1.0, run.site(rank, "Recv", 4), other=1 - rank)
    found = waits(Trace(run.write(tmp_path / "trace")))
    assert fsum(it.seconds for it in found.causes) == found.seconds == 2.0


def contended(pieces: int) -> SyntheticTrace:
    """Rank 1 sees a message of 4 s, 1 s if alone, travel for 3 s, in pieces; then rank 0 polls for 2 s."""
    run = SyntheticTrace(["a", "b"])
    sent = run.message(
        0, 1, 1000, send_site=run.site(0, "Isend", 7), receive_site=run.site(1, "Recv", 9), send_posted_s=0.0,
        receive_posted_s=1.0, started_s=0.0, ended_s=4.0, alone_s=1.0,
    )  # fmt: skip
    run.spend(0, "compute", 3.0, run.site(0, "", 5))
    run.spend(0, "polling", 2.0, run.site(0, "Iprobe", 8))
    run.spend(1, "compute", 1.0, run.site(1, "", 5))
    for _ in range(pieces):
        run.spend(1, "transfer", 3.0 / pieces, run.site(1, "Recv", 9), message=sent)
    return run


@pytest.mark.parametrize("pieces", [1, 2, 6])
def test_contention_in_the_network_is_told_though_nobody_is_late(tmp_path: Path, pieces: int):
    links = {
        "link": ["cool", "hot"],
        "saturated_s": [0.0, 4.0],
        "busy_s": [1.0, 4.0],
        "bytes": [1.0, 4.0],
        "most_flows": [1, 2],
    }
    result = waits(
        Trace(contended(pieces).write(tmp_path / "trace", profile={"kinds": [], "sites": [], "links": links}))
    )
    (late,) = result.contention
    assert (late.rank, late.place.text, late.count) == (1, "Recv prog.py:9", pieces)
    assert late.seconds == pytest.approx(3.0)  # the transfer of 4 s took 3 s longer than alone
    text = result.table().splitlines()
    assert (
        text[0]
        == "Transfers: 3 s, 33.3% of the ranks' time, are due to contention in the network; hot is saturated longest"
    )
    assert text[2].split() == ["3", "s", "100.0%", str(pieces), "1", "transfer", "Recv", "prog.py:9"]
    assert "No rank waited for another one" in text


def test_contention_is_at_most_the_extra_time_of_a_message(tmp_path: Path):
    run = contended(6)
    run.rows["messages"][0]["alone_s"] = 3.5
    result = waits(Trace(run.write(tmp_path / "trace")))
    assert [wait.seconds for wait in result.contention] == pytest.approx([0.5])


def test_contention_is_at_most_the_wait_for_a_message(tmp_path: Path):
    run = contended(1)
    run.rows["messages"][0]["alone_s"] = 0.0  # 4 s longer than alone, 3 s of them waited for
    (late,) = waits(Trace(run.write(tmp_path / "trace"))).contention
    assert late.seconds == pytest.approx(3.0)


def test_polls_that_wait_for_nothing_are_told(tmp_path: Path):
    result = waits(Trace(contended(1).write(tmp_path / "trace")))
    assert [(wait.rank, wait.kind, wait.place.text, wait.seconds) for wait in result.polls] == [
        (0, "polling", "Iprobe prog.py:8", 2.0)
    ]
    assert "\nPolls: 2 s, 22.2% of the ranks' time, waited for nothing\n" in result.table()


@pytest.mark.parametrize("between", ["compute", "overhead"])
def test_failed_polls_wait_for_the_rank_of_the_next_polls_of_their_row(tmp_path: Path, between: str):
    run = SyntheticTrace(["a", "b"])
    for other in (None, 1):
        run.spend(0, "late_sender", 2.0, run.site(0, "Iprobe", 4), other=other)
        run.spend(0, between, 0.5, run.site(0, "", 5))
    run.spend(1, "compute", 5.0, run.site(1, "", 7))
    causes = caused(waits(Trace(run.write(tmp_path / "trace"))))
    in_row = between == "compute"
    assert (1, "compute", 7) in causes
    assert ((0, "late_sender", 4) in causes) != in_row


@pytest.mark.parametrize(("rank", "kind"), [(0, "late_receiver"), (1, "late_sender")])
def test_failed_polls_do_not_wait_for_the_rank_of_other_waits(tmp_path: Path, rank: int, kind: str):
    run = SyntheticTrace(["a", "b", "c"])
    run.spend(0, "late_sender", 2.0, run.site(0, "Iprobe", 4))
    run.spend(rank, kind, 2.0, run.site(rank, "Send", 5), other=2)
    for each in (0, 1, 2):  # no rank is idle at its end
        run.spend(each, "compute", 4.0 - run.now_s[each], run.site(each, "", 7))
    assert caused(waits(Trace(run.write(tmp_path / "trace"))))[0, "late_sender", 4] == 2.0


def test_damaged_links_are_refused(tmp_path: Path):
    folder = contended(1).write(tmp_path / "trace", profile={"kinds": [], "sites": [], "links": {"link": ["hot"]}})
    with pytest.raises(DamagedFileError, match=r"profile\.links is not a table of links"):
        waits(Trace(folder))


def test_the_table_has_waits_and_causes():
    text = of(2, [Compute(0, 3.0, 3), Message(0, 1, 0, 9)]).table().splitlines()
    assert text[0] == "Waits: 3 s, 50.0% of the ranks' time"
    assert text[2].split() == ["3", "s", "100.0%", "1", "1", "late", "sender", "Recv", "prog.py:10"]
    assert " ".join(text[6].split()) == "3 s 100.0% 1 0 100.0% compute user code up to prog.py:3"


def test_a_run_without_waits_says_so():
    assert of(1, [Compute(0, 3.0, 3)]).table() == "No rank waited for another one"


def test_of_ranks_that_are_equal_but_for_rounding_the_first_is_named():
    place = Place("Recv", "a.py", 3, is_kernel=False)
    seconds = {3: 1 + 1e-15, 1: 1.0, 2: 0.5}
    some = [Wait(rank, place, "late_sender", s, 1) for rank, s in seconds.items()]
    causes = [Cause(rank, place, "compute", s) for rank, s in seconds.items()]
    lines = Waits(9.0, some, causes, (), (), "", "").table().splitlines()
    for name in ("most on rank", "most by rank"):
        head, row = next((head, row) for head, row in pairwise(lines) if name in head)
        assert row[: head.index(name) + len(name)].split()[-1] == "1"
