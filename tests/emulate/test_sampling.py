"""Regions that run until their time is known."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from math import sqrt
from random import Random
from statistics import mean, stdev
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import smpy
from smpy.compute.clock.sampled_clock import SampledClock
from smpy.compute.clock.stopping import ConfidenceInterval, SmpiRule, relative_half_width
from smpy.engine.surface import surface
from tests.emulate.planted_clock import plant

MACHINE = "flat hosts=4 cores=4 speed=2Gf"


@pytest.fixture
def sampled(emulated: Callable, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs a program that computes on a planted clock: `sampled(body, 2)`."""
    plant(monkeypatch)
    begin = "import smpy\nfrom mpi4py import MPI\nfrom planted_clock import advance\nrank = MPI.COMM_WORLD.rank\n"
    rules = "from smpy.compute.clock.stopping import SmpiRule\n"

    def here(source: str, n_ranks: int = 1, **config: object) -> Any:
        return emulated(begin + rules + source, n_ranks, **{"platform": MACHINE, "compute": "measured", **config})

    return here


def makespan_s(ran: Any) -> float:
    assert ran.error == ""
    return float(ran.outcome.summary.makespan_s)


def facts(ran: Any, name: str = "x") -> dict[str, Any]:
    (remark,) = (remark for remark in ran.outcome.summary.remarks if remark.topic == "sampled")
    return dict(remark.facts["regions"][name])


# ---- loops ----

LOOP = """
n = 0
for i in smpy.sample("x", range(1000), scope={scope!r}):
    n += 1
    advance(0.01)
print(rank, n, flush=True)
"""


@pytest.mark.parametrize(("scope", "runs"), [("rank", [5, 5, 5]), ("world", [5, 0, 0])])
def test_a_loop_of_known_time_is_left_and_takes_the_time_of_all_of_it(sampled: Callable, scope: str, runs: list[int]):
    ran = sampled(LOOP.format(scope=scope), 3)
    assert [tuple(map(int, line.split())) for line in sorted(ran.out.splitlines())] == list(enumerate(runs))
    assert makespan_s(ran) == pytest.approx(10.0, rel=1e-6)
    assert facts(ran)["n_run"] == sum(runs)
    assert facts(ran)["n_skipped"] == 3000 - sum(runs)
    assert facts(ran)["mean_s"] == pytest.approx(0.01)


def test_skipped_iterations_take_the_mean_and_those_that_ran_their_own_time(sampled: Callable):
    ran = sampled("""
for i in smpy.sample("x", range(100), half_width=0.5, least=4):
    advance([1, 1.2, 0.8, 1.4][i])
""")
    assert makespan_s(ran) == pytest.approx(4.4 + 96 * 1.1)


def test_a_noisy_body_runs_until_the_interval_is_narrow(sampled: Callable):
    times = [1 + 0.3 * (-1) ** i for i in range(400)]
    ran = sampled('for i in smpy.sample("x", range(400)):\n    advance(1 + 0.3 * (-1) ** i)\n')
    n_run = facts(ran)["n_run"]
    assert 100 < n_run < 200
    assert half_width(times[:n_run]) <= 0.05 < half_width(times[: n_run - 1])
    assert facts(ran)["relative_half_width"] == pytest.approx(half_width(times[:n_run]), rel=1e-4)


def test_a_loop_that_is_never_sure_runs_whole(sampled: Callable):
    ran = sampled('for i in smpy.sample("x", range(20)):\n    advance(2.0 ** i)\n')
    assert makespan_s(ran) == pytest.approx(2**20 - 1)
    assert facts(ran)["n_skipped"] == 0


def test_computing_before_and_behind_a_loop_takes_its_own_time(sampled: Callable):
    ran = sampled('advance(3)\nfor i in smpy.sample("x", [0] * 10):\n    advance(1)\nadvance(5)\n')
    assert makespan_s(ran) == pytest.approx(18)


