"""Axes hold the values that a study's file says, and combine as it says."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.errors import UsageError
from smpy.study.axes import Axis, combinations, read_axis


def axis(name: str, given: Any, *, is_drawn: bool = False) -> Axis:
    return read_axis(name, given, is_drawn=is_drawn)


@given(st.integers(1, 50), st.integers(0, 1000), st.integers(1, 60))
def test_a_range_by_steps_has_every_step_up_to_its_end(first: int, length: int, step: int):
    values = axis("ranks", {"from": first, "to": first + length, "step": step}).values
    assert list(values) == list(range(first, first + length + 1, step))


@given(st.integers(1, 100), st.floats(1.0, 1e6), st.integers(2, 9))
def test_a_range_by_factors_goes_up_by_them_and_ends_with_its_end(first: int, last: float, times: int):
    values = axis("args.n", {"from": first, "to": first * last, "times": times}).values
    assert values[0] == first
    assert values[-1] == pytest.approx(first * last)
    ratios = [b / a for a, b in pairwise(values)]
    assert all(ratio == pytest.approx(times) for ratio in ratios[:-1])
    assert all(1 < ratio <= times * (1 + 1e-9) for ratio in ratios[-1:])


def test_a_range_of_quantities_keeps_their_unit():
    assert list(axis("set.nic.bandwidth", {"from": "1Gb/s", "to": "100Gb/s", "times": 10}).values) == [
        "1Gb/s",
        "10Gb/s",
        "100Gb/s",
    ]


def test_a_range_of_a_count_is_even_in_its_scale():
    linear = axis("x", {"from": 0, "to": 9, "count": 4}).values
    logarithmic = axis("x", {"from": 1.0, "to": 1000.0, "count": 4, "scale": "log"}).values
    assert list(linear) == [0, 3, 6, 9]
    assert list(logarithmic) == pytest.approx([1, 10, 100, 1000])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "no values"),
        ([1, 2, 1], "a value twice"),
        ([1, [2]], "neither a number"),
        ([math.nan], "no value"),
        ("4", "say a list of values"),
        ({}, "no values"),
        ({"from": 1}, "up to where"),
        ({"from": 4, "to": 1, "step": 1}, "no linear range"),
        ({"from": 0, "to": 8, "times": 2}, "no log range"),
        ({"from": 1, "to": 8}, "one of `step`, `times` and `count`"),
        ({"from": 1, "to": 8, "times": 1}, "never reached"),
        ({"from": 1, "to": 8, "step": 0}, "never reached"),
        ({"from": 1, "to": 8, "count": 1}, "two values or more"),
        ({"from": "1Gb/s", "to": "1GB/s", "times": 2}, "different units"),
        ({"from": 1, "to": 8, "tims": 2}, "did you mean 'times'"),
        ({"a label": 4}, "not a table of settings"),
    ],
)
def test_what_is_no_axis_is_refused_with_its_name(given: Any, told: str):
    with pytest.raises(UsageError, match="my axis") as error:
        axis("my axis", given)
    assert told in str(error.value)


def test_a_grid_has_each_combination_once_and_its_first_axis_changes_last():
    axes = [axis("a", [1, 2]), axis("b", ["x", "y", "z"])]
    assert [point.values for point in combinations(axes, "grid")] == [
        (1, "x"), (1, "y"), (1, "z"), (2, "x"), (2, "y"), (2, "z"),
    ]  # fmt: skip


def test_axes_side_by_side_must_be_equally_long():
    assert [point.values for point in combinations([axis("a", [1, 2]), axis("b", [3, 4])], "zip")] == [(1, 3), (2, 4)]
    with pytest.raises(UsageError, match="a 2, b 3"):
        combinations([axis("a", [1, 2]), axis("b", [3, 4, 5])], "zip")


@given(st.integers(1, 40), st.integers(0, 5))
def test_a_latin_hypercube_has_one_point_in_each_stratum_of_each_axis(n: int, seed: int):
    axes = [axis(name, {"from": 0.0, "to": 1.0}, is_drawn=True) for name in "ab"]
    points = combinations(axes, "latin-hypercube", n, seed)
    for column in zip(*(point.values for point in points), strict=True):
        assert sorted(int(float(value) * n) for value in column) == list(range(n))


@given(st.integers(1, 40), st.integers(0, 5))
def test_points_are_drawn_again_alike_and_within_their_ranges(n: int, seed: int):
    axes = [
        axis("a", {"from": 1, "to": 6}, is_drawn=True),
        axis("b", {"from": "1us", "to": "1000us", "scale": "log"}, is_drawn=True),
        axis("c", ["x", "y"], is_drawn=True),
    ]
    points = combinations(axes, "random", n, seed)
    assert points == combinations(axes, "random", n, seed)
    for a, b, c in (point.values for point in points):
        assert isinstance(a, int)
        assert 1 <= a <= 6
        assert isinstance(b, str)
        assert 1 <= float(b.removesuffix("us")) <= 1000
        assert c in ("x", "y")


def test_a_label_sets_what_its_table_says():
    (both,) = combinations([axis("machine", {"fast": {"set": {"nic": {"latency": "1us"}}, "ranks": 4}})], "grid")
    assert both.values == ("fast",)
    assert both.settings == {"set.nic.latency": "1us", "ranks": 4}


def test_two_axes_may_not_set_the_same():
    with pytest.raises(UsageError, match="two axes set ranks"):
        combinations([axis("ranks", [1]), axis("machine", {"fast": {"ranks": 4}})], "grid")


def test_too_many_combinations_are_refused_before_they_are_made():
    with pytest.raises(UsageError, match="1,000,000,000,000 combinations"):
        combinations([axis(name, {"from": 1, "to": 10_000, "step": 1}) for name in "abc"], "grid")
