"""Fits of times: planted costs come back, and the study's published figures."""

import csv
from collections.abc import Sequence
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.calibrate.regression import fit, screen
from smpy.calibrate.terms import evaluate
from smpy.errors import UsageError

STUDY = Path(__file__).parents[2] / "calibration" / "study-2017"
PLANTED = {"m*n*k": 4.9e-11, "m*n": 1.1e-10, "1": 1.3e-6}


def _study(kernel: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    with (STUDY / f"{kernel}.csv").open() as file:
        rows = list(csv.DictReader(file))
    return (
        {name: np.array([float(row[name]) for row in rows]) for name in ("m", "n", "k") if name in rows[0]},
        np.array([float(row["time"]) for row in rows]),
    )


def _sizes(rng: np.random.Generator, names: str, n_sizes: int, largest: float = 2000) -> dict[str, np.ndarray]:
    return {name: np.exp(rng.uniform(0, np.log(largest), n_sizes)).round() for name in names}


def monomials(names: Sequence[str], degree: int) -> list[str]:
    """All products of at most `degree` sizes, the largest degree first, `1` last."""
    return [
        "*".join(name if (n := factors.count(name)) == 1 else f"{name}^{n}" for name in dict.fromkeys(factors)) or "1"
        for size in range(degree, -1, -1)
        for factors in combinations_with_replacement(names, size)
    ]


def _time_s(sizes: dict[str, np.ndarray], seconds: dict[str, float]) -> np.ndarray:
    return np.sum([value * evaluate(term, sizes) for term, value in seconds.items()], axis=0)


# ---- the study ----


@pytest.mark.parametrize(
    ("kernel", "term", "slope_s", "r_squared"),
    [("dgemm", "m*n*k", "1.65820e-10", "0.99972"), ("dtrsm", "m*n^2", "8.62497e-11", "0.99939")],
)
def test_least_squares_with_an_intercept_gives_the_studys_slope_and_r_squared(kernel, term, slope_s, r_squared):
    found = fit(*_study(kernel), [term, "1"], "none")
    assert (f"{found.seconds[term]:.5e}", f"{found.r_squared:.5f}") == (slope_s, r_squared)


@pytest.mark.parametrize(("kernel", "term"), [("dgemm", "m*n*k"), ("dtrsm", "m*n^2")])
def test_screening_a_cubic_polynomial_by_unweighted_squares_keeps_the_studys_one_term(kernel, term):
    sizes, time_s = _study(kernel)
    assert list(screen(sizes, time_s, monomials(list(sizes), 3), weighting="none").seconds) == [term]


def test_weighted_squares_describe_the_studys_small_sizes_that_unweighted_ones_miss():
    sizes, time_s = _study("dgemm")
    divisors = ["m*n*k", "m*n", "m*k", "n*k", "m", "n", "k", "1"]
    worst = {
        way: np.abs(screen(sizes, time_s, divisors, weighting=way).relative_residuals).max()
        for way in ("relative", "none")
    }
    assert worst["relative"] < 0.25 < 3 < worst["none"]


# ---- planted costs ----


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_without_noise_the_planted_cost_comes_back(seed):
    sizes = _sizes(np.random.default_rng(seed), "mnk", 40)
    found = screen(sizes, _time_s(sizes, PLANTED), monomials(["m", "n", "k"], 3), leading=["m*n*k"])
    at = _sizes(np.random.default_rng(seed + 1), "mnk", 40)
    assert found.predict_s(at) == pytest.approx(_time_s(at, PLANTED), rel=1e-6)


@pytest.mark.parametrize("noise", [0.03, 0.2])
def test_intervals_hold_the_planted_coefficients_as_often_as_they_say(noise):
    n_runs = 200
    n_held = dict.fromkeys(PLANTED, 0)
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        sizes = _sizes(rng, "mnk", 30)
        factors = np.exp(noise * rng.standard_normal(30))
        found = fit(sizes, _time_s(sizes, PLANTED) * factors, list(PLANTED))
        for term, value in PLANTED.items():
            n_held[term] += abs(found.seconds[term] - value) <= found.half_widths_s[term]
    shares = np.array(list(n_held.values())) / n_runs
    assert 0.93 <= shares.mean() <= 0.97, shares


@pytest.mark.parametrize("noise", [0.03, 0.2])
def test_the_interval_of_a_predicted_time_holds_it_as_often_as_it_says(noise):
    """Use coefficients that are far from independent: n and n log2(n)."""
    planted, at = {"n*log2(n)": 1e-10, "n": 1e-9}, {"n": np.array([1e4, 1e6])}
    n_runs, n_held = 300, np.zeros(2)
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        sizes = {"n": np.geomspace(1e3, 1e7, 30)}
        found = fit(sizes, _time_s(sizes, planted) * np.exp(noise * rng.standard_normal(30)), list(planted))
        parts_s = np.stack([width * evaluate(term, at) for term, width in found.half_widths_s.items()], axis=1)
        half_widths_s = np.sqrt(((parts_s @ found.correlations) * parts_s).sum(axis=1))
        n_held += np.abs(found.predict_s(at) - _time_s(at, planted)) <= half_widths_s
    assert ((n_held / n_runs > 0.92) & (n_held / n_runs < 0.98)).all(), n_held / n_runs


def test_intervals_of_terms_that_screening_chose_hold_them_nearly_as_often():
    """Nearly: where another term stands in place of a planted one, or beside it, coefficients share what is one's."""
    held = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sizes = _sizes(rng, "mnk", 40)
        time_s = _time_s(sizes, PLANTED) * np.exp(0.03 * rng.standard_normal(40))
        found = screen(sizes, time_s, ["m*n*k", "m*n", "m*k", "n*k", "m", "n", "k", "1"], leading=["m*n*k"])
        held += [
            abs(found.seconds.get(term, 0.0) - value) <= found.half_widths_s.get(term, 0.0)
            for term, value in PLANTED.items()
        ]
    assert 0.91 <= np.mean(held) <= 0.98


def test_screening_finds_the_planted_terms_and_seldom_others():
    n_runs, n_right = 40, 0
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        sizes = _sizes(rng, "mnk", 40)
        time_s = _time_s(sizes, PLANTED) * (1 + 0.01 * rng.standard_normal(40))
        n_right += set(screen(sizes, time_s, monomials(["m", "n", "k"], 3)).seconds) == set(PLANTED)
    assert n_right / n_runs > 0.85


def test_an_intercept_is_kept_only_where_it_matters():
    rng = np.random.default_rng(0)
    sizes = _sizes(rng, "n", 30, 1e6)
    noise = 1 + 0.01 * rng.standard_normal(30)
    assert list(screen(sizes, (1e-9 * sizes["n"] + 1e-6) * noise, ["n", "1"]).seconds) == ["n", "1"]
    assert list(screen(sizes, 1e-9 * sizes["n"] * noise, ["n", "1"]).seconds) == ["n"]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.5))
