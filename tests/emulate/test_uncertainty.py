"""The ± on a makespan: what is uncertain along the critical path."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import hypot, pi, sqrt
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from smpy.compute.models.noise import moments
from smpy.platforms import EmpiricalNoise

PLATFORM = "flat hosts=8 cores=1 speed=1Gf"
START = """
import time
from mpi4py import MPI
from smpy.compute.models.kernel_models import charge_kernel
comm, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.rank
def one(n=1):
    for _ in range(n): charge_kernel('one', (1,), flop=1)  # a second each
def other(n=1):
    for _ in range(n): charge_kernel('other', (1,), flop=1)
"""


def kernels(scale: float = 1.0, width: float = 0.01, noise: str = '{kind = "none"}') -> str:
    lines = ['[kernels]\nreference_speed = "1Gf"\n']
    for name, factor in (("one", scale), ("other", 1.0)):
        lines.append(
            f'[kernels.{name}]\nsizes = ["n"]\nseconds = {{"n" = {factor!r}}}\nhalf_widths = {{"n" = {width}}}\n'
            f"noise = {noise}\n"
        )
    return "".join(lines)


@pytest.fixture
def summary_of(emulated: Callable, tmp_path: Path) -> Callable:
    def of(source: str, n_ranks: int = 2, text: str = "", **config: object):
        (tmp_path / "kernels.toml").write_text(text or kernels())
        config = {"platform": PLATFORM, "kernels": tmp_path / "kernels.toml", **config}
        ran = emulated(START + source, n_ranks, **config)
        assert ran.error == ""
        return ran.outcome.summary

    return of


def test_uncertain_times_of_skipped_iterations_are_those_of_the_others_in_proportion(summary_of: Callable) -> None:
    source = """
import smpy
for k in smpy.iterations("x", range(100)):
    one()
    comm.Barrier()
    for i in smpy.iterations("inside", range(50)):
        other()
one()
"""
    text = kernels(noise='{kind = "half-normal", sigma = 0.1}')
    whole, part = (summary_of(source, text=text, iterations=each).uncertainty for each in (None, 0.01))
    assert whole.coefficients_s == pytest.approx(hypot(0.01 * 101, 0.01 * 5000))
    assert whole.noise_sd_s == pytest.approx(0.1 * sqrt((1 - 2 / pi) * 5101))
    assert (part.coefficients_s, part.noise_sd_s) == pytest.approx((whole.coefficients_s, whole.noise_sd_s), rel=1e-3)


def test_uncertain_times_of_one_rank_before_a_loop_are_not_those_of_its_skipped_iterations(
    summary_of: Callable,
) -> None:
    source = "import smpy\none(100 * rank)\nfor k in smpy.iterations('x', range(100)):\n    other()\n    comm.Barrier()"
    whole, part = (summary_of(source, iterations=each).uncertainty for each in (None, 0.01))
    assert whole.coefficients_s == pytest.approx(hypot(1, 1))
    assert part.coefficients_s == pytest.approx(whole.coefficients_s, rel=1e-3)


@pytest.mark.parametrize(
    ("source", "half_width_s"),
    [
        ("one(5)", 0.05),
        ("one(); other(2)", hypot(0.01, 0.02)),
        ("one(1 + 2 * rank)", 0.03),
        ("one()\nif rank: other()\ncomm.Barrier()", hypot(0.01, 0.01)),
        ("(one(), comm.send(0, 1)) if rank == 0 else (comm.recv(), other())", hypot(0.01, 0.01)),
        ("(one(), comm.ssend(bytes(10**6), 1)) if rank == 0 else (comm.recv(), other())", hypot(0.01, 0.01)),
        ("(one(), comm.send(0, 1)) if rank == 0 else (comm.irecv().wait(), other())", hypot(0.01, 0.01)),
        ("(comm.ssend(0, 1), one()) if rank == 0 else (other(3), comm.recv())", hypot(0.03, 0.01)),
        ("one(3) if rank else None\ncomm.allreduce(1)\nother() if not rank else None", hypot(0.03, 0.01)),
        ("time.sleep(3)", 0.0),
        ("(other(), comm.send(0, 1)) if rank == 0 else (one(2), comm.recv())", 0.02),  # it was there before
    ],
)
def test_what_is_uncertain_along_the_critical_path_makes_the_makespan_so(
    summary_of: Callable, source: str, half_width_s: float
) -> None:
    found = summary_of(source).uncertainty
    assert (found.half_width_s if found else 0.0) == pytest.approx(half_width_s, rel=1e-12)


@pytest.mark.parametrize("poll", ["notice", "grow"])
@pytest.mark.parametrize(
    "loop", ["while not comm.Iprobe(source=0): pass", "comm.Probe(source=0)", "while not request.Test(): pass"]
)
def test_a_loop_of_polls_waits_for_what_it_finds(summary_of: Callable, poll: str, loop: str) -> None:
    source = f"""
