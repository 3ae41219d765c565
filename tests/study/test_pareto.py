"""The front of two columns, against its definition."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.errors import UsageError
from smpy.study.pareto import pareto_front, pareto_of
from smpy.study.table import Table

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


# ---- of a study ----


def table(**columns: list[object]) -> Table:
    pd = pytest.importorskip("pandas")
    n_points = len(next(iter(columns.values())))
    frame = pd.DataFrame({"point": range(n_points), "error": [""] * n_points, **columns})
    return Table("it", frame, (), (), Path())


def test_the_front_of_a_study_has_its_rows_by_rising_price() -> None:
    found = pareto_of(table(price_eur=[30.0, 10.0, 20.0, 20.0, math.nan], makespan_s=[1.0, 9.0, 5.0, 6.0, 0.1]))
    assert found["point"].tolist() == [1, 2, 0]
    found = pareto_of(table(gflops=[3, 1], ranks=[4, 2]), "ranks", "gflops")
    assert found["point"].tolist() == [1]


def test_a_point_that_failed_is_on_no_front() -> None:
    found = pareto_of(table(price_eur=[1.0, 2.0], makespan_s=[1.0, 2.0], error=["too long", ""]))
    assert found["point"].tolist() == [1]


def test_a_front_needs_two_columns_of_numbers() -> None:
    study = table(price_eur=[1.0], makespan_s=[2.0], topology=["torus"])
    with pytest.raises(UsageError, match="the table of it has no column 'price': did you mean 'price_eur'"):
        pareto_of(study, "price")
    with pytest.raises(UsageError, match="column 'topology' of it has no numbers"):
        pareto_of(study, "price_eur", "topology")