def test_a_predicted_time_is_never_negative(seed, noise):
    """Even of times without a trend, and where a negative coefficient is allowed."""
    rng = np.random.default_rng(seed)
    sizes = _sizes(rng, "mn", 24)
    time_s = (
        np.exp(noise * rng.standard_normal(24))
        * [np.full(24, 1e-6), 1e-9 * sizes["m"], 1e-9 / sizes["m"]][rng.integers(3)]
    )
    at = _sizes(rng, "mn", 500)
    found = screen(sizes, time_s, monomials(["m", "n"], 3), leading=["m*n"], signed=["n^3", "m"], positive_at=at)
    assert found.predict_s(at).min() >= 0
    assert found.predict_s(sizes).min() > 0


def test_an_intercept_stays_for_the_one_small_size_that_it_decides():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = np.append(3, np.exp(rng.uniform(7, 15, 40)).round())
        noise = rng.lognormal(0, 0.7, len(n))
        found = screen({"n": n}, (1e-9 * n * np.log2(n) + 6e-6) * noise, ["n*log2(n)", "n", "1"], leading=["n*log2(n)"])
        assert np.abs(np.log(found.relative_residuals + 1)).max() < np.log(20)


def test_a_negative_coefficient_is_found_where_it_is_allowed():
    rng = np.random.default_rng(3)
    n = _sizes(rng, "n", 40)["n"]
    sizes = {"m": n * np.exp(rng.uniform(0, 3, 40)), "n": n}  # m >= n
    planted = {"m*n^2": 1e-10, "n^3": -1e-10 / 3, "1": 1e-6}
    found = screen(
        sizes,
        _time_s(sizes, planted) * (1 + 0.002 * rng.standard_normal(40)),
        ["m*n^2", "n^3", "m*n", "n^2", "1"],
        leading=["m*n^2"],
        signed=["n^3"],
        positive_at=sizes,
    )
    assert found.seconds["n^3"] == pytest.approx(planted["n^3"], rel=0.05)


