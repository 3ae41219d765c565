"""The best machine for a budget: candidates, the search against all machines, and planted answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from smpy.errors import UsageError
from smpy.platforms import read_machine
from smpy.study.candidates import Candidate, candidates, points_between
from smpy.study.cost import parts_record
from smpy.study.definition import Definition, definition_of
from smpy.study.journal import Entry
from smpy.study.points import Point, points_of
from smpy.study.purchase import MachineSearch, Purchase, affordable
from smpy.study.state import StudyState
from smpy.units import parse_eur, parse_power_w

PRICES = {"host_eur": 1000, "switch_eur": 5000, "cable_eur": 10}
RUNS_MAX = 40
POWER = {"idle": "100W", "busy": "400W", "switch": "200W"}
Time = Callable[[str, dict[str, Any], int], float]


def definition(**changes: Any) -> Definition:
    table = {
        "programs": {
            "compute": {"program": "compute.py", "runs_per_week": 100},
            "talk": {"program": "talk.py", "runs_per_week": 100},
        },
        "options": {"ranks": "all", "ppn": 1, "compute": "none", "platform": "fat-tree cores=1 ports=24"},
        "axes": {
            "set.host.count": [8, 47],
            "set.nic.bandwidth": ["10Gb/s", "100Gb/s"],
            "set.host.speed": ["1Gf", "2Gf"],
        },
        "prices": PRICES,
    }
    return definition_of({key: value for key, value in {**table, **changes}.items() if value is not None})


def row(point: Point, time_s: float) -> dict[str, Any]:
    run = point.run
    machine = read_machine(str(run.platform), run.n_ranks, run.settings, ranks_per_host=run.ranks_per_host or 0)
    return {"makespan_s": time_s, "half_width_s": None, "parts": parts_record(machine), "used_hosts": machine.n_hosts}


def searched(
    study: Definition, machines: list[Candidate], first: Candidate, time: Time, runs_max: int = RUNS_MAX
) -> Purchase:
    """Purchase after runs that take the times of a formula."""
    search = MachineSearch(study, first, machines, runs_max)
    state = StudyState()
    n_asked = 0
    while points := search.next(state):
        for point in points:
            n_asked += 1
            assert point.key not in state.entries
            state.entries[point.key] = Entry(row(point, formula(study, point, time)))
    purchase = search.purchase(state)
    assert n_asked == purchase.n_runs <= runs_max
    return purchase


def formula(study: Definition, point: Point, time: Time) -> float:
    return time(str(point.values[0]), dict(zip(study.setting_names, point.values[1:], strict=True)), point.ranks)


def best_of_all(study: Definition, machines: list[Candidate], first: Candidate, time: Time) -> Purchase:
    """The same, after runs on all machines."""
    search = MachineSearch(study, first, machines, RUNS_MAX)
    state = StudyState()
    for point in search.points:
        state.entries[point.key] = Entry(row(point, formula(study, point, time)))
    return search.purchase(state)


def number(text: str) -> float:
    return float(text.partition("G")[0])


def planted(name: str, settings: dict[str, Any], n_hosts: int) -> float:
    """Amdahl's law, and messages whose time grows with the number of hosts."""
    speed, bandwidth = number(settings["set.host.speed"]), number(settings["set.nic.bandwidth"])
    work_s, bytes_s = (2000.0, 2.0) if name == "compute" else (100.0, 4.0)
    return work_s / (speed * n_hosts) + bytes_s * math.sqrt(n_hosts / bandwidth) + 0.3


# ---- candidates ----


def test_sizes_between_those_of_the_axis_are_machines_too():
    found = candidates(definition())
    assert len(found.machines) == 40 * 2 * 2
    assert {machine.cost.n_hosts for machine in found.machines} == set(range(8, 48))
    assert found.first.values == (8, "10Gb/s", "1Gf")
    assert [point.ranks for point in found.first.points] == [8, 8]


def test_axes_side_by_side_have_no_sizes_between():
    found = candidates(definition(combine="zip", axes={"set.host.count": [8, 47], "set.nic.latency": ["1us", "2us"]}))
    assert [machine.values for machine in found.machines] == [(8, "1us"), (47, "2us")]


def test_points_between_are_those_of_the_machines_that_no_axis_lists():
    study = definition(axes={"set.host.count": [8, 11]})
    listed = {point.key for point in points_of(study)}
    machines = candidates(study).machines
    assert {point.key for point in points_between(study)} == {
        point.key for machine in machines for point in machine.points if point.key not in listed
    }
    assert points_between(definition(axes={"set.host.count": [8, 9]})) == []


