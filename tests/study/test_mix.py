"""Throughput of machines for several programs with weights: closed forms, and runs of a study."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import smpy
from smpy.cli.throughput_text import computing_lines
from smpy.errors import UsageError
from smpy.platforms import read_machine
from smpy.study.cost import MachineCost, machine_cost, parts_record
from smpy.study.definition import Definition, definition_of
from smpy.study.journal import Entry
from smpy.study.mix import (
    WEEK_S,
    MachineThroughput,
    ProgramRun,
    free_computing,
    runs_of_a_week,
    throughput_of,
    throughputs,
)
from smpy.study.points import points_of
from smpy.study.state import StudyState
from tests.study.studies import study_table

PROGRAMS = {
    "long": {"program": "long.py", "runs_per_week": 100},
    "short": {"program": "short.py", "runs_per_week": 4000},
}
MACHINE = "flat hosts={hosts} cores=4 price.host_eur=100 price.switch_eur=200 price.cable_eur=0"


def definition(**changes: Any) -> Definition:
    table = {
        "programs": PROGRAMS,
        "options": {"ranks": 8, "compute": "none"},
        "axes": {"platform": [MACHINE.format(hosts=4), MACHINE.format(hosts=8)]},
    }
    return definition_of({**table, **changes})


def shares(long: float, short: float) -> dict[str, Any]:
    return {
        "long": {"program": "long.py", "core_hours_share": long},
        "short": {"program": "short.py", "core_hours_share": short},
    }


def told(study: Definition, times_s: dict[tuple[str, int], float], half_width_s: float | None = None) -> list[Any]:
    """Throughputs after runs that took so long, by program and hosts of the machine."""
    state = StudyState()
    for point in points_of(study):
        machine = read_machine(str(point.run.platform), 1)
        time_s = times_s.get((str(point.values[0]), machine.n_hosts))
        if time_s is not None:
            row = {"makespan_s": time_s, "half_width_s": half_width_s, "parts": parts_record(machine), "used_hosts": 2}
            state.entries[point.key] = Entry(row)
    return throughputs(study, points_of(study), state)


TIMES_S = {("long", 4): 600.0, ("short", 4): 30.0, ("long", 8): 300.0, ("short", 8): 30.0}


def test_runs_of_a_week_that_take_half_a_week_are_done_twice_in_a_week():
    small, large = told(definition(), TIMES_S)
    assert small.throughput == pytest.approx(WEEK_S / (100 * 600 + 4000 * 30))
    assert large.throughput == pytest.approx(WEEK_S / (100 * 300 + 4000 * 30))
    assert small.shares == pytest.approx({"long": 60_000 / 180_000, "short": 120_000 / 180_000})
    assert small.throughput_per_eur == pytest.approx(small.throughput / (4 * 100 + 200))


def test_runs_on_some_of_the_hosts_go_on_beside_each_other():
    by_machine, by_hosts = (told(definition(priced_by=by), TIMES_S) for by in ("machine", "hosts"))
    for whole, part, n_hosts in zip(by_machine, by_hosts, (4, 8), strict=True):
        assert part.throughput == pytest.approx(whole.throughput * n_hosts / 2)  # each run has two hosts
        assert part.shares == pytest.approx(whole.shares)
        assert part.price_eur == whole.price_eur


@pytest.mark.parametrize("priced_by", ["machine", "hosts"])
def test_shares_of_core_hours_are_those_of_the_first_machine_whose_throughput_is_1(priced_by: str):
    small, large = told(definition(programs=shares(30, 10), priced_by=priced_by), TIMES_S)
    assert small.throughput == pytest.approx(1)
    assert small.shares == pytest.approx({"long": 0.75, "short": 0.25})
    faster = 1 / (0.75 * 300 / 600 + 0.25)
    assert large.throughput == pytest.approx(faster * (2 if priced_by == "hosts" else 1))


def test_shares_say_nothing_before_the_first_machine_has_run():
    later = {key: time_s for key, time_s in TIMES_S.items() if key != ("long", 4)}
    assert told(definition(programs=shares(1, 1)), later) == []
    assert len(told(definition(), later)) == 1


def test_the_error_of_a_throughput_is_that_of_its_parts():
    small, _ = told(definition(), TIMES_S, half_width_s=3.0)
    relative = math.hypot(1 / 3 * 3 / 600, 2 / 3 * 3 / 30)
    assert small.half_width == pytest.approx(small.throughput * relative)
    assert math.isnan(told(definition(), TIMES_S)[0].half_width)


def test_a_program_that_failed_leaves_its_machine_out():
    study = definition()
    state = StudyState()
    for point in points_of(study):
        machine = read_machine(str(point.run.platform), 1)
        row = {"makespan_s": 1.0, "parts": parts_record(machine), "used_hosts": 2}
        fails = machine.n_hosts == 4 and point.values[0] == "long"
        state.entries[point.key] = Entry({}, "it failed") if fails else Entry(row)
    assert [row.values for row in throughputs(study, points_of(study), state)] == [(MACHINE.format(hosts=8),)]


def test_hosts_that_repetitions_occupy_count_for_each_of_them():
    study = definition(programs={"one": PROGRAMS["long"]}, repetitions=2, priced_by="hosts")
    state = StudyState()
    for point in points_of(study):
        parts = parts_record(read_machine(str(point.run.platform), 1))
        row = {"makespan_s": 1.0 + point.repetition, "parts": parts, "used_hosts": 2 + point.repetition}
        state.entries[point.key] = Entry(row)
    small, _ = throughputs(study, points_of(study), state)
    assert small.throughput == pytest.approx(WEEK_S * 4 / (100 * (1 * 2 + 2 * 3) / 2))


def test_work_costs_the_energy_and_the_part_of_the_machine_that_its_runs_take():
    machine = f"{MACHINE.format(hosts=4)} price.kwh_eur=0.5 price.lifetime_years=1 power.switch=0W"
    study = definition(axes={"platform": [machine]})
    state = StudyState()
    for point in points_of(study):
        time_s = TIMES_S[str(point.values[0]), 4]
        row = {"makespan_s": time_s, "parts": parts_record(read_machine(machine, 1)), "hosts_j": 3.6e6 * time_s}
        state.entries[point.key] = Entry(row)
    (only,) = throughputs(study, points_of(study), state)
    work_s = 100 * 600 + 4000 * 30
    assert only.work_per_kwh == pytest.approx(1 / work_s)
    assert only.work_eur == pytest.approx(0.5 * work_s + 600 * work_s / 3600 / 8766)


def test_programs_whose_modelled_computing_takes_no_time_are_named():
    rows = {"long": {"makespan_s": 1.0, "compute_share": 0.0}, "short": {"makespan_s": 1.0, "compute_share": 0.3}}
    for compute, names in (("models", ["long"]), ("none", [])):
        study = definition(options={"ranks": 8, "compute": compute})
        points = points_of(study)
        state = StudyState({point.key: Entry(rows[str(point.values[0])]) for point in points})
        assert free_computing(study, points, state) == names


def test_measured_computing_without_the_speed_of_a_core_here_is_said_to_be_the_same_anywhere():
    for options, n_lines in (({"compute": "measured"}, 1), ({"compute": "measured", "host_speed": "2Gf"}, 0), ({}, 1)):
        study = definition(options={"ranks": 8, **options})
        assert len(list(computing_lines(study, points_of(study), StudyState()))) == n_lines


def test_a_program_that_takes_no_time_is_refused():
    with pytest.raises(UsageError, match="long takes no time"):
        told(definition(), {**TIMES_S, ("long", 8): 0.0})


def test_work_without_energy_has_no_work_for_a_kilowatt_hour():
    run = ProgramRun(600, math.nan, 2400, 1, 0.0)
    cost = machine_cost(read_machine(MACHINE.format(hosts=4), 1))
    assert math.isnan(throughput({"long": run, "short": run}, cost).work_per_kwh)


def test_machines_of_another_size_for_each_program_are_refused():
    study = definition()
    state = StudyState()
    for point, hosts in zip(points_of(study), (1, 1, 2, 2), strict=True):
        row = {"makespan_s": 1.0, "parts": parts_record(read_machine(MACHINE.format(hosts=hosts), 1)), "used_hosts": 1}
        state.entries[point.key] = Entry(row)
    with pytest.raises(UsageError, match="say how many hosts it has"):
        throughputs(study, points_of(study), state)


def test_machines_of_another_size_for_each_program_are_refused_before_any_run(tmp_path: Path):
    table = study_table(tmp_path, axes={"set.nic.latency": ["1us"]})
    program = table.pop("program")
    sizes = {"few": 1, "many": 400}
    table["programs"] = {
        name: {"program": program, "args": ["1"], "runs_per_week": 1, "options": {"ranks": n}}
        for name, n in sizes.items()
    }
    del table["args"]
    table["options"]["platform"] = "hdr"
    study = smpy.Study(table, tmp_path / "results")
    with pytest.raises(UsageError, match="another size for each program: say how many hosts it has"):
        study.run(workers=1)
    assert not study.state().entries


def throughput(runs: dict[str, ProgramRun], cost: MachineCost) -> MachineThroughput:
    return throughput_of((), runs, runs_of_a_week(definition(), {}, 0), cost)


def test_a_mix_is_between_its_programs_alone():
    """The harmonic mean of throughputs lies between them."""
    cost = machine_cost(read_machine(MACHINE.format(hosts=4), 1))
    long = ProgramRun(600, math.nan, 2400, 1, 1)
    for short_s in (1, 10, 100, 1000):
        short = ProgramRun(short_s, math.nan, 4 * short_s, 1, 1)
        mixed = throughput({"long": long, "short": short}, cost)
        alone = [WEEK_S / (100 * 600), WEEK_S / (4000 * short_s)]
        assert 1 / mixed.throughput == pytest.approx(sum(1 / one for one in alone))
        assert mixed.work_eur == 4100
        assert mixed.work_per_kwh == pytest.approx(1 / 4100)
    assert math.isnan(throughput({"long": long, "short": replace(long, run_eur=math.nan)}, cost).work_eur)


def test_a_study_of_two_programs_runs_and_tells_hosts_that_are_used(tmp_path: Path):
    table = study_table(tmp_path)
    program = table.pop("program")
    programs = {
        "few": {"program": program, "args": ["1000"], "runs_per_week": 1},
        "many": {"program": program, "args": ["100000"], "runs_per_week": 2, "options": {"ranks": 3}},
    }
    del table["args"]
    table |= {"programs": programs, "priced_by": "hosts"}
    table["options"]["platform"] = (
        "fat-tree hosts=4 cores=1 nic=10Gb/s latency=1us price.host_eur=10 price.switch_eur=4 price.cable_eur=0"
        " power.idle=100W power.busy=100W power.switch=0W"
    )
    table["axes"] = {"set.nic.latency": ["1us", "5us"]}
    study = smpy.Study(table, tmp_path / "results")
    frame = study.run(workers=1)
    assert list(frame["program"]) == ["few", "few", "many", "many"]
    assert list(frame["used_hosts"]) == [2, 2, 3, 3]
    assert list(frame["hosts"]) == [4] * 4
    assert list(frame["price_eur"]) == pytest.approx([22, 22, 33, 33])  # 44 EUR for four hosts
    assert frame["energy_kwh"].to_numpy() == pytest.approx(
        (frame["used_hosts"] * 100 * frame["makespan_s"] / 3.6e6).to_numpy()
    )
    fast, slow = throughputs(study.definition, study.points, study.state())
    assert fast.throughput > slow.throughput
    host_s = (frame["used_hosts"] * frame["makespan_s"]).to_numpy()
    assert fast.throughput == pytest.approx(WEEK_S * 4 / (host_s[0] + 2 * host_s[2]))