def test_a_second_visit_runs_nothing_more(sampled: Callable):
    ran = sampled("""
for visit in range(3):
    n = 0
    for i in smpy.sample("x", range(10)):
        n += 1
        advance(1)
    print(n)
""")
    assert ran.out.split() == ["5", "0", "0"]
    assert makespan_s(ran) == pytest.approx(30)


def test_skipped_time_is_scaled_as_measured_time_is(sampled: Callable):
    source = 'for i in smpy.sample("x", range(10)):\n    advance(1)\n'
    assert makespan_s(sampled(source, host_speed_flop_per_s=6e9)) == pytest.approx(30)


def test_an_empty_loop_takes_no_time(sampled: Callable):
    assert makespan_s(sampled('for i in smpy.sample("x", []):\n    advance(1)\n')) == 0


@pytest.mark.parametrize("mode", ["none", "models"])
def test_where_nothing_is_measured_everything_runs_and_takes_no_time(sampled: Callable, mode: str):
    ran = sampled(LOOP.format(scope="world"), 2, compute=mode)
    assert ran.out.splitlines() == ["0 1000", "1 1000"]
    assert makespan_s(ran) == 0
    assert "x: every run was made: only --compute measured samples" in ran.outcome.summary.render()


@pytest.mark.parametrize(("least", "n_run"), [(5, 5), (50, 8)])
def test_a_loop_that_makes_its_list_longer_takes_the_time_of_the_longer_one(sampled: Callable, least: int, n_run: int):
    ran = sampled(f"""
items = [0] * 3
for item in smpy.sample("x", items, least={least}):
    advance(1)
    items += [0] * (len(items) < 8)
""")
    assert makespan_s(ran) == pytest.approx(8)
    assert (facts(ran)["n_run"], facts(ran)["n_skipped"]) == (n_run, 8 - n_run)


VISITS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([0.5, 0.9, 1.0, 1.1]), max_size=12),
        st.sampled_from(["whole", "whole", "break", "raise", "close", "return"]),
        st.integers(0, 6),
    ),
    min_size=1,
    max_size=6,
)
VISIT = """
def visit(times, how, last):
    items = iter(smpy.sample("x", times, half_width=0.2, least=3)) if how == "close" else smpy.sample(
        "x", times, half_width=0.2, least=3)
    for number, seconds in enumerate(items):
        advance(seconds)
        if number == last and how == "break":
            break
        if number == last and how == "close":
            items.close()
        if number == last and how == "return":
            return
        if number == last and how == "raise":
            raise ArithmeticError
for times, how, last in {visits}:
    advance(0.25)
    try:
        visit(times, how, last)
    except ArithmeticError:
        MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(VISITS)
def test_any_loops_take_the_time_of_their_runs_and_the_mean_for_each_that_was_skipped(sampled: Callable, visits: Any):
    rule, samples, took_s, is_left = ConfidenceInterval(0.2, 3), [], 0.0, False
    refused = False
    for times, how, last in visits:
        took_s += 0.25
        for number, seconds in enumerate(times):
            if rule.is_enough(len(samples), sum(samples), sum(each * each for each in samples)):
                took_s += (len(times) - number) * mean(samples)
                refused |= is_left
                break
            took_s += seconds
            if number == last and how != "whole":
                is_left = True
                break
            samples.append(seconds)
        if refused:
            break
    ran = sampled(VISIT.format(visits=visits))
    if refused:
        assert "this loop was left before its end" in ran.error
    else:
        assert makespan_s(ran) == pytest.approx(took_s, abs=1e-4)


def test_ranks_that_leave_early_leave_their_samples(sampled: Callable):
    ran = sampled(
        """
import sys
if rank == 0:
    for i in smpy.sample("x", range(3), scope="world"):
        advance(1)
    sys.exit()
MPI.COMM_WORLD.Split(0)
if rank == 1:
    for i in smpy.sample("x", range(3), scope="world"):
        advance(1)
    sys.exit()