import numpy as np
if rank == 0:
    one(3)
    comm.Send(np.zeros(1), 1)
else:
    other()
    request = comm.Irecv(np.zeros(1), 0) if "request" in {loop!r} else None
    {loop}
    comm.Recv(np.zeros(1), 0) if request is None else None
    other()
"""
    found = summary_of(source, options=(("smpy/polls", poll),)).uncertainty
    assert found.half_width_s == pytest.approx(hypot(0.03, 0.01), rel=1e-12)


def test_what_came_while_a_rank_computed_between_its_polls_did_not_keep_it(summary_of: Callable) -> None:
    source = "(other(), comm.send(0, 1)) if rank == 0 else (comm.iprobe(), one(2), comm.iprobe(), comm.recv())"
    assert summary_of(source).uncertainty.half_width_s == pytest.approx(0.02, rel=1e-12)


def test_noise_is_of_each_call_and_coefficients_of_all(summary_of: Callable) -> None:
    text = kernels(noise='{kind = "half-normal", sigma = 0.1}')
    found = summary_of("one(16)", text=text).uncertainty
    assert found.coefficients_s == pytest.approx(0.16)
    assert found.noise_mean_s == pytest.approx(16 * 0.1 * sqrt(2 / pi))
    assert found.noise_sd_s == pytest.approx(4 * 0.1 * sqrt(1 - 2 / pi))
    text = kernels(noise='{kind = "empirical", residuals = [-0.1, 0.0, 0.3]}')
    found = summary_of("one(2)", text=text).uncertainty
    mean, variance = moments(EmpiricalNoise((-0.1, 0.0, 0.3)))
    assert (found.noise_mean_s, found.noise_sd_s) == pytest.approx((2 * mean, sqrt(2 * variance)))


def test_coefficients_that_make_up_for_each_other_make_a_makespan_less_uncertain(summary_of: Callable) -> None:
    text = '[kernels]\nreference_speed = "1Gf"\n[kernels.one]\nsizes = ["n"]\nseconds = {"n" = 0.5, "1" = 0.5}\n'
    text += 'half_widths = {"n" = 0.03, "1" = 0.04}\n'
    assert summary_of("one(2)", text=text).uncertainty.half_width_s == pytest.approx(0.1)
    text += "correlations = [[1, -0.96], [-0.96, 1]]\n"
    expected_s = 2 * sqrt(0.03**2 + 0.04**2 - 2 * 0.96 * 0.03 * 0.04)
    assert summary_of("one(2)", text=text).uncertainty.half_width_s == pytest.approx(expected_s)


def test_ranks_on_a_faster_core_are_less_uncertain_in_proportion(summary_of: Callable) -> None:
    found = summary_of("one(2)", platform=PLATFORM.replace("1Gf", "4Gf")).uncertainty
    assert found.half_width_s == pytest.approx(0.005)


def test_many_kernels_share_a_sum_and_are_then_taken_to_be_off_together(summary_of: Callable) -> None:
    names = [f"k{number:02}" for number in range(20)]
    costs = "".join(f'[kernels.{it}]\nsizes=["n"]\nseconds={{"n"=1.0}}\nhalf_widths={{"n"=0.01}}\n' for it in names)
    source = f"for name in {names}: charge_kernel(name, (1,), flop=1)"
    found = summary_of(source, text=f'[kernels]\nreference_speed = "1Gf"\n{costs}').uncertainty
    assert found.half_width_s == pytest.approx(0.01 * sqrt(13 + 7**2))


def test_the_summary_says_how_uncertain_a_makespan_is_unless_a_draw_was_made(summary_of: Callable) -> None:
    text = kernels(noise='{kind = "half-normal", sigma = 0.1}')
    summary = summary_of("one()", text=text)
    assert "1 s simulated, ± 198.4 ms (95 %: costs of kernels)" in summary.render()
    record = json.loads(summary.to_json())
    assert record["makespan_half_width_s"] == pytest.approx(0.1984, abs=1e-4)
    assert record["uncertainty"]["coefficients_s"] == pytest.approx(0.01)
    drawn = summary_of("one()", text=text, noise=True, seed=5)
    assert "s simulated, with noise drawn from seed 5 (--noise)" in drawn.render()
    assert json.loads(drawn.to_json())["makespan_half_width_s"] is None
    assert json.loads(summary_of("").to_json())["makespan_half_width_s"] is None


NOISY = kernels(noise='{kind = "half-normal", sigma = 0.2}')
BARRIERS = "for _ in range(20): one(), comm.Barrier()"


def test_a_first_order_does_not_see_that_ranks_wait_for_the_slowest_of_several_and_says_so(
    summary_of: Callable,
) -> None:
    summary = summary_of(BARRIERS, 8, NOISY)
    drawn = summary_of(BARRIERS, 8, NOISY, noise=True, seed=3)
    assert drawn.makespan_s > summary.makespan_s + summary.uncertainty.half_width_s
    text = "± is of first order, too small where ranks wait for the slowest of several; --noise draws instead"
    assert f"  uncertainty    {text}" in summary.render()
    remarks = {remark["topic"]: remark for remark in json.loads(summary.to_json())["remarks"]}
    assert remarks["uncertainty"] == {"topic": "uncertainty", "n_noisy_ranks": 8}
    assert "first order" not in drawn.render()


@pytest.mark.parametrize(
    ("source", "n_ranks", "text"),
    [
        (BARRIERS, 1, NOISY),
        ("one()", 8, NOISY),  # nobody waits
        (BARRIERS, 8, kernels()),
        (BARRIERS, 8, kernels(noise='{kind = "empirical", residuals = [0.1]}')),  # same noise of each call
        ("one() if rank == 1 else None\ncomm.Barrier()", 8, NOISY),
    ],
)
def test_a_first_order_that_holds_has_no_remark(summary_of: Callable, source: str, n_ranks: int, text: str) -> None:
    assert "first order" not in summary_of(source, n_ranks, text).render()


STEPS = st.one_of(
    st.tuples(st.just("one"), st.integers(0, 3), st.integers(1, 9)),
    st.tuples(st.just("sleep"), st.integers(0, 3), st.integers(1, 90)),
    st.tuples(st.sampled_from(["send", "ssend", "isend", "irecv"]), st.integers(0, 3), st.integers(1, 3)),
    st.tuples(st.sampled_from(["barrier", "bcast", "allreduce", "ibarrier"]), st.integers(0, 3), st.just(0)),
)
PERFORM = """
for what, first, second in {steps}:
    partner = (first + second) % 4
    if what in ("send", "ssend", "isend", "irecv"):
        if rank == first:
            comm.ssend(1, partner) if what == "ssend" else comm.isend(1, partner).wait()
        elif rank == partner:
            comm.irecv(source=first).wait() if what == "irecv" else comm.recv(source=first)
    elif what == "barrier": comm.Barrier()
    elif what == "bcast": comm.bcast(1, root=first)
    elif what == "allreduce": comm.allreduce(1)
    elif what == "ibarrier": comm.Ibarrier().Wait()
    elif rank == first: one(second) if what == "one" else time.sleep(0.137 * second)
