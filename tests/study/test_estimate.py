"""Times of points are estimated from those that have ended."""

from __future__ import annotations

from itertools import product

import pytest

from smpy.options import RunConfig
from smpy.study.estimate import seconds_left, seconds_of
from smpy.study.points import Point


def point(number: int, ranks: int, *values: object) -> Point:
    return Point(number, values, 0, RunConfig(ranks, "program"), "", str(number))  # type: ignore[arg-type]


def test_powers_of_ranks_and_sizes_are_found():
    points = [
        point(i, ranks, n) for i, (ranks, n) in enumerate((r, n) for r in (2, 8, 32, 128) for n in (10, 100, 1000))
    ]
    took_s = {it.number: 1e-3 * it.ranks * float(it.values[0]) ** 0.5 for it in points}
    ended = [(it, took_s[it.number]) for it in points[:-2]]
    found = seconds_of(points[-2:], ended)
    assert found is not None
    assert found == pytest.approx([took_s[10], took_s[11]], rel=0.15)
    assert seconds_left(points[-2:], ended, 2) == pytest.approx(max(found.sum() / 2, found.max()))


def test_values_with_units_count_as_numbers_and_labels_have_factors_of_their_own():
    points = [point(i, 4, f"{2**i}us", "slow" if i % 2 else "fast") for i in range(12)]
    took_s = {it.number: 2.0**it.number * (10 if it.values[1] == "slow" else 1) for it in points}
    found = seconds_of(points[10:], [(it, took_s[it.number]) for it in points[:10]])
    assert found is not None
    assert found == pytest.approx([took_s[10], took_s[11]], rel=0.5)


def test_units_count_and_words_of_several_numbers_are_words():
    levels = product(("10Mb/s", "10Gb/s"), ("1,1", "1,4"))
    points = [point(i, 4, *values) for i, values in enumerate(levels)]
    took_s = [1000.0, 500.0, 10.0, 5.0]
    found = seconds_of(points, list(zip(points, took_s, strict=True)))
    assert found is not None
    assert found == pytest.approx(took_s, rel=0.3)


def test_thousands_of_names_cost_no_thousands_of_columns():
    points = [
        point(i, 4, f"machine {'abcdefghij'[i % 10]}{chr(65 + i // 10 % 26)}{chr(65 + i // 260)}") for i in range(5000)
    ]
    found = seconds_of(points[2500:], [(it, 1.0) for it in points[:2500]])
    assert found is not None
    assert found == pytest.approx(1.0)


def test_nothing_is_known_before_anything_has_ended():
    assert seconds_left([point(0, 4)], [], 1) is None
