"""The ± behind a time holds what it says."""

from __future__ import annotations

from math import isnan, nan, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.errors import UsageError
from smpy.study.table import StudyTable
from smpy.study.uncertainty import Estimate, estimate, estimates
from smpy.units import parse_time_s


@pytest.mark.parametrize("n_runs", [2, 3, 5, 20])
def test_the_next_run_lies_within_95_times_in_a_hundred(n_runs: int):
    runs_s = np.random.default_rng(1).normal(10.0, 1.0, (4000, n_runs + 1))
    found = [estimate(row[:-1].tolist()) for row in runs_s]
    inside = [abs(row[-1] - it.time_s) <= it.half_width_s for row, it in zip(runs_s, found, strict=True)]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.012)  # 3.5 standard deviations of the count


def test_two_runs_have_the_interval_of_the_table_of_students_t():
    it = estimate([1.0, 3.0])  # s = sqrt(2); t = 12.706 with one degree of freedom
    assert (it.time_s, it.half_width_s) == (2.0, pytest.approx(12.706 * sqrt(2) * sqrt(1.5), rel=1e-4))


def test_costs_of_kernels_and_the_spread_of_runs_add_up_as_squares():
    spread_s = estimate([1.0, 1.2, 1.1]).half_width_s
    assert estimate([1.0, 1.2, 1.1], [0.3, nan, 0.5]).half_width_s == pytest.approx(sqrt(spread_s**2 + 0.4**2))


def test_runs_that_do_not_differ_have_the_half_width_of_one():
    assert estimate([2.0, 2.0, 2.0], [0.25, 0.25, 0.25]) == estimate([2.0], [0.25]) == Estimate(2.0, 0.25)


def test_without_anything_known_there_is_no_sign():
    assert isnan(estimate([0.5, 0.5], [nan, nan]).half_width_s)
    assert str(estimate([0.5])) == "500 ms"


@given(st.floats(1e-6, 100), st.floats(1e-4, 0.9))
def test_rounding_is_a_fifth_of_the_uncertainty_at_most(time_s: float, share: float):
    told, _, percent = str(Estimate(time_s, share * time_s)).partition(" ± ")
    assert abs(parse_time_s(told.replace(" ", "")) - time_s) <= max(1.001 * share * time_s / 5, 6e-4 * time_s)
    assert float(percent.removesuffix(" %")) == pytest.approx(100 * share, rel=0.5)


def table(axes: tuple[str, ...], rows: list[tuple[object, ...]]) -> StudyTable:
    columns = [*axes, "error", "makespan_s", "half_width_s", "residual"]
    return StudyTable("a study", pd.DataFrame(rows, columns=columns), axes, ("residual",), Path())


def test_repetitions_of_a_point_are_one_row_and_failures_none():
    rows = [(8, "1us", "", 1.0, nan, 3.0), (8, "1us", "", 3.0, nan, 5.0), (4, "1us", "", 7.0, 0.5, 1.0)]
    found = estimates(table(("ranks", "set.network.latency"), [*rows, (8, "1us", "killed", nan, nan, nan)]))
    assert found[["ranks", "runs", "makespan_s", "residual"]].values.tolist() == [[8, 2, 2.0, 4.0], [4, 1, 7.0, 1.0]]
    assert found["half_width_s"].tolist() == [estimate([1.0, 3.0]).half_width_s, 0.5]


def test_a_study_without_axes_or_without_ends_has_a_row_or_none():
    assert estimates(table((), [("", 1.0, nan, nan)]))["makespan_s"].tolist() == [1.0]
    assert len(estimates(table((), [("killed", nan, nan, nan)]))) == len(estimates(table(("ranks",), []))) == 0


def test_an_estimate_of_no_runs_is_refused():
    with pytest.raises(UsageError, match="one run or more"):
        estimate([])
