"""A machine becomes JSON and comes back as the same value, of whatever kind it is; anything else is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import inf
from pathlib import Path

import pytest

from smpy.errors import PlatformError
from smpy.platforms import (
    Cache,
    Changing,
    Cluster,
    Description,
    DijkstraZone,
    Dragonfly,
    DragonflyShape,
    EmpiricalNoise,
    FatTree,
    FlatCluster,
    FullZone,
    Graph,
    Host,
    HostGroup,
    JoinedNames,
    KernelCost,
    KernelCosts,
    Link,
    LinkClass,
    ListedNames,
    NumberedNames,
    Peer,
    Prices,
    Profile,
    ProfileConnection,
    Router,
    Sharing,
    TreeShape,
    VivaldiZone,
    Zone,
    default_cluster,
    topology,
)
from smpy.platforms.edge_list import Edge
from smpy.platforms.machine import read_machine
from smpy.platforms.machine_json import machine_from_json, machine_to_json
from smpy.platforms.presets import preset_names
from smpy.platforms.simgrid.reader import read_simgrid_xml
from tests.peer.drawn_zones import drawn_platform

ROOT = Path(__file__).parents[2]
FILES = [
    *sorted((ROOT / "tests/peer/platforms").glob("*.xml")),
    ROOT / "tests/oracle/routes.xml",
    ROOT / "tests/oracle/topologies.xml",
    ROOT / "calibration/cloud-xeon/machine.toml",
    ROOT / "calibration/study-2017/laptop.toml",
]
LINES = [
    "fat-tree hosts=1000 level2_bandwidth=400Gb/s", "torus 8x8x8", "dragonfly hosts=500",
    "hyperx 8x8x4 hosts_per_switch=2",
    "flat hosts=3 host.memory_bandwidth=8GB/s host.caches=1MB:8GB/s rails=2", *preset_names(),
]  # fmt: skip
PROFILE = Profile(((0.0, 1.0), (30.0, 0.5)), period_s=60.0, origin="a.speed")
GROUPS = HostGroup(2, 1e9, 1e9, 1e-6), HostGroup(3, 2e9, 1e10, 1e-7, cores=4, properties=(("power", '5 "W" \\'),))
NAMES = JoinedNames((NumberedNames("n", (range(2),)), ListedNames(("a", "b", "ü\udcff"))))
CLUSTER = Cluster("c", NAMES, 1e9, 1e9, 1e-6, groups=GROUPS, caches=(Cache(1e6, 1e10),))
FAT_LINK = Link("l", inf, 0.1 + 0.2, Sharing.FATPIPE)
NOISE = EmpiricalNoise((-0.1, 0.0, 0.2))
EMPTY = FullZone("z")
MADE = [
    Description("a", FlatCluster(CLUSTER), prices=Prices(host_eur=1e4), calibration={"date": "today", "raw": [1, 2.5]}),
    Description("b", VivaldiZone("v", (Peer("p", 1e9, 1.0, 2.0, (0.0, -0.0, 3.5)), Router("r", (1, 2.0, 3))))),
    Description("c", FullZone("f", (Host("h", 1e9, 2, speed_profile=PROFILE), FAT_LINK))),
    Description("d", DijkstraZone("d", ()), connections=(ProfileConnection(Changing.LATENCY, "l", PROFILE),)),
    Description("e", FatTree(CLUSTER, TreeShape((5,), (1,), (1,)), link_classes=(LinkClass("level1", 1e9, 1e-6),))),
    Description("f", Graph(CLUSTER, (Edge("a", "s", 2, 1e9), Edge("s", "b"))), origin="f.toml:3", sha256="0" * 64),
    Description("g", EMPTY, kernels=KernelCosts(1e9, (
        KernelCost("dgemm", ("m", "n"), (("m*n", 5e-11),), (1e-12,), NOISE, quality={"r": 1.0}),
    ))),
]  # fmt: skip


def spelled(value: object) -> object:
    """A value with the types of all its parts: 1 and 1.0, 0.0 and -0.0 are told apart, and no field is left out."""
    if is_dataclass(value):
        return type(value), [(each.name, spelled(getattr(value, each.name))) for each in fields(value)]
    if isinstance(value, tuple | list):
        return type(value), [spelled(each) for each in value]
    if isinstance(value, Mapping):
        return [(key, spelled(each)) for key, each in value.items()]
    return type(value), repr(value)


def returned(machine: Description) -> Description:
    return machine_from_json(machine_to_json(machine).encode())


def is_same(machine: Description) -> bool:
    back = returned(machine)
    return back == machine and back.fingerprint == machine.fingerprint and spelled(back) == spelled(machine)


@pytest.mark.parametrize("text", [*map(str, FILES), *LINES], ids=lambda text: text.rpartition("/")[2][:30])
def test_machines_of_files_lines_and_presets_come_back(text: str):
    assert is_same(read_machine(text, 16, []))


@pytest.mark.parametrize("seed", range(20))
def test_zones_in_zones_come_back(seed: int, tmp_path: Path):
    text, _ = drawn_platform(seed, depth=3)
    (tmp_path / "machine.xml").write_text(text)
    assert is_same(read_simgrid_xml(tmp_path / "machine.xml"))


@pytest.mark.parametrize("machine", MADE, ids=lambda machine: machine.name)
def test_machines_made_in_python_come_back(machine: Description):
    assert is_same(machine)


def test_a_large_cluster_is_a_short_text():
    machine = default_cluster(128 * 65_536)
    assert is_same(machine)
    assert len(machine_to_json(machine)) < 3000


@topology("PAIR")
@dataclass(frozen=True, slots=True)
class Pair(Zone):
    """A topology from outside smpy."""

    cluster: Cluster
    gap_m: float = 1.0


def test_a_topology_from_outside_comes_back_where_it_is_known():
    machine = Description("two", Pair(CLUSTER, 2))
    assert is_same(machine)
    text = machine_to_json(machine).replace("Pair", "Trio")
    with pytest.raises(PlatformError, match=r"^machine.zone: 'Trio' is no known zone: import the module"):
        machine_from_json(text.encode())


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"Description"', '"Popen"', "machine: 'Popen' is no known description"),
        ('"FlatCluster"', '"Description"', "machine.zone: 'Description' is no known zone"),
        ('"FlatCluster"', '"Zone"', "machine.zone: 'Zone' is no known zone"),
        ('"speed_flop_per_s": 1000000000.0', '"speed_flop_per_s": "fast"', "speed_flop_per_s: must be a number"),
        ('"speed_flop_per_s": 1000000000.0', '"speed": 1.0', "machine.zone.cluster.*: it has no 'speed_flop_per_s'"),
        ('"cores": 4', '"cores": true', r"groups\[1\].cores: must be a whole number"),
        ('"cores": 4', f'"cores": {10**30}', r"groups\[1\].cores: must be a whole number of at most 64 bits"),
        ('"cores": 4', '"cores": 4.5', r"groups\[1\].cores: must be a whole number"),
        ('"cores": 4', '"cores": NaN', "NaN is no number of JSON"),
        ('"cores": 4', '"cores": 4, "__class__": 3', "a HostGroup has no '__class__'"),
        ("[[0, 2, 1]]", "[[0, 2, 0]]", "a range counts upwards"),
        ("[[0, 2, 1]]", f"[[{-(2**63)}, {2**63}, 1]]", r"ranges\[0\]: must be a range with fewer numbers"),
        ("[[0, 2, 1]]", "[0, 2, 1]", r"ranges\[0\]: must be a range"),
        ('"format": 1', '"format": 9', "it has format 9, and this version of smpy reads 1"),
    ],
)
def test_a_text_that_is_no_machine_is_refused_with_the_place(before: str, after: str, told: str):
    text = machine_to_json(MADE[0])
    assert before in text
    with pytest.raises(PlatformError, match=told):
        machine_from_json(text.replace(before, after, 1).encode())


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"format": 1}', b'{"format": 1, "machine": 3}']
)
def test_a_text_without_a_machine_is_refused(text: bytes):
    with pytest.raises(PlatformError):
        machine_from_json(text)


def test_a_value_that_a_part_refuses_is_named_with_its_place():
    text = machine_to_json(Description("a", EMPTY)).replace('"fills_hosts"', '"x"')
    content = json.loads(text)
    content["machine"]["models"] = {"class": "Models", "network": {"class": "NetworkModel", "weight_bytes": -1}}
    with pytest.raises(PlatformError, match=r"machine.models.network: weight_bytes is -1: it cannot be negative"):
        machine_from_json(json.dumps(content).encode())


@pytest.mark.parametrize("kind", [["KernelCosts"], {"class": "KernelCosts"}, 3, None])
def test_a_class_that_is_no_text_is_refused_where_there_may_be_none(kind: object):
    content = json.loads(machine_to_json(MADE[0]))
    content["machine"]["kernels"] = {"class": kind}
    with pytest.raises(PlatformError, match=r"^machine.kernels: must be an object with a 'class'"):
        machine_from_json(json.dumps(content).encode())


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        (Graph(Cluster("c", NumberedNames("n", ()), 1e9, 1e9, 1e-6), (Edge("a", "b"),)), "has no hosts"),
        (Dragonfly(CLUSTER, DragonflyShape(2, 1, 2, 2**40, 1, 1, 1)), "hosts at a router: there can be 2147483647"),
    ],
    ids=["graph", "dragonfly"],
)
def test_a_topology_that_cannot_be_is_refused_when_it_is_built(zone: Zone, told: str):
    with pytest.raises(PlatformError, match=told):
        returned(Description("a", zone)).build()
