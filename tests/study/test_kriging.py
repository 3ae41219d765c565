"""Kriging gives known values back, follows a trend, and knows how far it may be off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.study.kriging import krige

LINE = np.array([0])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_known_points_have_their_values_but_for_their_own_part(seed: int, n: int):
    random = np.random.default_rng(seed)
    at = random.uniform(0, 5, (n, 1))
    values = np.sin(at[:, 0]) + at[:, 0]
    estimates, errors = krige(at, values, at, LINE)
    assert np.abs(estimates - values).max() <= 4 * max(errors.max(), 1e-6)
    assert (errors >= 0).all()


def test_a_trend_goes_on_beyond_the_known_points():
    at = np.array([[0.0], [1.0], [2.0], [3.0]])
    estimates, errors = krige(at, 5 - 2 * at[:, 0], np.array([[10.0], [-10.0]]), LINE)
    assert estimates == pytest.approx([-15, 25])
    assert errors.max() < 1e-6


def test_one_known_point_says_nothing_of_the_error():
    estimates, errors = krige(np.array([[1.0]]), np.array([4.0]), np.array([[2.0]]), LINE)
    assert (estimates[0], errors[0]) == (4.0, np.inf)


def test_points_that_the_trend_goes_through_say_nothing_of_the_error():
    at = np.array([[1.0], [2.0]])
    _, errors = krige(at, np.array([4.0, 5.0]), np.array([[1.5], [3.0]]), LINE)
    assert (errors == np.inf).all()


def test_an_estimate_is_less_sure_far_from_known_points():
    at = np.linspace(0, 3, 7)[:, None]
    _, errors = krige(at, np.sin(3 * at[:, 0]), np.array([[1.25], [8.0]]), LINE)
    assert errors[1] > 3 * errors[0]


def test_four_of_five_smooth_curves_are_within_two_errors():
    """Functions drawn of the model itself: 95 % would be within two errors if its scales were known."""
    random = np.random.default_rng(1)
    whole = np.linspace(0, 6, 60)[:, None]
    distance = np.sqrt(5) * np.abs(whole - whole.T)
    covariance = (1 + distance + distance**2 / 3) * np.exp(-distance) + 1e-9 * np.eye(60)
    n_within = 0
    for _ in range(20):
        values = np.linalg.cholesky(covariance) @ random.standard_normal(60) + 2 * whole[:, 0]
        known = random.permutation(60)[:10]
        estimates, errors = krige(whole[known], values[known], whole, LINE)
        n_within += int((np.abs(estimates - values) <= 2 * errors + 1e-6).sum())
    assert n_within / (20 * 60) > 0.8


def test_words_that_never_ran_are_less_sure_than_those_that_did():
    at = np.array([[x, word, 1.0 - word] for word in (0.0, 1.0) for x in (0.0, 1.0, 2.0, 3.0)])
    values = np.cos(at[:, 0]) + 3 * at[:, 1]
    known = np.array([0, 1, 2, 3, 4])
    _, errors = krige(at[known], values[known], at, np.array([0, 1, 1]))
    assert errors[6] > errors[1]
