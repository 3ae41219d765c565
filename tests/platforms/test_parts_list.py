"""Hosts, switches and cables of machines: formulas, held against the graph of the routes of small ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from smpy.platforms import (
    Backbone,
    Cabinet,
    Cluster,
    Description,
    EmptyZone,
    FlatCluster,
    FullZone,
    Host,
    HostLink,
    Link,
    NumberedNames,
    Peer,
    Router,
    Sharing,
    StarZone,
    VivaldiZone,
    Zone,
    read_machine,
)
from smpy.platforms.parts_list import CableParts, HostParts, PartsList, SwitchParts, total
from smpy.platforms.route_graph import route_graph

EDGES = "a,b,bandwidth,cables\nh0,s,,1\nh1,s,,2\ns,t,10Gb/s,3\nt,h2,,1\nt,h3,,1\n"
MACHINES = [
    "flat hosts=5",
    "flat hosts=3 backbone_bandwidth=10Gb/s backbone_latency=1us",
    "fat-tree children=4 parents=1",
    "fat-tree children=4,3 parents=1,2",
    "fat-tree children=4,3 parents=2,2 cables=1,2",
    "fat-tree children=2,2,2 parents=1,2,2",
    "fat-tree children=4,3 parents=1,2 nic.limit=300Gb/s nic.duplex=half",
    "torus 4x3",
    "torus 2x3x1",
    "torus 2x2",
    "torus 5",
    "torus 3x3 rails=2",
    "dragonfly groups=3 chassis_per_group=2 routers_per_chassis=2 hosts_per_router=2 routing=valiant",
    "dragonfly groups=1 routers_per_chassis=3 hosts_per_router=2",
    "dragonfly groups=3 routers_per_chassis=4 hosts_per_router=2 blue=4 green=2",
    "hyperx 3x2 hosts_per_switch=2",
    "hyperx 2x2 hosts_per_switch=5 cables=2,1",
    "graph edges.csv",
    "graph ring.csv host_pattern=n*",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "ring.csv").write_text("a,b\nn0,n1\nn1,n2\nn2,n3\nn3,n0\n")
    monkeypatch.chdir(tmp_path)


def parts_of(machine: Description) -> PartsList:
    parts = machine.parts_list
    assert parts is not None
    return parts


def n_cables_of(name: str, line: str) -> int:
    """Number of cables in a link of that name: none inside a host or a switch, several in a bundle."""
    if name.endswith(("_limiter", "_backbone")):
        return 0
    return {"blue": 4, "green": 2}.get(name.partition("_")[0], 1) if "blue=4" in line else 1


def wire_name(link: str) -> str:
    """Name of a cable: the same for both links of a split one."""
    return link.removesuffix("_UP").removesuffix("_DOWN")


def ports_of_switches(line: str) -> list[int]:
    """Number of cables at each switch, in the graph that a machine's routes run through."""
    platform = read_machine(line, 1).build()
    graph = route_graph(platform)
    found: dict[int, set[str]] = {node: set() for node in range(graph.n_hosts, graph.n_nodes)}
    for edge in graph.edges:
        names = {wire_name(platform.link_name(link)) for link in edge.links}
        for node in set(edge.nodes):
            if node in found:
                found[node] |= names
    return [sum(n_cables_of(name, line) for name in names) for names in found.values()]


@pytest.mark.parametrize("line", MACHINES)
def test_the_cables_are_those_that_the_routes_cross(line: str) -> None:
    machine = read_machine(line, 1)
    platform = machine.build()
    crossed = {
        wire_name(name)
        for source in range(platform.n_hosts)
        for target in range(platform.n_hosts)
        if source != target
        for name in platform.route(source, target).link_names
    }
    assert parts_of(machine).n_cables == sum(n_cables_of(name, line) for name in crossed)
    assert parts_of(machine).n_hosts == platform.n_hosts
    assert parts_of(machine).n_cores == platform.n_cores


@pytest.mark.parametrize("line", [line for line in MACHINES if "nic.limit" not in line])
def test_the_switches_and_their_ports_are_those_of_the_graph_of_the_routes(line: str) -> None:
    parts = parts_of(read_machine(line, 1))
    ports = ports_of_switches(line)
    assert {kind.ports: kind.count for kind in parts.switches} == Counter(ports)
    assert parts.n_ports == sum(ports)


@pytest.mark.parametrize(
    "line", ["fat-tree children=4,3 parents=1,2", "dragonfly hosts=16", "hyperx 3x2 hosts_per_switch=2", "flat hosts=4"]
)
def test_each_rail_has_switches_and_cables_of_its_own(line: str) -> None:
    one, three = (parts_of(read_machine(f"{line} rails={rails}", 1)) for rails in (1, 3))
    assert three.hosts == one.hosts
    assert (three.n_switches, three.n_cables) == (3 * one.n_switches, 3 * one.n_cables)
    assert three.n_ports == 3 * (one.n_ports or 0)


@pytest.mark.parametrize(
    "line",
    ["fat-tree children=4,3 parents=1,2", "hyperx 3x2 hosts_per_switch=2", "dragonfly hosts=16", "graph edges.csv"],
)
def test_every_end_of_a_cable_is_at_a_host_or_in_a_port(line: str) -> None:
    parts = parts_of(read_machine(line, 1))
    to_hosts = sum(kind.count * (2 - (kind.switch_ends or 0)) for kind in parts.cables)
    assert (
        parts.n_ports == 2 * parts.n_cables - to_hosts == sum(kind.count * (kind.ports or 0) for kind in parts.switches)
    )


