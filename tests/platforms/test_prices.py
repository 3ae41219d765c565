"""Prices and power of a machine's parts: read, changed, written, and of no consequence to the simulation."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from smpy.errors import PlatformError, UsageError
from smpy.platforms import (
    Cluster,
    Description,
    FlatCluster,
    FullZone,
    Host,
    NumberedNames,
    Prices,
    read_machine,
)
from smpy.platforms.machine import changed
from smpy.platforms.own_format.prices import read_price_list
from smpy.platforms.own_format.writing import write_toml

TOML = """
topology.kind = "flat"
host.count = 4
[price]
host_eur = 9000
host_hour_eur = 2.5
switch_eur = 8000
switch_port_eur = 250
cable_eur = 70
switch_cable_eur = 400
kwh_eur = 0.2
lifetime_years = 5
[power]
idle = "200W"
busy = "0.7kW"
switch = "300W"
"""
NETWORK = Prices(
    switch_eur=8000,
    switch_port_eur=250,
    cable_eur=70,
    switch_cable_eur=400,
    kwh_eur=0.2,
    lifetime_years=5,
    switch_w=300,
)
ALL = replace(NETWORK, host_eur=9000, host_hour_eur=2.5, host_idle_w=200, host_busy_w=700)
XML = (
    '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
    '<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="10us"/></platform>'
)


def machine(tmp_path: Path, text: str = TOML, *options: tuple[str, str]) -> Description:
    (tmp_path / "m.toml").write_text(text)
    return read_machine(tmp_path / "m.toml", 1, options)


def test_a_machine_says_what_its_parts_cost_and_draw(tmp_path: Path) -> None:
    assert machine(tmp_path).prices == NETWORK
    zone = machine(tmp_path).zone
    assert isinstance(zone, FlatCluster)
    noted = {"wattage_per_state": "200.0:700.0", "price_per_host": "9000.0", "price_per_host_hour": "2.5"}
    assert dict(zone.cluster.properties) == noted
    assert machine(tmp_path, "topology.kind = 'flat'").prices == Prices()


def test_a_price_of_nothing_is_not_a_price_that_nobody_knows(tmp_path: Path) -> None:
    assert machine(tmp_path, "price.kwh_eur = 0").prices == Prices(kwh_eur=0)


def test_machines_that_differ_in_prices_alone_are_equal_and_have_one_fingerprint(tmp_path: Path) -> None:
    dear = [(f"price.{key}", "x2") for key in ("host_eur", "host_hour_eur", "cable_eur", "lifetime_years")]
    dear += [(f"power.{key}", "x2") for key in ("idle", "busy", "switch")]
    cheap, other = machine(tmp_path), machine(tmp_path, TOML, *dear)
    assert other.prices != cheap.prices
    assert other.fingerprint == cheap.fingerprint == machine(tmp_path, TOML.partition("[price]")[0]).fingerprint
    network = [option for option in dear if option[0] in ("price.cable_eur", "power.switch")]
    assert machine(tmp_path, TOML, *network) == cheap
    own = machine(tmp_path, TOML + "[host.properties]\n'smpi/os' = '0:1us:0'\n")
    assert own.fingerprint != cheap.fingerprint


def test_prices_are_written_down_and_read_back(tmp_path: Path) -> None:
    described = machine(tmp_path)
    (tmp_path / "again.toml").write_text(write_toml(described))
    again = read_machine(tmp_path / "again.toml", 1)
    assert (again.prices, again) == (NETWORK, described)
    bare = Description("bare", described.zone, prices=Prices(host_eur=5))
    with pytest.raises(PlatformError, match=r"our TOML cannot say this machine: host_eur = 5"):
        write_toml(bare)


def test_prices_change_by_an_option(tmp_path: Path) -> None:
    other = machine(tmp_path, TOML, ("price.cable_eur", "100"), ("power.switch", "x2"))
    assert other.prices == replace(NETWORK, cable_eur=100, switch_w=600)
    assert read_machine("flat hosts=2 price.kwh_eur=0.3", 1).prices == Prices(kwh_eur=0.3)


def test_a_machine_that_no_file_of_ours_describes_is_given_prices_by_options(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(XML)
    options = [("price.host_eur", "9000"), ("price.cable_eur", "70"), ("power.busy", "700W"), ("host.speed", "x2")]
    described = read_machine(tmp_path / "m.xml", 1, options)
    assert described.prices == Prices(host_eur=9000, cable_eur=70)
    assert {dict(kind.properties)["wattage_per_state"] for kind in described.parts_list.hosts} == {"0.0:700.0"}
    assert described.fingerprint == read_machine(tmp_path / "m.xml", 1, options[-1:]).fingerprint
    with pytest.raises(UsageError, match="cable_euro: unknown key: did you mean 'cable_eur'"):
        read_machine(tmp_path / "m.xml", 1, [("price.cable_euro", "70")])
    with pytest.raises(UsageError, match="does not say it, and nothing times a factor is nothing"):
        read_machine(tmp_path / "m.xml", 1, [("price.cable_eur", "x2")])
    with pytest.raises(
        UsageError, match=r"only network.bandwidth, .* and the keys of \[price\], \[power\], .* can be set"
    ):
        read_machine(tmp_path / "m.xml", 1, [("prices.cable_eur", "2")])


def powers(described: Description) -> list[str | None]:
    assert described.parts_list is not None
    return [dict(kind.properties).get("wattage_per_state") for kind in described.parts_list.hosts]


def drawing(watts: str) -> Description:
    return Description("it", FullZone("world", (Host("a", 1e9, properties=(("wattage_per_state", watts),)),)))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([("power.busy", "300W")], "100.0:300.0"),
        ([("power.busy", "x2")], "100.0:400.0"),
        ([("power.idle", "50W"), ("power.one_core", "60W")], "50.0:60.0:200.0"),
        ([("power.busy?", "300W"), ("power.idle?", "1W")], "100:200"),
    ],
)
def test_options_change_what_they_name_of_the_power_of_hosts(options: list[tuple[str, str]], expected: str) -> None:
    assert powers(changed(drawing("100:200"), options)) == [expected]


@pytest.mark.parametrize(
    ("host", "option", "message"),
    [
        (Host("a", 1e9), ("power.busy", "x2"), "a host says no power, and nothing times a factor is nothing"),
        (Host("a", 1e9), ("power.idle", "9W"), r"an idle host draws 9 W: say power\.busy, too"),
        (Host("a", 1e9, state_speeds_flop_per_s=(1e9, 5e8)), ("power.busy", "9W"), "hosts have 2 states, each with a"),
        (
            Host("a", 1e9),
            ("host.cores?", "2"),
            r"the keys of \[price\], \[power\], .* can be set: did you mean 'host.cores'",
        ),
        (Host("a", 1e9), ("power.busyy?", "2W"), "unknown key: did you mean 'busy'"),
    ],
)
def test_a_change_of_power_that_makes_no_sense_is_refused(host: Host, option: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        changed(Description("it", FullZone("world", (host,))), [option])


def test_a_power_for_machines_that_say_none_is_that_of_hosts_with_one_state() -> None:
    several = Host("b", 1e9, state_speeds_flop_per_s=(1e9, 5e8))
    quiet = changed(
        Description("it", FullZone("world", (Host("a", 1e9), several))), [("power.idle?", "5W"), ("power.busy?", "9W")]
    )
    assert (quiet.prices.host_idle_w, quiet.prices.host_busy_w) == (5, 9)
    quiet.build()  # the host with two states has none of them, which would be of one
    assert changed(drawing("1:2"), [("power.busy?", "9W")]).prices == Prices()


def test_an_option_leaves_the_other_prices_of_a_machine_made_in_python() -> None:
    cluster = FlatCluster(Cluster("c", NumberedNames("n", (range(4),)), 1e9, 1e9, 1e-6))
    own = Description("it", cluster, prices=Prices(cable_eur=1, kwh_eur=0.5))
    assert changed(own, [("price.cable_eur", "3")]).prices == Prices(cable_eur=3, kwh_eur=0.5)


# ---- price lists, apart from a machine ----


@pytest.mark.parametrize("form", ["file", "text", "tables", "keys", "dotted"])
def test_a_price_list_is_a_file_or_a_mapping(tmp_path: Path, form: str) -> None:
    (tmp_path / "m.toml").write_text(TOML)
    price = {field.name: getattr(ALL, field.name) for field in fields(Prices) if not field.name.endswith("_w")}
    power = {"idle": "200W", "busy": "700W", "switch": "300W"}
    given = {
        "file": tmp_path / "m.toml",
        "text": str(tmp_path / "m.toml"),
        "tables": {"price": price, "power": power},
        "keys": {**price, "power": power},
        "dotted": {f"price.{key}": value for key, value in price.items()} | {"power": power},
    }
    assert read_price_list(given[form]) == ALL


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"price": {"cables_eur": 3}}, "prices: price.cables_eur: unknown key: did you mean 'cable_eur'"),
        ({"cables_eur": 3}, "prices: price.cables_eur: unknown key: did you mean 'cable_eur'"),
        ({"powers": {"idle": "3W"}}, r"unknown key: \[price\] takes host_eur"),
        ({"price": 3}, r"it is a table of settings: write \[price\]"),
        ({"price": {"cable_eur": "dear"}}, "'dear' is no number"),
        ({"price": {"cable_eur": -1}}, "it is -1, and must be at least 0"),
        ({"price": {"lifetime_years": 0}}, "it is 0, and must be above 0"),
        ({"power": {"switch": 300}}, "300 has no unit"),
        ({"power": {"idle": "9W", "busy": "8W"}}, "all cores busy draws 8 W, and an idle one 9 W"),
        ("nowhere.toml", "cannot read platform file 'nowhere.toml'"),
        ("hdr", r"hdr: it has neither \[price\] nor \[power\]"),
    ],
)
def test_what_is_no_price_list_is_refused(given: str | dict[str, object], message: str) -> None:
    with pytest.raises(PlatformError, match=message):
        read_price_list(given)


def test_the_example_prices_are_a_list_and_can_be_included(tmp_path: Path) -> None:
    listed = read_price_list("example-prices")
    not_said = [field.name for field in fields(Prices) if getattr(listed, field.name) is None]
    assert not_said == ["host_hour_eur", "nic_eur", "switch_eur", "link_idle_w", "link_busy_w"]
    included = machine(tmp_path, "include = ['edr', 'example-prices']\nhost.count = 4")
    assert (included.prices.cable_eur, included.name) == (listed.cable_eur, "an EDR InfiniBand cluster")
    assert included.fingerprint == machine(tmp_path, "include = 'edr'\nhost.count = 4").fingerprint


def test_the_prices_of_a_machine_stand_above_others() -> None:
    cluster = FlatCluster(Cluster("c", NumberedNames("n", (range(4),)), 1e9, 1e9, 1e-6))
    own = Description("it", cluster, prices=Prices(cable_eur=1, kwh_eur=0)).prices
    assert own.with_defaults(Prices(cable_eur=2, kwh_eur=3, switch_w=4)) == Prices(cable_eur=1, kwh_eur=0, switch_w=4)


def test_prices_of_switches_by_their_ports_are_read_and_written_back(tmp_path: Path) -> None:
    sizes = {"36": 9000, "64": 21000}
    described = machine(tmp_path, TOML.replace("switch_eur = 8000", 'switch_eur = {"36" = 9000, "64" = 21000}'))
    assert described.prices.switch_eur == ((36, 9000), (64, 21000))
    assert read_price_list({"switch_eur": sizes}).switch_eur == described.prices.switch_eur
    (tmp_path / "again.toml").write_text(write_toml(described))
    assert read_machine(tmp_path / "again.toml", 1).prices == described.prices


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0.5:3;4:1", "a switch has 1 to 1,000,000 ports, not 0.5"),
        ("4:1;4:2", "a number of ports is there twice"),
        ("4:-1", "a switch of 4 ports cannot cost -1 EUR"),
    ],
)
def test_prices_by_ports_that_cannot_be_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(PlatformError, match=complaint):
        read_machine(f"flat hosts=4 price.switch_eur={text}", 1)
