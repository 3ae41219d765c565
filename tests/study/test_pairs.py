"""Pairs of settings that differ in one axis show its effect, and the condition on which it depends, exactly."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from smpy.records.profile import KINDS
from smpy.study.findings import findings
from smpy.study.pair_causes import cause_of
from smpy.study.pair_sentences import pair_sentences
from smpy.study.pairs import Interaction, PairedEffect, paired_effects
from smpy.study.table import StudyTable
from tests.study.tables import table_of

MACHINES = ["torus", "fat tree", "dragonfly"]
RANKS = [384, 768, 1536]
ALONE = "that differ in nothing else."
SPEEDS = ["10Gb/s", "20Gb/s"]


def effects_of(table: StudyTable) -> dict[str, PairedEffect]:
    return {effect.axis: effect for effect in paired_effects(table.frame, table.axes)}


def grid(seconds: Any) -> StudyTable:
    """Study of three axes with a makespan of a machine, a number of ranks and whether the network is slow."""
    return table_of(
        Path(),
        {"topology": MACHINES, "ranks": RANKS, "speed": SPEEDS},
        lambda machine, ranks, speed, _: {"makespan_s": seconds(machine, ranks, speed == "10Gb/s")},
    )


@given(st.lists(st.lists(st.integers(1, 100), min_size=2, max_size=4, unique=True), min_size=2, max_size=4))
def test_the_factors_of_a_product_are_the_ratios_in_every_pair(factors: list[list[int]]):
    axes = {f"axis{number}": [f"level {level}" for level in range(len(its))] for number, its in enumerate(factors)}

    def seconds(*levels: Any) -> dict[str, Any]:
        return {"makespan_s": math.prod(its[int(level[-1])] for its, level in zip(factors, levels[:-1], strict=True))}

    effects = effects_of(table_of(Path(), axes, seconds))
    assert effects.keys() == axes.keys()
    for its, effect in zip(factors, (effects[axis] for axis in axes), strict=True):
        assert (effect.slow, effect.fast) == (f"level {its.index(max(its))}", f"level {its.index(min(its))}")
        assert [effect.ratio, effect.least, effect.most] == pytest.approx([max(its) / min(its)] * 3)
        assert effect.n_pairs == math.prod(map(len, factors)) // len(its)
        assert effect.interaction is None


def test_an_axis_that_matters_in_one_corner_alone_is_told_with_that_corner():
    table = grid(lambda machine, ranks, is_slow: 1.07 if is_slow and (machine, ranks) == ("fat tree", 1536) else 1.0)
    speed = effects_of(table)["speed"]
    assert speed.interaction is not None
    assert speed.interaction.where == "topology = fat tree, ranks = 1536"
    assert (speed.interaction.least, speed.interaction.most) == pytest.approx((1.07, 1.07))
    assert (speed.interaction.least_elsewhere, speed.interaction.most_elsewhere) == (1.0, 1.0)
    assert pair_sentences(speed, "")[1] == (
        "The effect of speed depends on others: with topology = fat tree, ranks = 1536, 10Gb/s against 20Gb/s takes "
        "7 % longer; elsewhere as long, within 0.1 %."
    )


@pytest.mark.parametrize(
    ("matters", "where"),
    [
        (lambda machine, ranks: ranks >= 768, "ranks >= 768"),
        (lambda machine, ranks: machine == "torus", "topology = torus"),
        (lambda machine, ranks: machine != "torus", "topology other than torus"),
        (lambda machine, ranks: machine == "torus" and ranks <= 768, "topology = torus, ranks <= 768"),
    ],
)
def test_the_condition_is_the_shortest_that_parts_the_pairs(matters: Any, where: str):
    interaction = effects_of(grid(lambda machine, ranks, is_slow: 1.0 + 0.2 * (is_slow and matters(machine, ranks))))[
        "speed"
    ].interaction
    assert interaction is not None
    assert interaction.where == where


@given(st.integers(0, 2), st.integers(0, 2), st.floats(0.01, 3.0), st.floats(0.0, 0.9))
def test_a_planted_corner_is_found_if_it_differs_three_times_as_much_as_the_rest(
    machine: int, ranks: int, effect: float, rest: float
):
    inside, outside = math.log1p(effect), math.log1p(effect) * rest
    assume(abs(rest - 1 / 3) > 1e-6)
    corner = MACHINES[machine], RANKS[ranks]
    table = grid(lambda *of: math.exp(of[2] * (inside if of[:2] == corner else outside)))
    interaction = effects_of(table)["speed"].interaction
    assert (interaction is not None) == (rest < 1 / 3)
    if interaction is not None:
        assert interaction.where == f"topology = {corner[0]}, ranks = {corner[1]}"
        assert math.log(interaction.least) == pytest.approx(inside)
        assert math.log(interaction.most_elsewhere) == pytest.approx(outside, abs=1e-9)


def test_an_effect_that_is_reversed_elsewhere_is_told_with_both_signs():
    table = grid(lambda machine, ranks, is_slow: 1.0 + is_slow * (0.3 if ranks == 1536 else -0.1))
    interaction = effects_of(table)["speed"].interaction
    assert interaction is not None
    assert interaction.where == "ranks = 1536"
    assert (interaction.least, interaction.most_elsewhere) == pytest.approx((1.3, 0.9))


def test_the_spread_of_repetitions_hides_what_is_smaller():
    def seconds(machine: str, ranks: int, speed: str, repetition: int) -> dict[str, Any]:
        is_slow = speed == "10Gb/s" and machine == "torus"
        return {"makespan_s": (1.02 if is_slow else 1.0) * (1 + 0.05 * repetition)}

    axes = {"topology": MACHINES, "ranks": RANKS, "speed": SPEEDS}
    alone, noisy = (effects_of(table_of(Path(), axes, seconds, n_repetitions=n))["speed"] for n in (1, 3))
    assert alone.interaction is not None
    assert noisy.interaction is None
    assert noisy.ratio == pytest.approx(alone.ratio)


def test_what_ran_with_few_others_is_compared_with_those_alone():
    """Medians would say that the slow machine is faster: it ran where runs are short."""
    table = table_of(
        Path(), {"machine": ["slow", "fast"], "size": [1, 2, 4, 8]},
        lambda machine, size, _: {"makespan_s": size * (1.5 if machine == "slow" else 1.0)},
    )  # fmt: skip
    ran = table.frame[(table.frame["machine"] == "fast") | (table.frame["size"] <= 2)]
    machine = {effect.axis: effect for effect in paired_effects(ran, table.axes)}["machine"]
    assert (machine.slow, machine.fast, machine.n_pairs) == ("slow", "fast", 2)
    assert machine.ratio == pytest.approx(1.5)


def test_axes_without_pairs_have_no_effect():
    table = table_of(Path(), {"a": [1, 2, 3], "b": [0]}, lambda a, *_: {"makespan_s": float(a)})
    table.frame["b"] = [3, 1, 2]
    assert effects_of(table) == {}
    assert any("the median goes from" in finding.text for finding in findings(table))


def test_the_points_of_a_pair_are_those_with_the_largest_ratio():
    table = grid(lambda machine, ranks, is_slow: 1.0 + is_slow * (0.15 if (machine, ranks) == ("torus", 768) else 0.1))
    speed = effects_of(table)["speed"]
    slow, fast = (table.frame.set_index("point").loc[point] for point in (speed.slow_point, speed.fast_point))
    assert (slow["topology"], slow["ranks"], slow["speed"]) == ("torus", 768, "10Gb/s")
    assert (fast["topology"], fast["ranks"], fast["speed"]) == ("torus", 768, "20Gb/s")


def test_memory_for_drawn_axes_grows_with_the_points_alone():
    peaks_bytes = []
    for n in (1000, 2000):
        random = np.random.default_rng(n)
        columns = {name: random.random(n) for name in ("latency", "bandwidth", "makespan_s")}
        frame = pd.DataFrame({"point": range(n), **columns})
        tracemalloc.start()
        paired_effects(frame, ["latency", "bandwidth"])
        peaks_bytes.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks_bytes[1] < 3 * peaks_bytes[0]


def test_a_thousand_settings_of_many_levels_take_a_second():
    n = 32
    table = table_of(Path(), {"a": range(n), "b": range(n)}, lambda a, b, _: {"makespan_s": 1.0 + a + b * b})
    effects = effects_of(table)
    assert (effects["a"].slow, effects["a"].fast) == (str(n - 1), "0")
    assert effects["a"].n_pairs == n


@pytest.mark.parametrize(
    ("effect", "texts"),
    [
        (
            PairedEffect("latency", "10us", "1us", 1.5, 1.5, 1.5, 1, 3, 4, None),
            ["latency: 10us against 1us takes 50 % longer, in the 1 pair that differs in nothing else."],
        ),
        (
            PairedEffect("latency", "10us", "1us", 1.5, 1.2, 4.0, 9, 3, 4, None),
            [
                "latency: 10us against 1us takes 50 % longer in the mean, 20 % longer to 4 times as long in 9 pairs "
                + ALONE
            ],
        ),
        (
            PairedEffect("n", "2", "1", 1.1, 0.9, 1.3, 9, 3, 4, Interaction("ranks = 4", 1.2, 1.3, 0.9, 0.9)),
            [
                "n: 2 against 1 takes 10 % longer in the mean, 10 % shorter to 30 % longer in 9 pairs " + ALONE,
                (
                    "The effect of n depends on others: with ranks = 4, 2 against 1 takes 20 to 30 % longer; "
                    "elsewhere 10 % shorter."
                ),
            ],
        ),
        (
            PairedEffect("seed", "2", "1", 1.0, 1.0, 1.0, 2, 3, 4, None),
            ["seed makes no difference in 2 pairs that differ in nothing else."],
        ),
    ],
)
def test_sentences_have_the_mean_the_range_and_the_condition(effect: PairedEffect, texts: list[str]):
    assert pair_sentences(effect, "") == texts


# ---- causes ----


def profile(times_s: dict[tuple[str, str], float], saturated_s: dict[str, float], n_ranks: int) -> dict[str, Any]:
    """Profile with a site for each call and kind; times are those of one rank."""
    sites = [
        {"call": call, "line": "late.py:10", "count": 1, "sent_bytes": 0, "slowest": 0,
         "spent_s": [seconds * n_ranks if name == kind else 0.0 for name in KINDS]}
        for (call, kind), seconds in times_s.items()
    ]  # fmt: skip
    links = {"link": list(saturated_s), "saturated_s": list(saturated_s.values())}
    return {"profile": {"kinds": list(KINDS), "sites": sites, "links": links}}


def lost_time(times_s: dict[tuple[str, str], float], n_ranks: int) -> dict[str, Any]:
    return {
        "lines": [
            {
                "call": call,
                "file": "late.py",
                "line": 10,
                "function": None,
                "category": category,
                "seconds": s * n_ranks,
            }
            for (call, category), s in times_s.items()
        ]
    }


def pair_with(folder: Path, slow: dict[str, Any], fast: dict[str, Any], ranks: tuple[int, int] = (4, 4)) -> StudyTable:
    """Two points that take 140 ms and 100 ms, and their files by column."""
    table = table_of(
        folder, {"speed": ["10Gb/s", "20Gb/s"]}, lambda speed, _: {"makespan_s": 0.14 if speed == "10Gb/s" else 0.1}
    )
    table.frame["ranks"] = ranks
    for number, files in enumerate((slow, fast)):
        for column, record in files.items():
            (folder / f"{column}{number}.json").write_text(json.dumps(record))
            table.frame.loc[number, column] = f"{column}{number}.json"
    return table


def cause_in(table: StudyTable) -> str:
    return cause_of(table.frame.iloc[0], table.frame.iloc[1], table.folder)


def test_the_cause_is_the_kind_of_time_that_grew_most_by_rank(tmp_path: Path):
    table = pair_with(
        tmp_path,
        {"profile": profile({("Sendrecv", "transfer"): 0.051, ("Barrier", "late_members"): 0.03}, {"spine": 0.040}, 8)},
        {"profile": profile({("Sendrecv", "transfer"): 0.020, ("Barrier", "late_members"): 0.02}, {"spine": 0.012}, 4)},
        (8, 4),
    )
    expected = "transfer: +31 ms a rank, mostly in Sendrecv late.py:10; spine is saturated 28 ms longer"
    assert cause_in(table) == expected


def test_kept_lost_time_names_contention(tmp_path: Path):
    table = pair_with(
        tmp_path,
        {"lost": lost_time({("Alltoall", "contention"): 0.033, ("Alltoall", "communication"): 0.01}, 4)},
        {"lost": lost_time({("Alltoall", "contention"): 0.002, ("Alltoall", "communication"): 0.01}, 4)},
    )
    assert cause_in(table) == "contention: +31 ms a rank, mostly in Alltoall late.py:10"


def test_what_explains_less_than_a_fifth_is_no_cause(tmp_path: Path):
    files = [{"profile": profile({("Recv", "transfer"): seconds}, {}, 4)} for seconds in (0.0079, 0.0)]
    assert cause_in(pair_with(tmp_path, files[0], files[1])) == ""


@pytest.mark.parametrize("text", ["{", "[]", '{"profile": {"kinds": 3}}', '{"profile": {"kinds": [], "sites": [{}]}}'])
def test_damaged_files_are_no_cause(tmp_path: Path, text: str):
    good = {"profile": profile({("Recv", "transfer"): 0.04}, {}, 4)}
    table = pair_with(tmp_path, good, good)
    (tmp_path / "profile0.json").write_text(text)
    assert cause_in(table) == ""


def test_the_sentence_of_an_axis_has_its_cause(tmp_path: Path):
    table = pair_with(
        tmp_path,
        {"profile": profile({("Sendrecv", "transfer"): 0.04}, {}, 4)},
        {"profile": profile({("Sendrecv", "transfer"): 0.01}, {}, 4)},
    )
    other = table.frame.assign(size=2, makespan_s=table.frame["makespan_s"] * 2, point=[2, 3], profile="")
    both = pd.concat([table.frame.assign(size=1), other], ignore_index=True)
    told = [it.text for it in findings(StudyTable("study", both, ("speed", "size"), (), tmp_path))]
    assert any("Point 0 against point 1: transfer: +30 ms a rank" in text for text in told)


def test_failed_points_are_in_no_pair():
    axes = {"a": ["x", "y"], "b": ["u", "v"]}
    table = table_of(
        Path(), axes, lambda a, b, _: {"error": "it failed", "makespan_s": 99.0} if (a, b) == ("y", "v")
        else {"makespan_s": 2.0 if a == "y" else 1.0},
    )  # fmt: skip
    told = [finding.text for finding in findings(table)]
    assert "a: y against x takes 2 times as long, in the 1 pair that differs in nothing else." in told