def test_a_price_is_that_of_whole_switches_hosts_and_cables():
    for machine in candidates(definition()).machines:
        cost = machine.cost
        assert all(float(count).is_integer() for count in (cost.n_hosts, cost.n_switches, cost.n_cables))
        assert cost.price_eur == 1000 * cost.n_hosts + 5000 * cost.n_switches + 10 * cost.n_cables


def test_sizes_that_a_topology_cannot_have_are_no_machines():
    study = definition(
        options={"ranks": 4, "compute": "none", "platform": "torus dimensions=4x4"},
        axes={"set.host.count": {"from": 16, "to": 16, "step": 1}, "set.nic.latency": ["1us", "2us"]},
    )
    assert len(candidates(study).machines) == 2
    with pytest.raises(UsageError, match="the topology has 16 places"):
        candidates(
            definition(
                options={"ranks": 4, "compute": "none", "platform": "torus dimensions=4x4"},
                axes={"set.host.count": [15, 17]},
            )
        )


def test_machines_without_a_core_for_each_rank_are_left_out():
    options = {"ranks": 12, "compute": "none", "platform": "flat cores=1"}
    found = candidates(definition(options=options, axes={"set.host.count": [10, 15]}))
    assert [machine.cost.n_hosts for machine in found.machines] == [12, 13, 14, 15]
    assert found.n_too_small == 2


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"prices": {}}, "there is no price.host_eur of hosts"),
        ({"prices": {"host_hour_eur": 2}}, "hosts, which are rented by the hour"),
        ({"prices": {"host_eur": 2}}, "there is no price.switch_port_eur of switches"),
        ({"prices": {"host_eur": 2, "switch_eur": 3}}, "there is no price.cable_eur"),
        ({"axes": {"args.--n": [1, 2]}}, "'args.--n' changes the work"),
        ({"axes": {"size": {"small": {"args.--n": 1}, "large": {"args.--n": 2}}}}, "'args.--n' changes the work"),
        ({"axes": {"place": {"first": {}, "any": {"map_by": "random", "seed": 1}}}}, "'seed' changes the work"),
        ({"combine": "random", "n_points": 4}, "a purchase compares those of a grid"),
        ({"axes": {"set.host.count": [1, 30_000]}}, "the axes have 30,000 machines"),
        ({"options": {"ranks": "all", "compute": "none", "platform": "hdr"}, "axes": {}}, "say set.host.count"),
    ],
)
def test_a_study_of_no_machines_to_buy_is_refused(changes: dict[str, Any], told: str):
    with pytest.raises(UsageError) as refused:
        candidates(definition(**changes))
    assert told in str(refused.value)


def test_programs_that_need_machines_of_other_sizes_are_refused():
    programs = {
        name: {"program": f"{name}.py", "runs_per_week": 1, "options": {"ranks": n}}
        for name, n in (("a", 1), ("b", 400))
    }
    study = definition(programs=programs, options={"compute": "none", "platform": "hdr"}, axes={"set.host.cores": [8]})
    with pytest.raises(UsageError, match="a machine has another size for each program"):
        candidates(study)


# ---- the budget ----


def test_a_budget_is_kept_in_money_and_power():
    found = candidates(definition(prices={**PRICES, "power": POWER}))
    dear = affordable(found, 40_000)
    assert max(machine.cost.price_eur for machine in dear) <= 40_000 < max(m.cost.price_eur for m in found.machines)
    hungry = affordable(found, 40_000, 8_000)
    assert max(machine.cost.busy_w for machine in hungry) <= 8_000 < max(machine.cost.busy_w for machine in dear)
    assert {machine.values for machine in hungry} == {m.values for m in dear if m.cost.busy_w <= 8_000}


def test_a_machine_on_the_border_of_a_budget_is_within_it():
    prices = {"host_eur": 125.625, "switch_eur": 0, "cable_eur": 0, "power": {"idle": 0, "busy": "0.1W", "switch": 0}}
    found = candidates(definition(axes={"set.host.count": [8]}, prices=prices))
    assert len(affordable(found, parse_eur("1.005kEUR"), parse_power_w("800mW"))) == 1


