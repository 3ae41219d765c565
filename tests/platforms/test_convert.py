"""Machines written down in our TOML: what is read back is the same machine, or it is refused by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from smpy.cli.main import main
from smpy.errors import PlatformError
from smpy.platforms import Cluster, Description, FatTree, FlatCluster, FullZone, NumberedNames, TreeShape
from smpy.platforms.inspection.inspection import link_kinds
from smpy.platforms.machine import read_machine
from smpy.platforms.own_format.writing import topology_of, write_toml
from smpy.platforms.presets import preset_names
from smpy.units import (
    exact_bandwidth,
    exact_size,
    exact_speed,
    exact_time,
    parse_bandwidth_bytes_per_s,
    parse_size_bytes,
    parse_speed_flop_per_s,
    parse_time_s,
)
from tests.peer import drawn_machines, nested_machines
from tests.peer.machines import KINDS, Draw

assert drawn_machines
assert nested_machines  # both register their kinds
SAYABLE = {"dragonfly", "fat_tree", "flat", "torus"}
PEER = Path(__file__).parents[1] / "peer" / "platforms"
REGULAR = ["cluster", "cluster_bare", "cluster_limited", "dragonfly", "fat_tree_3_shared", "torus", "torus_limited"]
CLUSTER = Cluster("c", NumberedNames("n", (range(2, 5), range(7, 8)), ".org"), 3e9, 1.25e9, 5e-6, cores=4)


def written(machine: Description, folder: Path) -> Description:
    path = folder / "machine.toml"
    path.write_text(write_toml(machine))
    return read_machine(path, 1)


@pytest.mark.parametrize("name", REGULAR)
def test_a_regular_machine_in_xml_has_the_same_hosts_links_and_routes_in_toml(tmp_path: Path, name: str) -> None:
    machine = read_machine(PEER / f"{name}.xml", 1)
    one, other = machine.build(), written(machine, tmp_path).build()
    assert one.host_names == other.host_names
    assert one.models == other.models
    assert link_kinds(one) == link_kinds(other)
    for source in range(one.n_hosts):
        for target in range(one.n_hosts):
            if source != target:
                assert one.route(source, target) == other.route(source, target)


GRAPH = """a,b,bandwidth,latency,cables
h0,s,9GB/s,,2
h[1],s,,3us,
t,s,,,
h10,t,,,
u,t,,,
"""


@pytest.mark.parametrize("pattern", ["", "host_pattern=h*", "'host_pattern=[hu]*' routing=least_latency"])
def test_a_graph_is_written_down_with_its_edges(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "edges.csv").write_text(GRAPH)
    machine = read_machine(f"graph {tmp_path}/edges.csv {pattern}", 1)
    again = written(machine, tmp_path)
    assert again == machine
    assert again.fingerprint == machine.fingerprint


def test_a_file_may_list_edges_itself(tmp_path: Path) -> None:
    def read(edges: str) -> Description:
        (tmp_path / "m.toml").write_text(f'topology = {{kind = "graph", edges = {edges}}}')
        return read_machine(tmp_path / "m.toml", 1)

    (tmp_path / "edges.csv").write_text("a,b,cables,bandwidth\nh0,s,2,\nh1,s,,8Gb/s\n")
    rows = '[{a = "h0", b = "s", cables = 2}, {b = "s", a = "h1", bandwidth = "8Gb/s"}]'
    assert read(rows).zone == read('"edges.csv"').zone != read(rows.replace("h1", "h2")).zone
    for edges, what in (
        ("[3]", "m.toml:1: topology.edges: edge 1: 3 is no table"),
        ("[]", "there are no edges"),
        ('[{a = "x", b = "y"}, {a = "x", d = "y"}]', "edge 2: unknown column 'd'"),
        ('[{a = "x"}]', "edge 1: there is no column 'b'"),
        ('[{a = "x", b = "y", cables = 0}]', "edge 1: column 'cables': '0' is no number from 1"),
        ('[{a = "x", b = "y", latency = "soon"}]', "edge 1: column 'latency': 'soon'"),
    ):
        with pytest.raises(PlatformError, match=re.escape(what)):
            read(edges)


@pytest.mark.filterwarnings("ignore")  # warnings about attributes without effect
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_drawn_machine_of_xml_is_the_same_in_toml_or_refused_by_name(tmp_path: Path, kind: str) -> None:
    for seed in range(4):
        drawn = KINDS[kind](Draw(seed))
        for name, text in {**drawn.files, "machine.xml": drawn.xml}.items():
            (tmp_path / name).write_text(text)
        machine = read_machine(tmp_path / "machine.xml", 1, drawn.settings)
        try:
            again = written(machine, tmp_path)
        except PlatformError as wrong:
            assert kind not in SAYABLE
            assert re.search(r"our TOML cannot say this machine: \w", str(wrong))  # noqa: PT017  # it need not be
        else:
            assert again.fingerprint == replace(machine, zone=topology_of(machine)).fingerprint


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_that_is_written_down_is_the_same_machine(tmp_path: Path, name: str) -> None:
    machine = read_machine(name, 5000)
    assert written(machine, tmp_path) == machine


@pytest.mark.parametrize(
    "line",
    [
        "torus 4x3 nic.duplex=half",
        "hyperx 4x2 hosts_per_switch=3 cables=1x2 routing=valiant seed=5",
        "hyperx 3x2 hosts=14 cables=2x1 rails=2",
        "dragonfly groups=3 chassis_per_group=2 routers_per_chassis=3 hosts_per_router=2 blue=2 routing=valiant seed=1",
        "flat hosts=5 backbone_bandwidth=40Gb/s backbone_latency=1us memory_bandwidth=400GB/s",
        "fat-tree hosts=100 oversubscription=2",
        "fat-tree 4x4 rails=2",
    ],
)
def test_a_machine_of_one_line_that_is_written_down_is_the_same_machine(tmp_path: Path, line: str) -> None:
    machine = read_machine(line, 1)
    assert written(machine, tmp_path) == machine


@pytest.mark.parametrize(
    "options",
    [
        {"smpi/os": "0:1us:0.5ns;65536:2us:0", "smpi/or": "0:3us:0.1ns", "smpi/ois": "0:1us:0"},
        {"smpi/lat-factor": "0:1.5;1000:2.5", "smpi/bw-factor": "0:0.9", "network/crosstraffic": "no"},
        {"network/TCP-gamma": "1000000", "network/weight-S": "1234.5", "network/model": "LV08"},
        {"smpi/send-is-detached-thresh": "1000", "smpi/wtime": "50ns", "smpi/test": "1ms", "smpi/iprobe": "2ms"},
        {"smpi/grow-injected-times": "no", "smpi/alltoall": "ring"},
    ],
)
def test_options_of_a_platform_file_are_written_down(tmp_path: Path, options: dict[str, str]) -> None:
    machine = read_machine(PEER / "fat_tree.xml", 1, tuple(options.items()))
    assert machine.models != read_machine(PEER / "fat_tree.xml", 1).models
    again = written(machine, tmp_path)
    assert (again.zone, again.models) == (machine.zone, machine.models)


@given(
    st.floats(1.0, 1e12),
    st.floats(1e-9, 10.0),
    st.floats(1e3, 1e15),
    st.integers(1, 9),
    st.booleans(),
)
def test_every_number_is_read_back_as_it_was(
    bandwidth: float, latency: float, speed: float, n_hosts: int, is_split: bool
) -> None:
    """`write_toml` reads back what it wrote, and refuses what is not the same."""
    cluster = replace(
        CLUSTER,
        hosts=NumberedNames("n", (range(n_hosts),)),
        bandwidth_bytes_per_s=bandwidth,
        latency_s=latency,
        speed_flop_per_s=speed,
        is_split=is_split,
    )
    assert write_toml(Description("machine", FatTree(cluster, TreeShape((n_hosts,), (1,), (2,)))))


@pytest.mark.parametrize(
    ("exact", "parse"),
    [
        (exact_time, parse_time_s),
        (exact_bandwidth, parse_bandwidth_bytes_per_s),
        (exact_speed, parse_speed_flop_per_s),
        (exact_size, parse_size_bytes),
    ],
)
def test_an_exact_text_is_read_as_the_very_number(exact: Callable[[float], str], parse: Callable[[str], float]) -> None:
    @given(st.floats(0, 1e18))
    def check(value: float) -> None:
        assert parse(exact(value)) == value

    check()


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({"backbone_is_fatpipe": True}, "backbone_is_fatpipe = True"),
        ({"properties": (("colour", "red"), ("colour", "blue"))}, r"properties = \(\('colour', 'red'\), \("),
        ({"hosts": NumberedNames("n[x]", (range(4),))}, "host.names"),
        ({"hosts": NumberedNames("n", (range(0, 8, 2),))}, "ranges"),
    ],
)
def test_what_toml_cannot_say_of_a_cluster_is_refused_by_name(changes: dict[str, Any], lost: str) -> None:
    machine = Description("machine", FlatCluster(replace(CLUSTER, **changes)))
    with pytest.raises(PlatformError, match=f"machine: our TOML cannot say this machine: .*{lost}"):
        write_toml(machine)


@pytest.mark.parametrize(
    ("properties", "tables"),
    [
        ((("wattage_per_state", "93.5:200.0"), ("wattage_off", "5.0")), "power"),
        ((("wattage_per_state", "93.5:200.0"), ("price_per_host", "9000.0"), ("colour", "red")), "power price"),
        ((("wattage_per_state", "100:200"), ("wattage_off", "ten")), ""),  # not as we write these numbers
        ((("wattage_per_state", "95.0:120.0:200.0"), ("price_per_host_hour", "1.5")), "power price"),
        ((("wattage_per_state", "95.0:120.0"), ("wattage_off", "5")), "power"),
        ((("smpi/os", "0:1us:0"), ('a "b" = c.d', "\\")), ""),
    ],
)
def test_what_is_noted_of_hosts_is_written_down(
    tmp_path: Path, properties: tuple[tuple[str, str], ...], tables: str
) -> None:
    machine = Description("machine", FlatCluster(replace(CLUSTER, properties=properties)), fills_hosts=True)
    assert written(machine, tmp_path) == machine
    text = (tmp_path / "machine.toml").read_text()
    assert [name for name in ("power", "price") if f"[{name}]" in text] == tables.split()


def test_a_zone_around_a_cluster_alone_is_left_away_and_others_are_refused(tmp_path: Path) -> None:
    tree = FatTree(CLUSTER, TreeShape((4,), (1,), (1,)))
    assert written(Description("m", FullZone("world", (tree,))), tmp_path).zone == tree
    other = replace(CLUSTER, name="d", hosts=NumberedNames("m", (range(4),)))
    both = FullZone("world", (tree, FatTree(other, TreeShape((4,), (1,), (1,)))))
    with pytest.raises(PlatformError, match="FullZone 'world', which has parts and routes of its own"):
        write_toml(Description("m", both))


def test_the_command_writes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tree.toml"
    result = CliRunner().invoke(main, ["platform", "convert", str(PEER / "fat_tree.xml"), str(path)])
    assert result.exit_code == 0, result.output
    assert "16 hosts, the same machine as" in result.stdout
    again, machine = read_machine(path, 1), read_machine(PEER / "fat_tree.xml", 1)
    assert (again.fills_hosts, again.fingerprint) == (False, machine.fingerprint)
    shown = CliRunner().invoke(main, ["platform", "show", str(path)])
    assert "16 hosts, 16 cores" in shown.stdout
    refused = CliRunner().invoke(main, ["platform", "convert", str(PEER / "full.xml"), str(path)])
    assert refused.exit_code == 2
    assert "full.xml:4: <zone id='world'>: our TOML cannot say this machine" in refused.stderr


def test_a_program_takes_as_long_on_the_machine_that_was_written_down(
    emulated: Callable[..., Any], tmp_path: Path
) -> None:
    program = """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        world.alltoall([bytes(1000)] * world.size)
    """
    xml = PEER / "fat_tree.xml"
    (tmp_path / "tree.toml").write_text(write_toml(read_machine(xml, 1)))
    one, other = (
        emulated(program, 11, platform=platform, compute="none").outcome.summary.finish_s.tolist()
        for platform in (xml, tmp_path / "tree.toml")
    )
    assert one == other