"""


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=25))
def test_the_path_is_the_derivative_of_the_makespan(summary_of: Callable, steps: list[tuple[str, int, int]]) -> None:
    source, more = PERFORM.format(steps=steps), 1e-7
    plain, slower = (summary_of(source, 4, kernels(scale=scale, width=1.0)) for scale in (1.0, 1 + more))
    derivative_s = (slower.makespan_s - plain.makespan_s) / more
    assert (plain.uncertainty.half_width_s if plain.uncertainty else 0.0) == pytest.approx(derivative_s, abs=1e-3)


# ---- more of what programs do ----

PAIRS = st.tuples(st.integers(0, 3), st.integers(1, 3))
MORE_STEPS = st.one_of(
    st.tuples(st.just("one"), st.integers(0, 3), st.integers(1, 9)),
    st.tuples(st.just("sleep"), st.integers(0, 3), st.integers(1, 90)),
    st.tuples(
        st.sampled_from(["any source", "waitany", "started", "probe", "folded", "large folded", "sequence", "matched"]),
        st.integers(0, 3),
        st.integers(1, 3),
    ),
    st.tuples(
        st.sampled_from(["gather", "scatter", "alltoall", "scan", "reduce", "iallreduce", "ibcast", "folded bcast"]),
        st.integers(0, 3),
        st.integers(1, 3),
    ),
)
PERFORM_MORE = """
import numpy as np
import smpy
ring = smpy.experimental.MessageProgram()
ring.Irecv(1, (rank - 1) % 4)
ring.Send(0, (rank + 1) % 4)
for tag, (what, first, second) in enumerate({steps}):
    partner, third = (first + second) % 4, (first - second) % 4 if second != 2 else (first + 1) % 4
    n = 300_000 if what == "large folded" else 10
    if what in ("any source", "waitany"):
        if rank in (partner, third):
            comm.send(rank, first, tag)
        elif rank == first and what == "any source":
            comm.recv(tag=tag), comm.recv(tag=tag)
        elif rank == first:
            requests = [comm.irecv(source=partner, tag=tag), comm.irecv(source=third, tag=tag)]
            MPI.Request.Waitany(requests)
            one()
            MPI.Request.Waitall(requests)
    elif what in ("started", "probe", "matched", "folded", "large folded"):
        if rank == first:
            sent = comm.Isend(smpy.folded(n) if "folded" in what else np.zeros(n), partner)
            one() if what == "started" else None
            sent.Wait()
        elif rank == partner:
            room = smpy.folded(n) if "folded" in what else np.zeros(n)
            if what == "started":
                request = comm.Irecv(room, first)
                one(second)
                request.Wait()
            elif what == "matched":
                comm.Mprobe(first).Recv(room)
            else:
                comm.Probe(first) if what == "probe" else None
                comm.Recv(room, first)
    elif what == "sequence": ring.perform(comm, smpy.folded(100), smpy.folded(100))
    elif what == "folded bcast": comm.Bcast(smpy.folded(100_000), first)
    elif what in ("gather", "reduce"): getattr(comm, what)(1, root=first)
    elif what == "scatter": comm.scatter([1] * 4, root=first)
    elif what == "alltoall": comm.alltoall([1] * 4)
    elif what == "scan": comm.scan(1)
    elif what in ("iallreduce", "ibcast"):
        request = comm.Ibcast(np.zeros(3), first) if what == "ibcast" else comm.Iallreduce(np.ones(3), np.zeros(3))
        one(second) if rank == first else None
        request.Wait()
    elif rank == first: one(second) if what == "one" else time.sleep(0.137 * second)
