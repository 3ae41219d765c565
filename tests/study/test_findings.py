"""Sentences about a study agree with its numbers."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as drawn
from hypothesis import strategies as st

from smpy.study.findings import Finding, effects, findings, settings
from smpy.study.table import StudyTable
from smpy.units import format_time
from tests.study.tables import table_of

SECONDS = st.one_of(st.sampled_from([1.0, 2.0]), st.floats(1e-6, 1e3))
EUROS = st.one_of(st.sampled_from([float("nan"), 5, 7]), st.integers(1, 10**6))


def told(table: StudyTable) -> str:
    return "\n".join(finding.text for finding in findings(table))


@st.composite
def tables(draw: st.DrawFn) -> StudyTable:
    """Table of two axes and a few repetitions; some points failed, some have no price."""
    n_ranks, n_words, n_repetitions = (draw(st.integers(1, 3)) for _ in range(3))

    def point(*_: Any) -> dict[str, Any]:
        if draw(st.integers(0, 5)) == 0:
            return {"error": "it failed", "makespan_s": draw(SECONDS)}  # until then
        return {"makespan_s": draw(SECONDS), "price_eur": draw(EUROS)}

    axes = {"ranks": [4**k for k in range(n_ranks)], "topology": ["torus", "tree", "ring"][:n_words]}
    return table_of(Path(), axes, point, n_repetitions=n_repetitions)


def numbers_by(table: StudyTable, *axes: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table.frame.to_dict("records"):
        if not row["error"]:
            rows.setdefault(tuple(row[axis] for axis in axes), []).append(row)
    return rows


@drawn(max_examples=30)
@given(tables())
def test_effects_are_the_ratios_of_the_extreme_medians(table: StudyTable):
    found = {effect.axis: effect for effect in effects(table)}
    for axis in table.axes:
        medians_s = {
            str(level): median(row["makespan_s"] for row in rows) for (level,), rows in numbers_by(table, axis).items()
        }
        assert (axis in found) == (len(medians_s) > 1)
        if axis in found:
            effect = found[axis]
            assert effect.best_s == medians_s[effect.best] == min(medians_s.values())
            assert effect.worst_s == medians_s[effect.worst] == max(medians_s.values())
            assert effect.ratio == max(medians_s.values()) / min(medians_s.values())
    assert [effect.ratio for effect in effects(table)] == sorted((it.ratio for it in found.values()), reverse=True)


@drawn(max_examples=30)
@given(tables())
def test_the_fastest_and_the_slowest_are_those_of_the_numbers(table: StudyTable):
    medians_s = [median(row["makespan_s"] for row in rows) for rows in numbers_by(table, *table.axes).values()]
    found = findings(table)
    for word, extreme in (("fastest", min), ("slowest", max)):
        said = [it for it in found if it.text.startswith(f"The {word} takes")]
        assert len(said) == (len(medians_s) > 1 and max(medians_s) / min(medians_s) >= 1.0005)
        for finding in said:
            assert finding.text.startswith(f"The {word} takes {format_time(extreme(medians_s))}")
            row = table.frame[table.frame["point"] == finding.point].iloc[0]
            assert f"with ranks = {row['ranks']}, topology = {row['topology']}" in finding.text
            its = numbers_by(table, *table.axes)[row["ranks"], row["topology"]]
            assert median(it["makespan_s"] for it in its) == extreme(medians_s)


def euros(price_eur: float) -> str:
    return f"{price_eur:,.0f}" if price_eur >= 100 else f"{price_eur:.4g}"


def is_better(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]


@drawn(max_examples=30)
@given(tables())
def test_those_on_the_front_are_those_that_none_beats(table: StudyTable):
    priced = [(it.price_eur, it.makespan_s, it.point) for it in settings(table) if it.price_eur == it.price_eur]
    best = sorted(it for it in priced if not any(is_better(other[:2], it[:2]) for other in priced))
    text, points = told(table), {it.text: it.point for it in findings(table)}
    if len({price_eur for price_eur, _, _ in priced}) < 2:
        assert "price" not in text
    elif len({it[:2] for it in best}) == 1:
        price = f"{euros(best[0][0])} EUR"
        assert f"Of {len(priced)} with a price, one is both the cheapest and the fastest: {price}" in text
    else:
        said = re.search(
            r"Of (\d+) with a price, (\d+) are on the Pareto front.*?costs ([\d,.]+) EUR and takes (.*?)(?: \(|,)", text
        )
        assert said is not None
        assert said.groups() == (str(len(priced)), str(len(best)), euros(best[0][0]), format_time(best[0][1]))
        its = [point for sentence, point in points.items() if "of these costs" in sentence]
        assert [(it[0], it[1]) for point in its for it in priced if it[2] == point] == [best[0][:2], best[-1][:2]]


def test_a_makespan_that_is_a_product_has_the_factors_as_effects(tmp_path: Path):
    table = table_of(
        tmp_path,
        {"ranks": [1, 2, 4], "network.latency": ["1us", "10us"]},
        lambda ranks, latency, _: {"makespan_s": 8 / ranks * (3.0 if latency == "10us" else 2.0)},
    )
    assert {(it.axis, it.best, it.worst, it.ratio) for it in effects(table)} == {
        ("ranks", "4", "1", 4.0),
        ("network.latency", "1us", "10us", 1.5),
    }
    assert [it.text for it in findings(table)] == [
        "All 6 points have run.",
        "The fastest takes 4 s, with ranks = 4, network.latency = 1us.",
        "The slowest takes 24 s, with ranks = 1, network.latency = 10us: 6 times as long.",
        "ranks: 1 against 4 takes 4 times as long, in each of 2 pairs that differ in nothing else.",
        "network.latency: 10us against 1us takes 50 % longer, in each of 3 pairs that differ in nothing else.",
    ]
    assert [it.point for it in findings(table)][:3] == [None, 4, 1]


def test_an_axis_of_drawn_values_is_told_by_quarters(tmp_path: Path):
    n = 40
    table = table_of(tmp_path, {"latency": range(n), "bandwidth": [0]}, lambda at, _b, _r: {"makespan_s": 1.0 + at})
    table.frame["bandwidth"] = [(7 * at) % n for at in range(n)]
    effect = next(it for it in effects(table) if it.axis == "latency")
    assert (effect.best, effect.worst) == ("0 to 9", "30 to 39")
    assert (effect.best_s, effect.worst_s) == (5.5, 35.5)
    assert told(table).endswith("a part of an axis' effect may be that of others.")


def test_long_fractions_are_told_in_short(tmp_path: Path):
    table = table_of(
        tmp_path,
        {"x": [0.123456789012, 0.7], "price": [1]},
        lambda x, *_: {"makespan_s": 1.9999 if x < 0.5 else 1.0, "price_eur": 0.26 + x},
    )
    assert "The slowest takes 2 s, with x = 0.123457, price = 1: 2 times as long." in told(table)
    assert "x: the median goes from 1 s at 0.7 to 2 s at 0.123457, 2 times as long." in told(table)
    assert "The cheapest of these costs 0.3835 EUR" in told(table)


def test_an_axis_alone_is_told_by_its_values_however_many(tmp_path: Path):
    table = table_of(tmp_path, {"latency": range(40)}, lambda at, _: {"makespan_s": 1.0 + at})
    assert [(it.best, it.worst) for it in effects(table)] == [("0", "39")]


def test_what_makes_no_difference_is_said_to_make_none(tmp_path: Path):
    table = table_of(tmp_path, {"ranks": [1, 2], "seed": [1, 2]}, lambda ranks, *_: {"makespan_s": 1.0 / ranks})
    assert "seed makes no difference in 2 pairs that differ in nothing else." in told(table)
    alike = table_of(tmp_path, {"seed": [1, 2]}, lambda *_: {"makespan_s": 2.0})
    assert "All take as long: 2 s." in told(alike)


def test_others_that_are_as_fast_as_the_fastest_are_counted(tmp_path: Path):
    for n_alike, said in (
        (1, "with n = 1."),
        (2, "with n = 1; another takes as long."),
        (4, "; 3 others take as long."),
    ):
        table = table_of(tmp_path, {"n": range(6)}, lambda n, _, m=n_alike: {"makespan_s": 1.0 if 0 < n <= m else 2.0})
        assert findings(table)[1].text.endswith(said)


def test_nothing_is_told_to_be_so_many_times_no_time(tmp_path: Path):
    table = table_of(tmp_path, {"ranks": [1, 2]}, lambda n, _: {"makespan_s": n - 1.0, "price_eur": 5.0 - n})
    assert told(table) == (
        "All 2 points have run.\nThe fastest takes 0 s, with ranks = 1.\nThe slowest takes 1 s, with ranks = 2.\n"
        "Of 2 with a price, 2 are on the Pareto front: nothing is both cheaper and faster. "
        "The cheapest of these costs 3 EUR and takes 1 s, with ranks = 2.\n"
        "The fastest of these costs 4 EUR and takes 0 s, with ranks = 1.\n"
        "ranks: the median goes from 0 s at 1 to 1 s at 2."
    )


def test_repetitions_count_as_their_median(tmp_path: Path):
    table = table_of(tmp_path, {"ranks": [1]}, lambda _, at: {"makespan_s": [9.0, 1.0, 2.0][at]}, n_repetitions=3)
    assert told(table) == "All 3 points have run.\nIt takes 2 s (the median of 3 repetitions), with ranks = 1."


def test_a_run_that_tells_its_uncertainty_is_told_with_it(tmp_path: Path):
    table = table_of(tmp_path, {"ranks": [4]}, lambda *_: {"makespan_s": 0.3972, "half_width_s": 0.0159})
    assert findings(table)[1].text == "It takes 397 ms ± 4 %, with ranks = 4."


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], "The study has no points."),
        ([{"makespan_s": 1.0}], "The only point has run."),
        ([{"error": "x"}], "Of 1 point, 1 failed."),
        ([{"error": "x"}, {"makespan_s": 1.0}, {}, {}], "Of 4 points, 1 ran to the end, 1 failed, 2 did not run yet."),
    ],
)
def test_points_are_counted(tmp_path: Path, rows: list[dict[str, Any]], text: str):
    table = table_of(tmp_path, {"n": range(len(rows))}, lambda n, _: rows[n])
    assert findings(table)[0] == Finding(text)


def test_the_front_of_time_and_energy_is_told(tmp_path: Path):
    rows = {1: (4.0, 1.0), 2: (2.0, 1.5), 3: (3.0, 2.0)}  # makespan, energy: 3 is slower than 2, and takes more
    table = table_of(
        tmp_path, {"n": [1, 2, 3]}, lambda n, _: {"makespan_s": rows[n][0], "energy_kwh": rows[n][1] / 3600}
    )
    assert (
        "Of 3 with an energy, 2 are on the Pareto front of time and energy. "
        "The thriftiest of these takes 1 kJ and 4 s, with n = 1.\n"
        "The fastest of these takes 1.5 kJ and 2 s, with n = 2.\n"
    ) in told(table)
    table = table_of(tmp_path, {"n": [1, 2]}, lambda n, _: {"makespan_s": n, "energy_kwh": n / 3600})
    assert "Of 2 with an energy, the fastest takes the least: 1 kJ and 1 s, with n = 1.\n" in told(table)


def test_programs_of_a_study_are_not_compared_with_each_other(tmp_path: Path) -> None:
    axes = {"program": ["hpl", "fft"], "network": ["slow", "fast"]}
    times_s = {("hpl", "slow"): 8.0, ("hpl", "fast"): 7.0, ("fft", "slow"): 2.0, ("fft", "fast"): 1.0}
    table = table_of(tmp_path, axes, lambda *at: {"makespan_s": times_s[at[:2]]})
    texts = [finding.text for finding in findings(table)]
    assert texts[0] == "All 4 points have run."
    assert "hpl: The fastest takes 7 s, with network = fast." in texts
    assert "fft: The fastest takes 1 s, with network = fast." in texts
    assert not any("program" in text for text in texts)