@pytest.mark.parametrize(
    ("line", "n_places"),
    [
        ("fat-tree children=4,3 parents=1,2", 12),
        ("hyperx 3x2 hosts_per_switch=2", 12),
        ("dragonfly groups=3 routers_per_chassis=3 hosts_per_router=2", 18),
    ],
)
def test_a_place_without_a_host_has_no_cable_and_the_switches_stay(line: str, n_places: int) -> None:
    full, partly = (parts_of(read_machine(f"{line} hosts={n_hosts}", 1)) for n_hosts in (n_places, n_places - 3))
    assert partly.switches == full.switches
    assert (partly.n_hosts, partly.n_cables) == (full.n_hosts - 3, full.n_cables - 3)
    assert partly.n_ports == (full.n_ports or 0) - 3


def test_cables_of_another_bandwidth_are_told_apart() -> None:
    tree = parts_of(read_machine("fat-tree children=4,3 parents=1,2 nic=100Gb/s level2_bandwidth=400Gb/s", 1))
    assert tree.cables == (CableParts(12, 1, 12.5e9), CableParts(6, 2, 50e9))
    dragonfly = parts_of(read_machine("dragonfly hosts=16 nic=100Gb/s blue_bandwidth=400Gb/s", 1))
    assert dragonfly.cables == (CableParts(16, 1, 12.5e9), CableParts(24, 2, 12.5e9), CableParts(4, 2, 50e9))
    graph = parts_of(read_machine("graph edges.csv nic=100Gb/s", 1))
    assert graph.cables == (CableParts(5, 1, 12.5e9), CableParts(3, 2, 1.25e9))


def test_groups_of_hosts_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        "topology.kind = 'flat'\nnic.bandwidth = '25Gb/s'\n"
        "[group.fat]\ncount = 2\ncores = 64\nnic.bandwidth = '100Gb/s'\n[group.thin]\ncount = 3\ncores = 8\n"
    )
    parts = parts_of(read_machine(tmp_path / "m.toml", 1))
    assert parts.hosts == (HostParts(2, 64), HostParts(3, 8))
    assert parts.cables == (CableParts(2, 1, 12.5e9), CableParts(3, 1, 3.125e9))


# ---- zones whose parts are declared ----


def test_of_a_zone_what_is_declared_is_counted() -> None:
    cluster = FlatCluster(Cluster("c", NumberedNames("n", (range(4),)), 1e9, 1e9, 1e-6, cores=2))
    loopback = Link("own", 1e10, 0.0, Sharing.FATPIPE)
    cord = Link("cord", 1e9, 1e-6, Sharing.SPLITDUPLEX)
    world = FullZone("world", (Host("desk", 1e9, cores=8), Router("door"), cord, loopback, cluster))
    parts = parts_of(Description("it", world))
    assert parts.hosts == (HostParts(1, 8), HostParts(4, 2))
    assert parts.switches == (SwitchParts(1), SwitchParts(1, 4))
    assert parts.cables == (CableParts(1, None, 1e9), CableParts(4, 1, 1e9))
    assert parts.n_ports is None


def test_the_centre_of_a_star_is_one_switch_and_its_backbone_no_cable() -> None:
    wire, backbone = Link("wire", 1e9, 1e-6, Sharing.SPLITDUPLEX), Link("b", 1e10, 1e-6)
    star = StarZone(
        "star",
        (
            Host("h", 1e9),
            wire,
            HostLink("h", "wire_UP", "wire_DOWN"),
            Cabinet(NumberedNames("c", (range(5),)), 1e9, 1e9, 1e-6),
            Router("out"),
            Backbone(backbone),
        ),
    )
    parts = parts_of(Description("it", star))
    assert parts.switches == (SwitchParts(1, 6),)
    assert (parts.n_hosts, parts.n_cables) == (6, 6)
    assert parts_of(Description("it", StarZone("empty"))) == PartsList()


def test_peers_have_a_cable_each_to_no_switch() -> None:
    peers = tuple(Peer(name, 1e9, 1e9, 1e8, (0.0, 0.0, 0.0)) for name in "abc")
    parts = parts_of(Description("it", VivaldiZone("net", peers)))
    assert (parts.n_hosts, parts.n_switches, parts.cables) == (3, 0, (CableParts(3, None, 1e9),))


def test_what_a_topology_without_a_formula_consists_of_is_not_known() -> None:
    class Odd(Zone):
        pass

    assert Description("it", Odd()).parts_list is None
    assert Description("it", EmptyZone("around", (Host("h", 1e9), Odd()))).parts_list is None
    assert total([PartsList(), None]) is None


@pytest.mark.parametrize(
    ("line", "n_switches", "n_cables"),
    [
        ("fat-tree children=32,32,100 parents=1,32,32", 32 * 100 + 32 * 100 + 1024, 3 * 102_400),
        ("torus 100x100x10", 0, 3 * 100_000),
        ("hyperx 25x25x20 hosts_per_switch=8", 12_500, 100_000 + 12_500 * (24 + 24 + 19) // 2),
        ("dragonfly groups=32 routers_per_chassis=250 hosts_per_router=13", 8000, 104_000 + 32 * 31_125 + 496),
    ],
)
def test_a_machine_of_100000_hosts_is_few_kinds_of_parts(line: str, n_switches: int, n_cables: int) -> None:
    parts = parts_of(read_machine(line, 1))
    assert parts.n_hosts >= 100_000
    assert (parts.n_switches, parts.n_cables) == (n_switches, n_cables)
    assert len(parts.hosts) + len(parts.switches) + len(parts.cables) < 10