for i in smpy.sample("x", range(100), scope="world"):
    advance(1)
""".replace("MPI.COMM_WORLD.Split(0)", "MPI.COMM_SELF.Barrier()"),
        4,
    )
    assert facts(ran)["n_run"] + facts(ran)["n_skipped"] == 206
    assert makespan_s(ran) == pytest.approx(100)


# ---- functions ----

FUNCTION = """
@smpy.sample("x", scope={scope!r})
def work(k):
    '''Works.'''
    advance(0.5)
    return rank, k
answers = [work(k) for k in range(8)]
print(answers, work.__name__, work.__doc__)
"""


def test_a_function_returns_what_the_last_run_returned(sampled: Callable):
    ran = sampled(FUNCTION.format(scope="rank"), 2)
    lines = [f"[{', '.join(f'({rank}, {min(k, 4)})' for k in range(8))}] work Works." for rank in (0, 1)]
    assert sorted(ran.out.splitlines()) == lines
    assert makespan_s(ran) == pytest.approx(4)
    assert (facts(ran)["n_run"], facts(ran)["n_skipped"]) == (10, 6)


def test_a_function_that_all_ranks_sample_returns_what_the_last_run_of_any_returned(sampled: Callable):
    ran = sampled(FUNCTION.format(scope="world"), 2)
    assert "[(0, 4), (0, 4), " in ran.out
    assert makespan_s(ran) == pytest.approx(4)


def test_a_call_that_fails_is_no_sample(sampled: Callable):
    ran = sampled("""
@smpy.sample("x")
def work(k):
    advance(1)
    return 1 / k
for k in (0, 1, 0, 2):
    try:
        print(work(k))
    except ZeroDivisionError:
        print("failed")
""")
    assert ran.out.split() == ["failed", "1.0", "failed", "0.5"]
    assert facts(ran)["n_run"] == 2
    assert makespan_s(ran) == pytest.approx(4)


# ---- bodies ----


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("MPI.COMM_WORLD.Barrier()", "Barrier"),
        ("MPI.COMM_WORLD.Iprobe()", "Iprobe"),
        ("MPI.COMM_WORLD.Isend(b'1', 0)", "Isend"),
        ("MPI.COMM_WORLD.bcast(1)", "bcast"),
        ("MPI.Wtime()", "Wtime"),
        ("smpy.execute(1e9)", "execute"),
        ("smpy.inject_seconds(1)", "inject_seconds"),
        ("import time; time.sleep(1)", "sleep"),
    ],
)
def test_a_body_that_does_not_only_compute_is_refused_and_the_call_named(sampled: Callable, call: str, named: str):
    ran = sampled(f'for i in smpy.sample("x", range(9)):\n    {call}\n', 2)
    assert f"sample 'x': its body calls {named}, and may compute only" in ran.error
    assert "line 7" in ran.error


@pytest.mark.parametrize(
    ("call", "does"),
    [
        ("a @ a", "works on a folded array"),
        ("a.sum()", "works on a folded array"),
        ("a[2:] = 0", "works on a folded array"),
        ("scale(2, a)", "calls scale"),
        ("smpy.KernelModels(1, 1).dgemm(9, 9, 9)", "calls dgemm"),
        ("sequence.perform(MPI.COMM_WORLD, bytearray(8))", "calls perform"),
        ("smpy.experimental.poll_until(MPI.COMM_WORLD.Iprobe)", "calls poll_until"),
    ],
)
def test_a_body_that_takes_time_of_its_own_is_refused(sampled: Callable, call: str, does: str):
    ran = sampled(f"""
a, sequence = smpy.folded((9, 9)), smpy.experimental.MessageProgram()
sequence.Send(0, 0)
@smpy.kernel(flop="n")
def scale(n, a): pass
for i in smpy.sample("x", range(9)):
    {call}
