"""Time of a loop from windows of measured items, and the plan of its windows."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.compute.clock.loop_plan import LoopPlan
from smpy.compute.clock.loop_time import ItemWindow, loop_time, relative_change

N = 300


def windows(seconds: Callable[[int], float], items: list[int]) -> list[ItemWindow]:
    return [ItemWindow((item,), (seconds(item),)) for item in items]


def drawn(n: int) -> list[int]:
    return [*sorted(random.Random(7).sample(range(1, N - 1), n)), N - 1]


@given(st.floats(1e-6, 1e3), st.lists(st.integers(0, N - 1), min_size=2, max_size=20, unique=True))
def test_alike_items_take_their_time_each(one_s: float, items: list[int]) -> None:
    estimate = loop_time(N, {}, windows(lambda _: one_s, sorted(items)))
    assert estimate.total_s == pytest.approx(N * one_s, rel=1e-12)
    assert estimate.half_width_s <= 1e-9 * estimate.total_s


@pytest.mark.parametrize(
    ("shape", "seconds"),
    [
        ("straight", lambda k: 1.0 if k < 150 else 2.0),
        ("cubic", lambda k: (1 - k / N) ** 3 + 2 * (1 - k / N) + 1),
        ("period 7", lambda k: 1.0 + k % 7),
        ("period 29", lambda k: 1.0 + k % 29),
    ],
)
def test_the_shape_that_predicts_windows_left_out_is_chosen(shape: str, seconds: Callable[[int], float]) -> None:
    estimate = loop_time(N, {}, windows(seconds, [0, *drawn(120)]), periods=[29])
    assert estimate.shape == shape
    assert estimate.total_s == pytest.approx(sum(map(seconds, range(N))), rel=5e-3)


def test_known_items_count_as_they_were_measured() -> None:
    assert loop_time(N, {0: 50.0, 1: 10.0}, windows(lambda _: 1.0, [2, N - 1])).total_s == 60 + N - 2


def test_two_windows_that_differ_have_a_wide_band() -> None:
    estimate = loop_time(N, {}, windows(lambda k: 1.0 + k / N, [0, N - 1]))
    assert estimate.half_width_s > estimate.total_s


def test_the_band_has_the_time_of_noisy_loops_in_nine_of_ten() -> None:
    n_inside, draws = 0, random.Random(5)
    for _ in range(40):
        times_s = [draws.gauss(1.0, 0.05) for _ in range(N)]
        estimate = loop_time(N, {}, windows(times_s.__getitem__, [0, *drawn(30)]))
        n_inside += abs(estimate.total_s - sum(times_s)) <= estimate.half_width_s < 0.05 * N
    assert n_inside >= 36


def test_a_factor_between_two_loops_is_found() -> None:
    known = windows(lambda k: 1.0 + k, [0, 100, 299])
    assert relative_change(known, windows(lambda k: 3.0 + 3 * k, [50, 200]), N) == pytest.approx((3.0, 0.0))
    assert relative_change(known, windows(lambda k: 1.0 + k * k, [50, 200]), N)[1] > 0.1


def performed(seconds: Callable[[int], float], target: float = 0.01, seed: int = 0) -> tuple[LoopPlan, list[range]]:
    """A plan that is carried out, and its windows after the first one."""
    plan, done = LoopPlan(N, target, random.Random(seed)), []
    plan.end_first([seconds(item) for item in range(3)], 1, 1)
    while (items := plan.next_window(0.0)) is not None:
        done.append(items)
        plan.end_window(items, [seconds(item) for item in items])
    return plan, done


def test_a_lead_in_does_not_count() -> None:
    plan = LoopPlan(N, 0.01, random.Random(0))
    plan.end_first([1.0, 1.0, 1.0], 1, 1)
    items = plan.next_window(0.0)
    assert items is not None
    plan.end_window(items, [7.0, 1.0])
    assert plan.next_window(0.0) is None
    assert plan.elapsed_s + plan.added_s == N


def test_a_loop_of_alike_items_has_a_window_at_its_end_only() -> None:
    plan, done = performed(lambda _: 1.0)
    assert (done, plan.n_performed, plan.stop_reason) == ([range(N - 2, N)], 5, "half width reached")
    assert plan.added_s == pytest.approx(N - 5)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_windows_lie_in_gaps_and_the_last_one_is_the_end(seed: int) -> None:
    plan, done = performed(lambda k: 1.0 + (k / N) ** 5, 1e-3, seed)
    assert done[0] == done[-1] == range(N - 2, N)
    measured = [items[-1] for items in done[:-1]]
    assert len(set(measured)) == len(measured)
    assert all(len(items) == 2 and items[0] >= 3 for items in done)
    assert plan.elapsed_s + plan.added_s == pytest.approx(sum(1.0 + (k / N) ** 5 for k in range(N)), rel=1e-3)


def test_positions_of_windows_are_drawn_and_have_no_stride() -> None:
    starts = [tuple(items[0] for items in performed(lambda k: 1.0 + k % 5, seed=seed)[1]) for seed in (0, 0, 1)]
    assert starts[0] == starts[1] != starts[2]


def test_a_loop_whose_ranks_are_far_apart_draws_no_more_windows() -> None:
    plan = LoopPlan(N, 0.01, random.Random(0))
    plan.end_first([1.0, 1.0, 1.0], 1, 1)
    items = plan.next_window(80.0)
    assert items is not None
    plan.end_window(items, [1.0, 2.0])
    assert plan.next_window(80.0) is None
    assert plan.stop_reason == "nothing left to skip"
