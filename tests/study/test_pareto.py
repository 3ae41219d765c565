"""The front of two columns, against its definition."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smpy.study.pareto import pareto_front

NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.sampled_from([math.nan, math.inf, -math.inf, -0.0]))
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12)
Point = tuple[float, float]


def is_better(one: Point, other: Point) -> bool:
    """Whether one point is as good in both respects, and better in one."""
    return one[0] <= other[0] and one[1] <= other[1] and one != other


def front(points: list[Point]) -> list[bool]:
    return pareto_front([x for x, _ in points], [y for _, y in points]).tolist()


@given(POINTS)
def test_a_point_is_on_the_front_if_it_has_numbers_and_none_is_better(points: list[Point]) -> None:
    expected = [
        not any(map(math.isnan, point)) and not any(is_better(other, point) for other in points) for point in points
    ]
    assert front(points) == expected


@given(POINTS, st.randoms(use_true_random=False))
def test_the_order_of_points_changes_nothing(points: list[Point], draw: object) -> None:
    shuffled = list(range(len(points)))
    draw.shuffle(shuffled)  # type: ignore[attr-defined]
    assert front([points[i] for i in shuffled]) == [front(points)[i] for i in shuffled]


@given(POINTS)
def test_the_front_of_the_front_is_itself_and_falls(points: list[Point]) -> None:
    kept = [point for point, is_on in zip(points, front(points), strict=True) if is_on]
    assert all(front(kept))
    by_x = sorted(set(kept))
    assert [y for _, y in by_x] == sorted({y for _, y in kept}, reverse=True)


@given(POINTS)
def test_both_respects_are_alike(points: list[Point]) -> None:
    assert front([(y, x) for x, y in points]) == front(points)


def test_a_million_points_are_sorted_and_not_compared_in_pairs() -> None:
    x = np.random.default_rng(0).permutation(1_000_000)
    assert pareto_front(x, 1_000_000 - x).all()
    assert pareto_front(x, x).sum() == 1