def test_a_term_that_explains_errors_of_rounding_is_left_out(monkeypatch):
    """Some versions of scipy return coefficients of 1e-16 in place of 0."""
    from scipy import optimize

    exact = optimize.nnls

    def rounded(columns, target):
        terms, residual = exact(columns, target)
        return terms + 1e-16, residual

    monkeypatch.setattr(optimize, "nnls", rounded)
    for seed in range(20):
        sizes = _sizes(np.random.default_rng(seed), "mn", 40)
        terms = screen(sizes, _time_s(sizes, {"m*n^2": 1e-10}), monomials(["m", "n"], 3), leading=["m*n^2"])
        assert terms.seconds == pytest.approx({"m*n^2": 1e-10})


# ---- figures ----


def test_the_breusch_pagan_test_tells_a_spread_that_grows_from_one_that_does_not():
    p: dict[str, list[float]] = {"none": [], "relative": []}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        sizes = {"n": rng.uniform(1, 1000, 100)}
        time_s = (1e-6 + 1e-8 * sizes["n"]) * (1 + 0.05 * rng.standard_normal(100))
        for weighting, found in p.items():
            found.append(fit(sizes, time_s, ["n", "1"], weighting).breusch_pagan_p)
    assert np.median(p["none"]) < 1e-3
    assert np.median(p["relative"]) > 0.2


def test_p_values_of_the_breusch_pagan_test_are_uniform_where_the_spread_is_even():
    p = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        sizes = {"n": rng.uniform(1, 1000, 100)}
        p.append(
            fit(sizes, 1e-3 + 1e-6 * sizes["n"] + 1e-5 * rng.standard_normal(100), ["n", "1"], "none").breusch_pagan_p
        )
    assert np.mean(np.array(p) < 0.1) == pytest.approx(0.1, abs=0.06)


# ---- what cannot be fitted ----


def test_too_few_sizes_are_refused():
    with pytest.raises(UsageError, match="3 sizes are too few to fit 2 terms"):
        fit({"n": [1, 2, 3]}, [1, 2, 3], ["n", "1"])


def test_sizes_that_do_not_vary_are_refused():
    with pytest.raises(UsageError, match="cannot be told apart"):
        fit({"n": [5] * 6}, [1, 2, 1, 2, 1, 2], ["n", "1"])


def test_a_time_of_zero_is_refused():
    with pytest.raises(UsageError, match="not positive"):
        fit({"n": [1, 2, 3, 4]}, [0, 1, 2, 3], ["n", "1"])


@pytest.mark.parametrize(("term", "message"), [("m*j", "a size 'j' that is none of m, n"), ("m**n", "a factor ''")])
def test_a_term_that_is_none_is_refused(term, message):
    with pytest.raises(UsageError, match=message):
        evaluate(term, {"m": [1.0], "n": [2.0]})