""")
    assert f"sample 'x': its body {does}" in ran.error


def test_the_compiled_calls_are_as_before_behind_a_sampled_loop(sampled: Callable):
    ran = sampled(
        """
for i in smpy.sample("x", range(9)):
    advance(1)
    assert rank == MPI.COMM_WORLD.Get_rank()
request = MPI.COMM_WORLD.Isend(bytes([rank]), 1 - rank)
got = bytearray(1)
MPI.COMM_WORLD.Recv(got)
request.Wait()
print(rank, got[0])
""",
        2,
    )
    assert sorted(ran.out.splitlines()) == ["0 1", "1 0"]


@pytest.mark.skipif(surface is None, reason="the compiled surface is not built")
def test_calls_are_compiled_again_once_nobody_is_in_a_body(sampled: Callable, monkeypatch: pytest.MonkeyPatch):
    stopped_by, stop = [], SampledClock.stop

    def noted(clock: SampledClock) -> bool:
        stopped_by.append(sys._getframe(1).f_code.co_name)
        return stop(clock)

    monkeypatch.setattr(SampledClock, "stop", noted)
    ran = sampled("""
for i in smpy.sample("x", range(9)):
    advance(1)
smpy.sample("y")(advance)(1)
for i in smpy.sample("z", range(9)):
    break
MPI.COMM_WORLD.Isend(b"1", 0)
""")
    assert ran.error == ""
    assert "Isend" not in stopped_by, stopped_by


def test_a_body_may_print_import_and_ask_what_time_it_is(sampled: Callable):
    ran = sampled(
        """
import time
for i in smpy.sample("x", range(9)):
    began_s = time.perf_counter()
    advance(1)
    print(rank, i, round(time.perf_counter() - began_s, 3), flush=True)
    import slow
    advance(1)
print(rank, round(MPI.Wtime(), 3))
""",
        2,
        files={"slow.py": "from planted_clock import advance\nadvance(100)\n"},
    )
    told = [f"{rank} {line}" for rank in (0, 1) for line in (*(f"{i} 1.0" for i in range(5)), "18.0")]
    assert sorted(ran.out.splitlines()) == sorted(told)
    assert facts(ran)["mean_s"] == pytest.approx(2)


@pytest.mark.parametrize("inner", ["work()", 'list(smpy.sample("inner", [1, 2]))'])
def test_a_sampled_region_in_another_ones_body_is_refused(sampled: Callable, inner: str):
    ran = sampled(f"""
@smpy.sample("inner")
def work():
    advance(1)
for i in smpy.sample("outer", range(9)):
    {inner}
""")
    assert "sample 'inner' is in the body of the sampled 'outer'" in ran.error


def test_a_loop_left_early_takes_the_time_it_took(sampled: Callable):
    ran = sampled("""
for i in smpy.sample("x", range(9)):
    advance(1)
    if i == 2:
        break
MPI.COMM_WORLD.Barrier()
print(MPI.Wtime())
""")
    assert ran.error == ""
    assert float(ran.out) == pytest.approx(3, abs=1e-4)


def test_a_loop_that_was_left_early_is_never_skipped(sampled: Callable):
    ran = sampled("""
for visit in range(9):
    for i in smpy.sample("x", range(9)):
        advance(1)
        if i == 2:
            break
""")
    assert "sample 'x': this loop was left before its end" in ran.error


def test_a_kept_iterator_of_a_loop_left_early_is_told_of(sampled: Callable):
    ran = sampled("""
kept = iter(smpy.sample("x", range(9)))
for i in kept:
    break
MPI.COMM_WORLD.Barrier()
""")
    assert "who leaves one by `break` drops its iterator" in ran.error


def test_ranks_that_take_turns_in_printing_sample_each_for_itself(sampled: Callable):
    """A rank that prints much is switched away from in its body; others are not in it."""
    ran = sampled(
        """
if rank == 0:
    for i in smpy.sample("x", range(9)):
        for line in range(500):
            advance(0.001)
            print(line)
