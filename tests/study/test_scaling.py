"""Sentences about scaling agree with the numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.study.scaling import ProgramScaling, ScalingRow
from smpy.study.uncertainty import Estimate
from smpy.units import parse_time_s

SAVES = 0.75  # share of the time that is left by a doubling that saves 25 %
FACTORS = {
    "load_balance": "load balance",
    "serialisation": "serialisation",
    "transfer": "transfer",
    "computing": "computing",
}


@st.composite
def scalings(draw: st.DrawFn) -> ProgramScaling:
    ranks = sorted(draw(st.sets(st.integers(1, 5000), min_size=2, max_size=8)))
    share = st.floats(0.001, 1)
    has_factors = draw(st.booleans())
    rows = [
        ScalingRow(
            n_ranks,
            draw(st.floats(1e-6, 100)),
            **({name: draw(share) for name in FACTORS} if has_factors else {}),
        )
        for n_ranks in ranks
    ]
    return ProgramScaling(rows, is_weak=draw(st.booleans()))


def works(it: ProgramScaling) -> list[float]:
    """Time for the same work of each row."""
    return [row.time_s / (row.n_ranks if it.is_weak else 1) for row in it.rows]


@given(scalings())
def test_up_to_the_knee_doublings_save_a_quarter_and_beyond_it_less(it: ProgramScaling):
    times_s, knee = works(it), it.rows[it.knee]
    for i, row in enumerate(it.rows):
        doublings = log2(knee.n_ranks / row.n_ranks)
        expected_s = times_s[it.knee] / SAVES**doublings  # the row's time, were it a quarter a doubling
        if i < it.knee:
            assert times_s[i] >= expected_s * (1 - 1e-9)
        elif i > it.knee:
            assert times_s[i] > expected_s * (1 - 1e-9)


@given(scalings())
def test_speed_up_and_efficiency_are_those_of_the_times(it: ProgramScaling):
    times_s, first = works(it), it.rows[0].n_ranks
    for row, time_s, speedup, efficiency in zip(it.rows, times_s, it.speedups, it.efficiencies, strict=True):
        assert speedup == pytest.approx(times_s[0] / time_s)
        assert efficiency == pytest.approx(times_s[0] * first / (time_s * row.n_ranks))
    assert times_s[it.fastest] == min(times_s)


@given(scalings())
def test_the_words_agree_with_the_numbers(it: ProgramScaling):
    words, first, last, best, knee = it.words(), it.rows[0], it.rows[-1], it.rows[it.fastest], it.rows[it.knee]
    if it.is_weak:
        told = re.search(
            r"From ([\d,]+) ranks? to ([\d,]+) the time goes from (.*) to (.*): efficiency (.*) %\.", words
        )
        assert told is not None
        assert (number(told[1]), number(told[2])) == (first.n_ranks, last.n_ranks)
        assert (seconds(told[3]), seconds(told[4])) == (
            pytest.approx(first.time_s, 1e-3),
            pytest.approx(last.time_s, 1e-3),
        )
        assert float(told[5]) == pytest.approx(100 * it.efficiencies[-1], rel=1e-2)
        told = re.search(r"Most work a second is done on ([\d,]+) rank", words)
        assert (last.n_ranks if told is None else number(told[1])) == best.n_ranks
    elif it.fastest == 0:
        assert re.search(r"More than ([\d,]+) ranks? do not help", words)[1].replace(",", "") == str(first.n_ranks)
    else:
        told = re.search(r"Fastest on ([\d,]+) ranks?: (.*), (.*) times as fast as on", words)
        assert told is not None
        assert number(told[1]) == best.n_ranks
        assert seconds(told[2]) == pytest.approx(best.time_s, 1e-3)
        assert float(told[3].replace(",", "")) == pytest.approx(it.speedups[it.fastest], rel=1e-2)
    if not it.is_weak and best is not last:
        told = re.search(r"on ([\d,]+) ranks it takes (.*), (?:(.*) times )?as long\.", words)
        assert told is not None
        assert number(told[1]) == last.n_ranks
        assert seconds(told[2]) == pytest.approx(last.time_s, 1e-3)
        assert float((told[3] or "1").replace(",", "")) == pytest.approx(last.time_s / best.time_s, rel=1e-2)
    told = re.search(r"The knee is at ([\d,]+) rank|No knee up to ([\d,]+) rank", words)
    assert told is not None
    assert number(told[1] or told[2]) == knee.n_ranks
    assert bool(told[2]) == (knee is last)
    assert it.to_record()["knee_ranks"] == (None if knee is last else knee.n_ranks)
    assert [line.split()[0] for line in it.table().splitlines() if re.search(r"\bknee(, |$)", line)] == (
        [] if knee is last else [f"{knee.n_ranks:,}"]
    )


@given(scalings())
def test_what_is_said_to_limit_is_the_smallest_factor(it: ProgramScaling):
    told = re.search(r"(?:What|Nothing) limits on ([\d,]+) ranks?(?: is (.*): ([\d.e+-]+) %)?", it.words())
    if it.rows[0].transfer is None:
        assert told is None
        return
    assert told is not None
    row = next(row for row in it.rows if row.n_ranks == number(told[1]))
    factors = {name: getattr(row, key) for key, name in FACTORS.items()}
    if told[2]:
        assert factors[told[2]] == min(factors.values())
        assert float(told[3]) == pytest.approx(100 * min(factors.values()), rel=1e-2)
    else:
        assert min(factors.values()) >= 0.95


@given(scalings(), st.floats(1.06, 3))
def test_computing_that_scales_better_than_ideally_is_told(it: ProgramScaling, most: float):
    assert "better than ideally" not in it.words()
    rows = [*it.rows[:-1], replace(it.rows[-1], computing=most)]
    told = re.search(r"better than ideally, to (.*) % on ([\d,]+) rank", ProgramScaling(rows, it.is_weak).words())
    assert told is not None
    assert float(told[1]) == pytest.approx(100 * most, rel=1e-2)
    assert number(told[2]) == rows[-1].n_ranks


def number(text: str) -> int:
    return int(text.replace(",", ""))


def seconds(text: str) -> float:
    return parse_time_s(text.replace(" ", ""))


def strong(times_s: dict[int, float]) -> ProgramScaling:
    return ProgramScaling([ScalingRow(n, time_s) for n, time_s in times_s.items()], is_weak=False)


def test_amdahls_program_has_its_knee_where_a_doubling_saves_a_quarter():
    it = strong(
        {2**k: 0.02 + 0.98 / 2**k for k in range(11)}
    )  # from 2 ** k a doubling saves 0.49 / (0.02 * 2 ** k + 0.98)
    assert it.rows[it.knee].n_ranks == 64  # 32 to 64 saves 30 %, 64 to 128 22 %
    assert it.rows[it.fastest].n_ranks == 1024
    assert it.efficiencies[-1] == pytest.approx(1 / (0.02 * 1024 + 0.98))


def test_a_slow_second_rank_is_no_knee_if_more_ranks_make_up_for_it():
    assert strong({1: 1.0, 2: 1.1, 4: 0.5, 8: 0.25}).knee == 3
    assert strong({1: 1.0, 2: 1.1, 4: 1.2}).words().startswith("More than 1 rank do not help")


def test_ideal_weak_scaling_has_no_knee_and_time_that_does_not_change():
    it = ProgramScaling([ScalingRow(n, 2.0) for n in (1, 2, 4)], is_weak=True)
    assert it.efficiencies == [1.0, 1.0, 1.0]
    assert "No knee up to 4 ranks" in it.words()


def test_the_part_of_the_transfer_that_costs_most_is_named():
    row = ScalingRow(
        4,
        1.0,
        load_balance=0.9,
        serialisation=0.9,
        transfer=0.3,
        contention=0.9,
        latency=0.4,
        overhead=0.8,
        computing=1,
    )
    words = ProgramScaling([ScalingRow(1, 2.0), row], is_weak=False).words()
    assert words.endswith("What limits on 4 ranks is transfer: 30 %, of which latency most (40 %).")


def test_memory_of_a_host_and_the_ranks_that_share_it_are_named():
    first = ScalingRow(1, 2.0, n_hosts=1, ranks_on_a_host=1)
    row = ScalingRow(
        16, 1.0, transfer=0.9, computing=0.5, operations=1, speed=1, core_memory=0.9, memory=0.6, ranks_on_a_host=8
    )
    words = ProgramScaling([first, row], is_weak=False).words()
    assert words.endswith(
        "What limits on 16 ranks is computing: 50 %, of which memory of a host most (60 %); "
        "placement: a host has up to 8 ranks, up from 1 (--ppn places fewer)."
    )
    core = ProgramScaling([first, replace(row, core_memory=0.4, ranks_on_a_host=8)], is_weak=False).words()
    assert core.endswith("of which memory of a core most (40 %).")


def test_ranks_that_leave_their_host_are_named():
    first = ScalingRow(16, 2.0, n_hosts=1, ranks_on_a_host=16)
    row = ScalingRow(64, 1.0, transfer=0.5, latency=0.5, computing=1, n_hosts=4, ranks_on_a_host=16)
    words = ProgramScaling([first, row], is_weak=False).words()
    assert words.endswith("of which latency most (50 %); placement: ranks are on 4 hosts, up from 1.")


def test_the_table_marks_the_knee_and_tells_uncertainty():
    it = ProgramScaling(
        [ScalingRow(1, 1.0, 0.04), ScalingRow(2, 0.5), ScalingRow(4, 0.49)],
        is_weak=False,
        remarks=["On 8 ranks it failed: x"],
    )
    lines = it.table().splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["ranks", "1", "2", "4"]
    assert str(Estimate(1.0, 0.04)) in lines[1]
    assert lines[2].endswith("knee")
    assert lines[3].endswith("fastest")
    assert lines[-1] == "On 8 ranks it failed: x"


def test_one_number_of_ranks_tells_no_scaling():
    assert "tells no scaling: on 4 ranks it takes 1 s" in strong({4: 1.0}).table()


def test_a_plot_has_times_speedups_and_the_knee():
    figure = ProgramScaling(
        [ScalingRow(1, 1.0, transfer=1.0), ScalingRow(2, 0.5, transfer=0.9), ScalingRow(4, 0.5)], is_weak=False
    ).plot()
    assert {trace.name for trace in figure.data} == {"time", "speed-up", "ideal", "efficiency", "transfer"}
    assert [shape.x0 for shape in figure.layout.shapes] == [2, 2, 2]


def repeated(n_ranks: int, lowest_s: float, time_s: float, highest_s: float) -> ScalingRow:
    return ScalingRow(n_ranks, time_s, n_runs=3, lowest_s=lowest_s, highest_s=highest_s)


def test_differences_of_times_that_overlap_may_be_noise():
    rows = [repeated(1, 9, 10, 11), repeated(2, 5, 6, 7), repeated(4, 4, 5, 5.5), repeated(8, 3, 4.5, 4.6)]
    it = ProgramScaling(rows, is_weak=False)
    told = "Differences that may be noise, as the times of single runs overlap: 2 and 4, 4 and 8 ranks."
    assert it.words().endswith(told)
    assert it.table().splitlines()[2].split()[:7] == ["2", "6", "s", "5", "s", "7", "s"]
    assert it.to_record()["rows"][1]["highest_s"] == 7


def test_differences_of_times_that_do_not_overlap_are_larger_than_the_spread():
    it = ProgramScaling([repeated(1, 9, 10, 11), repeated(2, 5, 6, 7)], is_weak=False)
    assert it.words().endswith("larger than the spread: no runs overlap.")


def test_runs_that_are_alike_have_no_noise():
    it = ProgramScaling([repeated(1, 10, 10, 10), repeated(2, 10, 10, 10)], is_weak=False)
    assert it.words().endswith("All runs on the same number of ranks took the same time.")
    assert "overlap" not in strong({1: 1.0, 2: 1.0}).words()
