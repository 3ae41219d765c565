"""Two runs differ by what adds up to the difference of their ranks' time."""

from math import fsum
from pathlib import Path

import pytest
from hypothesis import given, settings

pytest.importorskip("pyarrow")

from smpy.analysis.comparison import compare
from tests.analysis.drawn_programs import programs
from tests.analysis.small_run import Compute, InMemory, Message, Rules, Step, perform, trace_of


@settings(max_examples=50)
@given(programs(), programs())
def test_differences_add_up_to_that_of_the_rank_seconds(one: tuple[int, list[Step]], other: tuple[int, list[Step]]):
    runs = [perform(n_ranks, [Compute(0, 1.0, 9), *steps]) for n_ranks, steps in (one, other)]
    found = compare(*map(InMemory, runs))
    before_s, after_s = (len(run.now_s) * max(run.now_s) for run in runs)
    assert found.before.rank_seconds == pytest.approx(before_s, rel=1e-9)
    assert fsum(it.seconds for it in found.differences) == pytest.approx(after_s - before_s, rel=1e-9, abs=1e-9)
    longer_s = max(runs[1].now_s) - max(runs[0].now_s)
    assert fsum(it.seconds for it in found.on_path) == pytest.approx(longer_s, rel=1e-9, abs=1e-9)


def test_what_changed_most_comes_first(tmp_path: Path):
    steps = [Compute(0, 1.0, 3), Message(0, 1, 10**9, 5)]
    slow = trace_of(tmp_path / "slow", 2, steps, Rules(bandwidth_bytes_per_s=0.5e9))
    found = compare(trace_of(tmp_path / "fast", 2, steps), slow)
    assert {(it.kind, it.place.call, it.seconds) for it in found.differences[:2]} == {
        ("transfer", "Recv", 1.0),
        ("transfer", "Send", 1.0),
    }
    text = found.table().splitlines()
    assert text[4] == "On the critical path: +1 s"
    assert text[6].split()[:8] == ["+1", "s", "1", "s", "2", "s", "transfer", "Send"]
    assert text[8] == "Summed over all ranks: +2 s"
    assert text[10].split()[:7] == ["+1", "s", "1", "s", "2", "s", "transfer"]


def test_equal_runs_are_told_so(tmp_path: Path):
    trace = trace_of(tmp_path / "trace", 1, [Compute(0, 1.0, 3)])
    assert compare(trace, trace).table().endswith("Both spend the same time in every line")