@pytest.mark.parametrize(
    ("budget_eur", "power_w", "prices", "told"),
    [
        (1000, None, {}, "the cheapest of 160 machines costs 13,080 EUR, above the budget of 1,000 EUR: raise it"),
        (40_000, 1000, {"power": POWER}, "draws 3.4 kW or more, above 1 kW"),
        (40_000, 1000, {}, "say power.idle, power.busy and power.switch"),
    ],
)
def test_a_budget_that_buys_nothing_is_refused(budget_eur: float, power_w: float | None, prices: Any, told: str):
    with pytest.raises(UsageError) as refused:
        affordable(candidates(definition(prices={**PRICES, **prices})), budget_eur, power_w)
    assert told in str(refused.value)


# ---- the search ----


@pytest.mark.parametrize(
    ("budget_eur", "weights"), [(20_000, "runs_per_week"), (45_000, "core_hours_share"), (100_000, "runs_per_week")]
)
def test_forty_runs_find_the_best_of_all_machines(budget_eur: float, weights: str):
    programs = {"compute": {"program": "compute.py", weights: 3}, "talk": {"program": "talk.py", weights: 20}}
    study = definition(programs=programs)
    found = candidates(study)
    machines = affordable(found, budget_eur)
    whole = best_of_all(study, machines, found.first, planted)
    part = searched(study, machines, found.first, planted)
    assert part.machines[0].candidate is whole.machines[0].candidate
    assert part.machines[0].throughput.throughput == whole.machines[0].throughput.throughput
    assert part.n_runs < 2 * len(machines)


def test_the_best_machine_of_a_mix_is_not_the_best_of_either_program():
    """One machine is fast for each program, and a third one nearly as fast for both."""
    kinds = {"cores": (1.0, 9.0), "network": (9.0, 1.0), "balanced": (2.0, 2.0)}
    axes = {"kind": {name: {"set.nic.latency": f"{i + 1}us"} for i, name in enumerate(kinds)}}
    options = {"ranks": 4, "compute": "none", "platform": "flat hosts=4 cores=1"}
    best = {}
    for some in (["compute"], ["talk"], ["compute", "talk"]):
        programs = {name: {"program": f"{name}.py", "runs_per_week": 1} for name in some}
        study = definition(axes=axes, options=options, programs=programs)
        found = candidates(study)
        purchase = searched(
            study,
            affordable(found, 1e6),
            found.first,
            lambda name, settings, _: kinds[settings["kind"]][name == "talk"],
        )
        best[tuple(some)] = purchase.machines[0].candidate.values[0]
    assert best == {("compute",): "cores", ("talk",): "network", ("compute", "talk"): "balanced"}


def test_a_machine_on_which_a_program_fails_is_never_the_best():
    study = definition()
    found = candidates(study)
    machines = affordable(found, 30_000)
    search = MachineSearch(study, found.first, machines, RUNS_MAX)
    state = StudyState()
    while points := search.next(state):
        for point in points:
            time_s = formula(study, point, planted)
            fails = point.values[2] == "100Gb/s" and point.values[0] == "talk"
            state.entries[point.key] = Entry({}, "it failed") if fails else Entry(row(point, time_s))
    purchase = search.purchase(state)
    assert {one.candidate.values[1] for one in purchase.machines} == {"10Gb/s"}
    assert purchase.n_failed > 0


def test_a_search_ends_when_programs_fail_on_all_of_its_first_machines():
    study = definition()
    found = candidates(study)
    search = MachineSearch(study, found.first, found.machines, RUNS_MAX)
    state = StudyState()
    first = search.next(state)
    state.entries.update((point.key, Entry({}, "it failed")) for point in first)
    assert len(first) <= RUNS_MAX / 2
    assert search.next(state) == []
    with pytest.raises(UsageError, match="no machine has run all programs"):
        search.purchase(state)


def test_no_machine_on_which_a_program_failed_may_be_better():
    study = definition(axes={"set.host.count": [8, 9], "set.host.speed": ["1Gf", "2Gf"]})
    found = candidates(study)
    search = MachineSearch(study, found.first, found.machines, RUNS_MAX)
    state = StudyState()
    while points := search.next(state):
        for point in points:
            fails = point.values[1:] != (8, "1Gf")
            state.entries[point.key] = Entry({}, "it failed") if fails else Entry(row(point, 1.0))
    purchase = search.purchase(state)
    assert (len(purchase.machines), purchase.n_failed, purchase.n_open) == (1, 3, 0)


