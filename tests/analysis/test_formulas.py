"""The search for a formula: planted formulas, noise, and what is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from smpy.analysis.formulas import fit_formula, half_width
from smpy.errors import UsageError

pytest.importorskip("scipy")

RANKS = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
Column = NDArray[np.float64]
EXTRAP = shutil.which(os.environ.get("SMPY_EXTRAP", "extrap"))


def grid(sizes: list[float], ranks: list[float]) -> NDArray[np.float64]:
    return np.array([(n, p) for n in sizes for p in ranks])


@pytest.mark.parametrize(
    ("planted", "text"),
    [
        (lambda p: 0 * p + 3, "3"),
        (lambda p: 5 / p, "5 ranks^(-1)"),
        (lambda p: 2 + 3 * np.log2(p), "2 + 3 log2(ranks)"),
        (lambda p: 0.5 + 8 / np.sqrt(p), "0.5 + 8 ranks^(-1/2)"),
        (lambda p: 100 / p + 1e-3 * p**1.5, "100 ranks^(-1) + 0.001 ranks^(3/2)"),
    ],
)
def test_planted_formulas_of_one_axis_are_found(planted: Callable[[Column], Column], text: str):
    p = np.array(RANKS)
    assert fit_formula(["ranks"], p[:, None], planted(p)).formula.text == text


@pytest.mark.parametrize(
    ("planted", "text"),
    [
        (lambda n, p: 3e-9 * n**2 * np.log2(n), "3e-09 n^2 log2(n)"),
        (lambda n, p: 1e-9 * n**2 * (p - 1), "1e-09 n^2 (ranks - 1)"),
        (lambda n, p: 2e-6 * p * np.log2(p), "2e-06 ranks log2(ranks)"),
        (
            lambda n, p: 1e-6 * p * (p - 1) + 1e-8 * n**2 * (1 - 1 / p),
            "1e-06 ranks (ranks - 1) + 1e-08 n^2 (1 - 1/ranks)",
        ),
    ],
)
def test_planted_formulas_of_two_axes_are_found(planted: Callable[[Column, Column], Column], text: str):
    points = grid([32, 100, 256, 1024], [2, 4, 8, 26])
    assert fit_formula(["args.--n", "ranks"], points, planted(*points.T)).formula.text == text


def test_an_uneven_share_of_parts_is_found_though_it_is_zero_where_ranks_divide_them():
    points = grid([30, 100, 250, 1000], [2, 4, 7, 26])
    n, p = points.T
    lost = 1e-6 * n * (p * np.ceil(n / p) / n - 1)
    fit = fit_formula(["n", "ranks"], points, lost, scale=lost + 1e-6 * n)
    assert fit.formula.text == "1e-06 n (ranks ceil(n/ranks)/n - 1)"


def test_coefficients_are_never_negative():
    p = np.array(RANKS)
    formula = fit_formula(["ranks"], p[:, None], 10 - np.log2(p)).formula
    assert formula.constant >= 0
    assert all(coefficient > 0 for coefficient, _ in formula.terms)


def test_noise_of_one_percent_leaves_the_formula_and_the_band_has_the_truth():
    p, far, n_inside = np.array(RANKS), [[512.0]], 0
    for seed in range(10):
        noise = 1 + 0.01 * np.random.default_rng(seed).standard_normal(len(p))
        fit = fit_formula(["ranks"], p[:, None], 3 * np.log2(p) * noise)
        n_inside += abs(fit.formula.at(far)[0] - 27) <= half_width([fit], far)[0]
    assert n_inside >= 9


def test_a_band_of_exact_values_has_no_width_and_that_of_a_sum_is_of_the_sum():
    p = np.array(RANKS)
    fits = [fit_formula(["ranks"], p[:, None], values) for values in (5 / p, 2 + np.log2(p))]
    assert half_width(fits, [[512.0]])[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_of_formulas_within_an_error_of_the_best_the_one_of_fewest_coefficients_is_chosen(seed: int):
    """Terms follow the noise of a constant more closely than the constant."""
    p = np.array(RANKS)
    noise = 1 + 0.01 * np.random.default_rng(seed).standard_normal(len(p))
    fit = fit_formula(["ranks"], p[:, None], 5 * noise)
    assert fit.formula.terms == ()
    assert fit.formula.constant == pytest.approx(5, rel=0.02)


def test_of_equal_formulas_the_one_without_a_logarithm_is_chosen_though_it_grows_faster():
    """On the levels 2 and 4, n is twice its logarithm."""
    points = grid([2, 4], [1, 2, 4, 8])
    n, p = points.T
    assert fit_formula(["n", "ranks"], points, 7 * n / p).formula.text == "7 n ranks^(-1)"


def test_of_equal_formulas_with_a_logarithm_or_a_named_factor_the_slowest_growth_is_chosen():
    """On 1 and 2 ranks, p - 1, log2(p), 1 - 1/p and log2(p)/p are 0 and in proportion."""
    points = grid([100, 200, 400, 800], [1, 2])
    n, p = points.T
    fit = fit_formula(["n", "ranks"], points, 3 * n * (p - 1), scale=n)
    assert fit.formula.text == "6 n ranks^(-1) log2(ranks)"


def test_five_points_have_one_term():
    p = np.array(RANKS[:5])
    assert len(fit_formula(["ranks"], p[:, None], 100 / p + 1e-3 * p**1.5).formula.terms) == 1


@pytest.mark.parametrize(
    ("axes", "points", "values", "message"),
    [
        (["ranks"], [[1], [2], [4]], [1, 2, 3], "there are 3"),
        (["ranks"], [[1], [2], [4], [4]], [1, 2, 3, 3], "there are 3"),
        ([], [[], [], [], []], [1, 2, 3, 4], "axis of numbers"),
        (["ranks"], [[0], [1], [2], [3]], [1, 2, 3, 4], "above 0"),
        (["ranks"], [[1], [2], [3], [4]], [1, 2, 0, 4], "a value is 0"),
        (["ranks"], [[1], [2], [3], [4]], [1, 2, -1, 4], "0 or more"),
        (["ranks"], [[1], [2], [3], [4]], [1, 2, float("nan"), 4], "0 or more"),
        (["args.--n", "ranks"], [[8, 1], [8, 2], [8, 3], [8, 4]], [1, 2, 3, 4], "n is 8 at all points"),
        (["args.--n", "ranks"], [[8, 1], [16, 2], [32, 4], [64, 8]], [1, 2, 3, 4], "n and ranks change together"),
    ],
)
def test_points_that_tell_no_formula_are_refused(
    axes: list[str], points: list[list[float]], values: list[float], message: str
):
    with pytest.raises(UsageError, match=message):
        fit_formula(axes, points, values)


@pytest.mark.slow
@pytest.mark.skipif(EXTRAP is None, reason="needs Extra-P's extrap in PATH, or in SMPY_EXTRAP")
def test_formulas_of_clean_data_are_those_of_extra_p(tmp_path: Path):
    p = np.array(RANKS)
    planted: dict[str, Column] = {
        "linear": 2 + 3 * p, "log": 2 + 3 * np.log2(p), "square": 1 + 0.5 * p**2, "root": 4 + 2 * np.sqrt(p),
        "product": 1 + p * np.log2(p),
    }  # fmt: skip
    measurements: dict[str, Any] = {
        name: {"time": [{"point": [x], "values": [y]} for x, y in zip(p, values, strict=True)]}
        for name, values in planted.items()
    }
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"parameters": ["p"], "measurements": measurements}))
    assert EXTRAP is not None
    printed = subprocess.run([EXTRAP, "--json", path], check=True, capture_output=True, text=True).stdout
    models = re.findall(r"Model: (.*)", printed)
    assert len(models) == len(planted)
    for text, values in zip(models, planted.values(), strict=True):
        code = text.replace("^", "**")
        theirs = eval(code, {"p": 4096.0, "log2": np.log2})  # a formula that Extra-P printed
        ours = fit_formula(["ranks"], p[:, None], values).formula
        assert ours.at([[4096.0]])[0] == pytest.approx(theirs, rel=1e-6)
