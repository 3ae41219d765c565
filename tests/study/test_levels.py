"""The levels of an axis are in the order of what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.study.levels import UNSET, levels_of

VALUES = st.one_of(st.integers(-1000, 1000), st.floats(-1e3, 1e3), st.booleans(), st.text("ab 1", max_size=3))


@given(st.lists(VALUES, min_size=1, max_size=20))
def test_each_point_has_the_level_that_it_took(values: list[Any]):
    levels = levels_of("axis", pd.Series(values, dtype=object))
    assert len(set(levels.labels)) == len(levels.labels)
    for value, code in zip(values, levels.codes, strict=True):
        label = levels.labels[code]
        assert label == str(value).lower() if isinstance(value, (bool, np.bool_)) else True
        if isinstance(value, str):
            assert label == value
        elif not isinstance(value, bool):
            assert float(label) == pytest.approx(value, rel=1e-11, abs=1e-300)


@given(st.lists(st.integers(-1000, 1000), min_size=1))
def test_numbers_rise(values: list[int]):
    assert levels_of("axis", pd.Series(values)).labels == tuple(str(value) for value in sorted(set(values)))


@pytest.mark.parametrize(
    ("values", "numbers", "unit"),
    [
        (["100us", "2us", "30us"], [2, 30, 100], "us"),
        (["1ms", "10us"], [1e-5, 1e-3], "s"),
        (["1Gb/s", "1GB/s"], [0.125e9, 1e9], "B/s"),
        (["64KiB", "1kB"], [1e3, 65536], "B"),
        (["16", "2"], [2, 16], ""),
        ([0.5, 4, 1], [0.5, 1, 4], ""),
    ],
)
def test_quantities_are_compared_as_what_they_say(values: list[Any], numbers: list[float], unit: str):
    levels = levels_of("axis", pd.Series(values, dtype=object))
    assert (levels.numbers, levels.unit) == (tuple(map(pytest.approx, numbers)), unit)


@pytest.mark.parametrize(
    "values", [["torus", "fat-tree"], ["2;16,32", "4"], ["2s", "1GB"], ["x2", "x1"], [True, False]]
)
def test_words_stay_as_they_first_occur(values: list[Any]):
    levels = levels_of("axis", pd.Series(values, dtype=object))
    assert levels.numbers is None
    assert levels.codes.tolist() == [0, 1]


def test_a_value_that_a_point_does_not_have_is_a_level_at_the_end():
    levels = levels_of("axis", pd.Series([None, 4, 1], dtype=object))
    assert levels.labels == ("1", "4", UNSET)
    assert levels.codes.tolist() == [2, 1, 0]