else:
    for i in range(9):
        MPI.COMM_WORLD.Iprobe()
        advance(0.5)
""",
        2,
    )
    assert makespan_s(ran) == pytest.approx(4.5, rel=1e-3)
    assert facts(ran)["mean_s"] == pytest.approx(0.5)


# ---- what is said, and refused ----


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("sample('x', (i for i in 'ab'))", "TypeError: sample 'x': a generator has no length"),
        ("sample('x', [1], scope='node')", "ValueError: sample 'x': scope = 'node'"),
        ("sample('x', [1], half_width=0)", "ValueError: half_width = 0"),
        ("sample('x', [1], least=1)", "ValueError: least = 1"),
        ("sample('x', rule=SmpiRule(0, -1))", "ValueError: iters = 0, thres = -1"),
        ("sample('x', rule=SmpiRule(1, 1, '2'))", "ValueError: version = '2'"),
    ],
)
def test_what_cannot_be_sampled_is_refused(sampled: Callable, call: str, told: str):
    assert told in sampled(f"smpy.{call}\n").error


def test_one_name_for_two_rules_is_refused(sampled: Callable):
    ran = sampled('for s in ("rank", "world"):\n    for i in smpy.sample("x", [1], scope=s):\n        pass\n')
    assert "sample 'x': it was sampled before with scope 'rank'" in ran.error


def test_the_summary_tells_what_was_sampled(sampled: Callable):
    text = sampled(LOOP.format(scope="world"), 3).outcome.summary.render()
    assert re.search(r"sampled +x: 5 of 3,000 runs, mean 10 ms ± \S+ % \(95 %\); 2,995 skipped, whose results", text)


def test_outside_a_simulated_run_all_runs(sampled: Callable):
    items = [1, 2, 3]
    assert smpy.sample("x", items) is items
    assert [smpy.sample("y")(lambda k: 2 * k)(k) for k in range(99)] == [2 * k for k in range(99)]


# ---- rules ----


def half_width(times_s: list[float]) -> float:
    stats = pytest.importorskip("scipy.stats")
    return float(stats.t.ppf(0.975, len(times_s) - 1) * stdev(times_s) / sqrt(len(times_s)) / mean(times_s))


@given(st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=60))
def test_the_interval_is_students(times_s: list[float]):
    found = relative_half_width(len(times_s), sum(times_s), sum(each * each for each in times_s))
    assert found == pytest.approx(half_width(times_s), rel=1e-5, abs=1e-6)


@given(st.floats(0.01, 0.2), st.integers(2, 30), st.lists(st.floats(0.5, 1.5), min_size=2, max_size=60))
def test_a_narrower_bound_never_needs_fewer_runs(half_width: float, least: int, times_s: list[float]):
    def n_needed(rule: ConfidenceInterval | SmpiRule) -> int:
        return next((n for n in range(61) if rule.is_enough(n, *sums(times_s[:n]))), 61)

    assert (
        n_needed(ConfidenceInterval(half_width / 2, least)) >= n_needed(ConfidenceInterval(half_width, least)) >= least
    )
    assert n_needed(SmpiRule(50, half_width / 2)) >= n_needed(SmpiRule(50, half_width))
    assert n_needed(SmpiRule(50, half_width)) <= n_needed(SmpiRule(50, half_width, "4"))


def test_the_mean_is_within_the_bound_almost_as_often_as_the_interval_says():
    draw, rule, n_within = Random(1), ConfidenceInterval(0.05, 5), 0
    for _ in range(2000):
        times_s: list[float] = []
        while not rule.is_enough(len(times_s), *sums(times_s)):
            times_s.append(draw.gauss(1, 0.1))
        n_within += abs(mean(times_s) - 1) <= 0.05
    assert 0.92 < n_within / 2000 < 0.97


def sums(times_s: list[float]) -> tuple[float, float]:
    return sum(times_s), sum(each * each for each in times_s)