def test_the_first_machine_runs_once_if_it_is_within_the_budget_too():
    programs = {name: {"program": f"{name}.py", "core_hours_share": 1} for name in ("compute", "talk")}
    study = definition(programs=programs, axes={"set.host.speed": ["1Gf", "2Gf"], "set.host.count": [8]})
    found = candidates(study)
    search = MachineSearch(study, found.first, found.machines, RUNS_MAX)
    assert len(search.next(StudyState())) == len(search.points) == 4


def test_of_machines_whose_throughputs_differ_by_rounding_the_cheapest_is_the_best():
    study = definition(
        axes={"kind": {"dear": {"set.price.host_eur": 2000}, "cheap": {"set.price.host_eur": 1000}}},
        options={"ranks": 4, "compute": "none", "platform": "flat hosts=4 cores=1"},
    )
    found = candidates(study)
    times_s = {"dear": 1 - 1e-15, "cheap": 1.0}
    purchase = searched(study, list(found.machines), found.first, lambda _, settings, __: times_s[settings["kind"]])
    assert [one.candidate.values for one in purchase.machines] == [("cheap",), ("dear",)]


def test_quantities_that_are_written_in_two_ways_are_no_distance_apart():
    study = definition(axes={"set.host.count": [8, 20], "set.nic.latency": ["1us", "1000ns"]})
    found = candidates(study)
    purchase = searched(study, list(found.machines), found.first, lambda _, settings, n: 100 / n)
    assert purchase.machines[0].candidate.values[0] == 20


def test_runs_that_the_study_has_are_not_asked_for_again():
    study = definition()
    found = candidates(study)
    machines = affordable(found, 30_000)
    state = StudyState()
    for machine in machines[::7]:
        for point in machine.points:
            state.entries[point.key] = Entry(row(point, formula(study, point, planted)))
    known = set(state.entries)
    search = MachineSearch(study, found.first, machines, RUNS_MAX)
    while points := search.next(state):
        assert not known & {point.key for point in points}
        for point in points:
            state.entries[point.key] = Entry(row(point, formula(study, point, planted)))


def test_a_search_that_is_not_sure_after_its_runs_says_how_many_machines_are_open():
    """Times without any order: no estimate is sure."""
    study = definition()
    found = candidates(study)
    machines = affordable(found, 100_000)
    times = np.random.default_rng(3).lognormal(0, 1, 1000)
    purchase = searched(
        study, machines, found.first, lambda *at: float(times[crc32(str(at).encode()) % 1000]), runs_max=12
    )
    assert purchase.n_runs == 12
    assert purchase.n_open > 50


def test_machines_that_are_listed_twice_end_no_search_early():
    listed = [{"set.host.count": n} for n in (8, 9, 10, 11, 12, 13)]
    study = definition(axes=None, points=[*listed, *listed])
    found = candidates(study)
    purchase = searched(study, list(found.machines), found.first, lambda _, settings, n: 100 / n)
    assert (purchase.machines[0].candidate.values, purchase.n_open) == ((13,), 0)


def test_too_few_runs_for_two_machines_are_refused():
    found = candidates(definition())
    with pytest.raises(UsageError, match="--runs 3: two machines take 4 runs that the study has not"):
        MachineSearch(definition(), found.first, found.machines, 3).check(StudyState())


@pytest.mark.parametrize(("n_known", "n_asked"), [(2, 1), (4, 1), (10, 0)])
def test_runs_that_the_study_has_do_not_count(n_known: int, n_asked: int):
    """Some machines have run both programs, the others one of them."""
    study = definition(axes={"set.host.count": [8, 12]})
    found = candidates(study)
    points = [point for machine in found.machines for point in machine.points]
    known = [*points[:n_known], *points[n_known::2]]
    state = StudyState({point.key: Entry(row(point, 1.0)) for point in known})
    search = MachineSearch(study, found.first, found.machines, 1)
    search.check(state)
    asked = search.next(state)
    assert len(asked) == n_asked
    for point in asked:
        state.entries[point.key] = Entry(row(point, 1.0))
    assert search.next(state) == []
    assert len(search.purchase(state).machines) == n_known // 2 + n_asked


def test_the_runners_up_come_in_their_order():
    study = definition()
    found = candidates(study)
    purchase = searched(study, affordable(found, 45_000), found.first, planted)
    throughputs = [one.throughput.throughput for one in purchase.machines]
    assert throughputs == sorted(throughputs, reverse=True)
    assert all(math.isfinite(each) for each in throughputs)