"""


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example([("one", 0, 1), ("one", 1, 1), ("one", 1, 4), ("started", 2, 1), ("probe", 1, 1)])
@given(st.lists(MORE_STEPS, min_size=5, max_size=25))
def test_the_path_is_the_derivative_whatever_programs_do(
    summary_of: Callable, steps: list[tuple[str, int, int]]
) -> None:
    source, more = PERFORM_MORE.format(steps=steps), 1e-5
    plain, slower = (summary_of(source, 4, kernels(scale=scale, width=1.0)) for scale in (1.0, 1 + more))
    derivative_s = (slower.makespan_s - plain.makespan_s) / more
    found_s = plain.uncertainty.half_width_s if plain.uncertainty else 0.0
    n_probes = sum(what == "probe" for what, _, _ in steps)  # each may be a poll of 1 us sooner or later
    assert found_s == pytest.approx(derivative_s, rel=1e-6, abs=1e-6 + n_probes * 1e-6 / more)


POLLS = st.one_of(
    st.tuples(st.just("one"), st.integers(0, 3), st.integers(1, 9)),
    st.tuples(
        st.sampled_from(["iprobe", "test", "testany", "until", "ibarrier"]), st.integers(0, 3), st.integers(1, 3)
    ),
)
PERFORM_POLLS = """
import numpy as np
import smpy
for what, first, second in {steps}:
    partner = (first + second) % 4
    if what == "one":
        one(second) if rank == first else None
    elif what == "ibarrier":
        request = comm.Ibarrier()
        while not request.Test(): pass
    elif rank == first:
        comm.Send(np.zeros(1), partner)
    elif rank == partner:
        if what in ("test", "testany"):
            request = comm.Irecv(np.zeros(1), first)
            while not (request.Test() if what == "test" else MPI.Request.Testany([request])[1]): pass
        else:
            if what == "until": smpy.experimental.poll_until(comm.Iprobe, first)
            while not comm.Iprobe(first): pass
            comm.Recv(np.zeros(1), first)
"""


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example([*[("one", 0, 1)] * 6, ("one", 1, 7), ("ibarrier", 0, 1), ("one", 0, 1)], "grow")
@given(st.lists(POLLS, min_size=5, max_size=20), st.sampled_from(["notice", "grow"]))
def test_the_path_is_the_derivative_but_for_the_length_of_polls(
    summary_of: Callable, steps: list[tuple[str, int, int]], polls: str
) -> None:
    source, more = PERFORM_POLLS.format(steps=steps), 0.05
    options = (("smpy/polls", polls),)
    plain, slower = (
        summary_of(source, 4, kernels(scale=scale, width=1.0), options=options) for scale in (1.0, 1 + more)
    )
    derivative_s = (slower.makespan_s - plain.makespan_s) / more
    found_s = plain.uncertainty.half_width_s if plain.uncertainty else 0.0
    assert found_s == pytest.approx(derivative_s, abs=0.3)
