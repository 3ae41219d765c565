"""Costs of machines and runs, in closed form."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.errors import PlatformError
from smpy.platforms import (
    Description,
    EmptyZone,
    FullZone,
    Host,
    Link,
    Prices,
    Router,
    Zone,
    read_machine,
)
from smpy.study.cost import MachineCost, cost_of_record, machine_cost, parts_record

TREE = "fat-tree children=16,32 parents=1,{} host.cores=8"
PRICES = Prices(
    host_eur=9000, switch_eur=1000, switch_port_eur=500, cable_eur=70, switch_cable_eur=400, kwh_eur=0.2,
    lifetime_years=5, host_idle_w=200, host_busy_w=800, switch_w=300,
)  # fmt: skip
AMOUNTS = [field.name for field in fields(MachineCost)]


def tree(spines: int = 4, prices: Prices = PRICES) -> MachineCost:
    return machine_cost(read_machine(TREE.format(spines), 1), prices)


# ---- the machine ----


@pytest.mark.parametrize("spines", [1, 4, 16])
def test_the_price_of_a_tree_is_that_of_its_hosts_switches_ports_and_cables(spines: int) -> None:
    cost = tree(spines)
    assert (cost.n_hosts, cost.n_cores, cost.n_switches, cost.n_cables) == (512, 4096, 32 + spines, 512 + 32 * spines)
    assert cost.hosts_eur == 512 * 9000
    assert cost.switches_eur == (32 + spines) * 1000 + (512 + 2 * 32 * spines) * 500
    assert cost.cables_eur == 512 * 70 + 32 * spines * 400
    assert cost.price_eur == cost.hosts_eur + cost.switches_eur + cost.cables_eur
    assert (cost.hosts_idle_w, cost.hosts_busy_w, cost.switches_w) == (512 * 200, 512 * 800, (32 + spines) * 300)


@pytest.mark.parametrize(
    ("prices", "switches_eur", "cables_eur"),
    [
        (Prices(switch_eur=1000), 36_000, math.nan),
        (Prices(switch_port_eur=500), 768 * 500, math.nan),
        (Prices(cable_eur=70), math.nan, 640 * 70),
        (Prices(switch_cable_eur=70), math.nan, math.nan),  # prices of hosts are not known
        (Prices(switch_eur=0, cable_eur=0), 0, 0),
    ],
)
def test_what_nobody_knows_is_not_free(prices: Prices, switches_eur: float, cables_eur: float) -> None:
    cost = tree(4, prices)
    assert [cost.switches_eur, cost.cables_eur] == pytest.approx([switches_eur, cables_eur], nan_ok=True)
    assert math.isnan(cost.hosts_eur)
    assert math.isnan(cost.price_eur)


def test_a_switch_costs_what_the_smallest_one_with_its_ports_costs() -> None:
    machine = read_machine(f"{TREE.format(4)} price.switch_eur=20:3000;24:5000;32:7000", 1)
    assert [(each.count, each.ports) for each in machine.parts_list.switches] == [(32, 20), (4, 32)]  # type: ignore[union-attr]
    assert machine_cost(machine).switches_eur == 32 * 3000 + 4 * 7000
    assert cost_of_record(parts_record(machine)).switches_eur == 32 * 3000 + 4 * 7000


def test_ports_and_prices_by_size_add_up() -> None:
    machine = read_machine(f"{TREE.format(4)} price.switch_eur=32:1000 price.switch_port_eur=10", 1)
    assert machine_cost(machine).switches_eur == 36 * 1000 + 768 * 10


def test_a_switch_with_more_ports_than_any_price_has_is_refused() -> None:
    machine = read_machine(f"{TREE.format(4)} price.switch_eur=20:3000", 1)
    with pytest.raises(PlatformError, match="has 20 ports, and 4 switches of the machine use 32: give the price"):
        machine_cost(machine)


def test_nothing_costs_nothing_whatever_one_costs() -> None:
    torus = machine_cost(read_machine("torus 4x4x4", 1), Prices(host_eur=10, cable_eur=1))
    assert (torus.n_switches, torus.switches_eur, torus.switches_w, torus.price_eur) == (0, 0, 0, 640 + 192)


def test_a_machine_without_prices_has_parts_and_no_price() -> None:
    cost = tree(4, Prices())
    counts = {"n_hosts", "n_cores", "n_switches", "n_cables"}
    assert {name for name in AMOUNTS if not math.isnan(getattr(cost, name))} == counts


def test_what_the_machine_says_stands_above_what_a_study_says() -> None:
    machine = read_machine("flat hosts=4 price.host_eur=5 price.cable_eur=7 power.busy=10W", 1)
    cost = machine_cost(machine, PRICES)
    assert (cost.hosts_eur, cost.cables_eur, cost.switches_eur) == (20, 28, 1000 + 4 * 500)
    assert (cost.hosts_idle_w, cost.hosts_busy_w) == (0, 40)


def test_each_group_of_hosts_has_its_own_price_and_power(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        "topology.kind = 'flat'\nprice.host_eur = 100\n"
        "[group.fat]\ncount = 2\nprice.host_eur = 900\npower = {idle = '10W', busy = '90W'}\n[group.thin]\ncount = 3\n"
    )
    cost = machine_cost(read_machine(tmp_path / "m.toml", 1), PRICES)
    assert cost.hosts_eur == 2 * 900 + 3 * 100
    assert math.isnan(cost.hosts_busy_w)  # power of the thin ones: the machine has some powers, but not theirs


def test_hosts_of_any_file_say_their_price_and_power_by_properties() -> None:
    noted = (("price_per_host", "40"), ("wattage_per_state", "95:120:200,50:60:100"))
    world = FullZone("world", (Host("a", 1e9, properties=noted), Host("b", 1e9, properties=noted), Link("l", 1e9, 0.0)))
    cost = machine_cost(Description("it", world), Prices(cable_eur=3))
    assert (cost.hosts_eur, cost.hosts_idle_w, cost.hosts_busy_w, cost.price_eur) == (80, 190, 400, 83)
    for name, text in (("price_per_host", "dear"), ("price_per_host", "-1"), ("wattage_per_state", "1:inf")):
        odd = Description("it", FullZone("world", (Host("a", 1e9, properties=((name, text),)),)))
        with pytest.raises(PlatformError, match=f"property '{name}' of a host: '[^']*' has no number that it can be"):
            machine_cost(odd)


def test_the_ports_of_switches_that_a_file_declares_are_not_known() -> None:
    machine = Description("it", FullZone("world", (Host("a", 1e9), Router("r"), Link("l", 1e9, 0.0))))
    assert machine_cost(machine, Prices(switch_eur=3)).switches_eur == 3
    assert math.isnan(machine_cost(machine, PRICES).switches_eur)


def test_of_a_topology_without_a_formula_only_the_hosts_are_known() -> None:
    class Odd(Zone):
        @property
        def n_hosts(self) -> int:
            return 7

    machine = Description("it", EmptyZone("around", (Odd(),)))
    cost = machine_cost(machine, PRICES)
    assert cost.n_hosts == 7
    assert all(math.isnan(getattr(cost, name)) for name in AMOUNTS[1:])
    assert repr(cost_of_record(parts_record(machine), PRICES)) == repr(cost)


@pytest.mark.parametrize("line", ["torus 3x3 rails=2 price.host_eur=5 power.busy=9W", TREE.format(2), "flat hosts=3"])
def test_a_record_of_the_parts_is_enough_for_the_bill(line: str) -> None:
    machine = read_machine(f"{line} price.cable_eur=7", 1)
    record = parts_record(machine)
    assert repr(cost_of_record(record, PRICES)) == repr(machine_cost(machine, PRICES))  # NaN equals no NaN


def test_a_machine_draws_its_hosts_its_switches_and_two_links_a_cable_at_full_load() -> None:
    line = "flat hosts=4 power.idle=100W power.busy=300W power.switch=50W"
    assert machine_cost(read_machine(line, 1)).busy_w == 4 * 300 + 50
    assert machine_cost(read_machine(f"{line} power.link=1W:3W", 1)).busy_w == 4 * 300 + 50 + 2 * 4 * 3


# ---- a run ----


def test_a_run_that_pays_for_half_the_machine_pays_half_the_price_and_the_energy_of_its_hosts() -> None:
    cost = tree()
    whole, half = cost.columns(3600, 7.2e6, 3.6e6), cost.columns(3600, 3.6e6, 3.6e6, 0.5)
    for name in ("price_eur", "energy_kwh", "energy_eur", "edp", "run_eur"):
        assert half[name] == pytest.approx(whole[name] / 2)
    assert [half[name] for name in ("hosts", "switches", "cables")] == [
        whole[name] for name in ("hosts", "switches", "cables")
    ]


def test_rent_is_paid_for_the_part_of_the_machine_that_a_run_has() -> None:
    cost = tree(4, Prices(host_hour_eur=2))
    assert cost.columns(1800, share=0.25)["run_eur"] == cost.columns(1800)["run_eur"] / 4


def test_energy_is_that_of_hosts_links_and_switches() -> None:
    cost = tree()
    assert cost.energy_kwh(3600, 7.2e6, 3.6e6) == pytest.approx(2 + 1 + 36 * 300 / 1000)


def test_energy_and_its_cost_are_of_joules_that_the_run_has_counted() -> None:
    columns = tree().columns(100.0, hosts_j=3.6e6, links_j=1.8e6)
    assert columns["energy_kwh"] == pytest.approx(1 + 0.5 + 36 * 300 * 100 / 3.6e6)
    assert columns["energy_eur"] == pytest.approx(0.2 * columns["energy_kwh"])
    assert columns["edp"] == pytest.approx(3.6e6 * columns["energy_kwh"] * 100)
    assert math.isnan(tree().columns(100.0)["energy_kwh"])


def test_a_run_as_long_as_the_machine_lives_costs_its_price_and_the_energy() -> None:
    cost = tree()
    life_s = 5 * 365.25 * 86400
    assert cost.run_eur(life_s, 1e6) == pytest.approx(cost.price_eur + 0.2 * 1e6)


def test_rented_hosts_cost_their_rent_alone() -> None:
    rented = tree(4, replace(PRICES, host_hour_eur=3))
    assert rented.run_eur(1800, 1e6) == pytest.approx(512 * 3 / 2)
    assert rented.price_eur == tree().price_eur


@pytest.mark.parametrize("missing", ["cable_eur", "lifetime_years", "kwh_eur", "switch_w"])
def test_a_run_has_a_cost_if_all_that_it_consists_of_is_known(missing: str) -> None:
    assert not math.isnan(tree().columns(60, 1e6)["run_eur"])
    assert math.isnan(tree(4, replace(PRICES, **{missing: None})).columns(60, 1e6)["run_eur"])


@given(st.floats(0, 1e7), st.floats(0, 1e12), st.floats(1, 100))
def test_energy_and_cost_grow_with_time_and_with_joules(makespan_s: float, hosts_j: float, factor: float) -> None:
    cost = tree()
    for amount in ("energy_kwh", "run_eur"):
        one = cost.columns(makespan_s, hosts_j)[amount]
        assert cost.columns(factor * makespan_s, factor * hosts_j)[amount] == pytest.approx(factor * one)
        assert cost.columns(makespan_s, factor * hosts_j)[amount] >= one


def test_the_columns_of_a_table_are_those_of_the_contract() -> None:
    cost = tree()
    columns = cost.columns(makespan_s=100.0, hosts_j=1e6)
    energy_kwh = cost.energy_kwh(100.0, 1e6)
    assert columns == {
        "hosts": 512,
        "switches": 36,
        "cables": 640,
        "price_eur": cost.price_eur,
        "energy_kwh": energy_kwh,
        "energy_eur": 0.2 * energy_kwh,
        "edp": 3.6e6 * energy_kwh * 100.0,
        "run_eur": cost.run_eur(100.0, energy_kwh),
    }


@pytest.mark.parametrize(
    ("line", "ports"),
    [
        ("torus 4x4x4", 64 * 6),
        ("torus 2x2", 4 * 2),  # two hosts on a ring have one cable
        ("flat hosts=10", 10),
        ("fat-tree hosts=100 ports=16", 100),
        ("fat-tree hosts=8 nic.rails=2", 16),
        ("dragonfly ports=40 hosts=96", 96),
    ],
)
def test_hosts_are_charged_the_ports_of_their_adapters(line: str, ports: int) -> None:
    machine = read_machine(line, 1, [("price.host_eur", "9000"), ("price.nic_eur", "200")])
    plain = read_machine(line, 1, [("price.host_eur", "9000")])
    assert machine_cost(machine).hosts_eur - machine_cost(plain).hosts_eur == ports * 200
    assert machine == plain
