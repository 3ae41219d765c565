"""Hosts that are not all alike: groups of them in one machine, with cores, memory, cables, power of their own."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.platform import Platform
from smpy.errors import PlatformError, UsageError
from smpy.platforms import (
    Cluster,
    Description,
    FlatCluster,
    Host,
    HostGroup,
    HostLink,
    Link,
    ListedNames,
    Memory,
    NumberedNames,
    Sharing,
    StarZone,
    Torus,
    place,
    read_machine,
)
from smpy.platforms.own_format.writing import write_toml

FAT_AND_THIN = """
nic.bandwidth = "1GB/s"
host = {cores = 4, memory_bandwidth = "40GB/s"}
power.busy = "500W"

[group.fat]
count = 2
cores = 16
speed = "60Gf"
nic = {bandwidth = "4GB/s", latency = "2us"}
power.busy = "900W"
price.host_eur = 40000

[group.thin]
names = "thin-[1-6].site"
memory_bandwidth = "20GB/s"
properties = {colour = "red"}
"""
HOST_WIRES = {
    "fat-tree": (", children = [4, 2], parents = [2, 1], cables = [2, 1]", 4),
    "flat": ("", 1),
    "hyperx": (", dimensions = [2, 2], hosts_per_switch = 2", 1),
    "dragonfly": (", groups = 2, routers_per_chassis = 2, hosts_per_router = 2", 1),
}


def written(tmp_path: Path, text: str = FAT_AND_THIN) -> Path:
    path = tmp_path / "machine.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", HOST_WIRES)
@pytest.mark.parametrize("more", ["", "nic.rails = 2", 'nic.duplex = "half"'])
def test_each_host_has_what_its_group_says_in_every_topology(tmp_path: Path, kind: str, more: str) -> None:
    shape, wires_per_host = HOST_WIRES[kind]
    text = f'{more}\ntopology = {{kind = "{kind}"{shape}}}\n{FAT_AND_THIN}'
    platform = read_machine(written(tmp_path, text), 1).build()
    assert platform.host_names == ["fat-0", "fat-1", *(f"thin-{i}.site" for i in range(1, 7))]
    fat, thin = (16, 60e9, Memory(40e9)), (4, 49.6e9, Memory(20e9))
    found = [(platform.cores(i), platform.speed_flop_per_s(i), platform.memory(i)) for i in range(8)]
    assert found == [fat] * 2 + [thin] * 6
    assert platform.properties(1) == {"wattage_per_state": "0.0:900.0", "price_per_host": "40000.0"}
    assert platform.properties(7) == {"wattage_per_state": "0.0:500.0", "colour": "red"}
    own = [link for link in range(platform.n_links) if platform.link(link)[:2] == (4e9, pytest.approx(2e-6))]
    assert len(own) == 2 * wires_per_host * (1 if "half" in more else 2) * (2 if "rails" in more else 1)
    for source in range(8):
        for target in range(8):
            if source != target:
                links, latency_s = platform.route_links(source, target)
                ends = [links[0] in own, links[-1] in own]
                assert ends == [source < 2, target < 2]
                assert not {*links[1:-1]} & {*own}
                assert latency_s == pytest.approx(sum(platform.link(link)[1] for link in links))


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=4
    )
)
def test_a_flat_machine_of_different_hosts_is_a_star_of_them(groups: list[tuple[int, int, int, int]]) -> None:
    """A `StarZone`, which SimGrid judges, says every host and wire by itself."""
    line = "flat host.loopback_bandwidth=0 host.loopback_latency=0" + "".join(
        f" group.g{i}.count={n} group.g{i}.cores={cores} group.g{i}.sockets=1"
        f" group.g{i}.nic.bandwidth={bandwidth}GB/s group.g{i}.nic.latency={latency}us"
        for i, (n, cores, bandwidth, latency) in enumerate(groups)
    )
    flat = read_machine(line, 1).build()
    parts: list[Host | Link | HostLink] = []
    for i, (n, cores, bandwidth, latency) in enumerate(groups):
        for host in range(n):
            name, wires = f"g{i}-{host}", [f"{half}{i}-{host}" for half in ("up", "down")]
            parts += [Host(name, 49.6e9, cores), *(Link(wire, bandwidth * 1e9, latency * 1e-6) for wire in wires)]
            parts.append(HostLink(name, *wires))
    star = Description("star", StarZone("star", tuple(parts))).build()
    assert flat.host_names == star.host_names
    assert [*flat.all_hosts()] == [*star.all_hosts()]
    for source, target in permutations(range(flat.n_hosts), 2):
        one, other = (seen(machine, source, target) for machine in (flat, star))
        assert one == other


def seen(machine: Platform, source: int, target: int) -> tuple[list[float], float]:
    """The bandwidths of a route, and its latency."""
    links, latency_s = machine.route_links(source, target)
    return [machine.link(link)[0] for link in links], latency_s


def test_ranks_fill_the_cores_of_each_group_in_natural_order_of_names(tmp_path: Path) -> None:
    platform = read_machine(written(tmp_path), 1).build()
    assert place(platform, 38, None) == [0] * 16 + [1] * 16 + [2] * 4 + [3] * 2


def test_servers_of_a_graph_are_in_groups_by_name(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b\nmars,old2\nold2,venus\nvenus,old1\nold1,mars\n")
    text = """
    topology = {kind = "graph", edges = "edges.csv", host_pattern = "*"}
    group.mars = {names = "mars", cores = 64}
    group.old = {names = "old[1-2]", cores = 8}
    group.venus = {names = "venus", cores = 16}
    """
    platform = read_machine(written(tmp_path, text), 1).build()
    cores = {name: platform.cores(host) for host, name in enumerate(platform.host_names)}
    assert cores == {"mars": 64, "old1": 8, "old2": 8, "venus": 16}
    text = text.replace('"venus", cores', '"venos", cores')
    with pytest.raises(PlatformError, match="'venus' of the topology is in no group of hosts: did you mean 'venos'"):
        read_machine(written(tmp_path, text), 1)


@pytest.mark.parametrize("more", ["", "topology = {kind = 'flat', backbone_bandwidth = '9GB/s'}"])
def test_groups_are_written_down_compared_and_hashed(tmp_path: Path, more: str) -> None:
    machine = read_machine(written(tmp_path, f"{more}\n{FAT_AND_THIN}"), 1)
    (tmp_path / "again.toml").write_text(write_toml(machine))
    again = read_machine(tmp_path / "again.toml", 1)
    assert again == machine == pickle.loads(pickle.dumps(machine))
    assert again.fingerprint == machine.fingerprint
    other = read_machine(written(tmp_path), 1, [("group.fat.cores", "17")])
    assert other.fingerprint != machine.fingerprint


def test_a_change_of_all_hosts_changes_every_group_and_one_of_a_group_only_this_one(tmp_path: Path) -> None:
    def cores_of(*changes: tuple[str, str]) -> list[int]:
        platform = read_machine(written(tmp_path), 1, changes).build()
        return [platform.cores(host) for host in (0, 7)]

    assert cores_of() == [16, 4]
    assert cores_of(("host.cores", "x2")) == [32, 8]
    assert cores_of(("host.cores", "6")) == [6, 6]
    assert cores_of(("group.fat.cores", "x2")) == [32, 4]
    assert cores_of(("group.thin.cores", "2")) == [16, 2]
    doubled = read_machine(written(tmp_path), 1, [("network.bandwidth", "x2")]).build()
    assert {doubled.link(link)[0] for link in range(doubled.n_links)} == {
        2e9,
        8e9,
        10e9,
        5e9,
    }  # twice the wires and the loopbacks, and the memories


@pytest.mark.parametrize("kind", HOST_WIRES)
@pytest.mark.parametrize("rails", [1, 3])
def test_messages_within_a_host_have_the_cores_and_the_memory_of_its_group(
    tmp_path: Path, kind: str, rails: int
) -> None:
    text = f'nic.rails = {rails}\ntopology = {{kind = "{kind}"{HOST_WIRES[kind][0]}}}\n{FAT_AND_THIN}'
    for change, loopbacks, memories in (
        (("nic.limit", "1TB/s"), [max(10e9, rails * 4e9)] * 2 + [10e9] * 6, [10e9] * 2 + [5e9] * 6),
        (("host.memory_bandwidth", "x2"), [max(10e9, rails * 4e9)] * 2 + [10e9] * 6, [20e9] * 2 + [10e9] * 6),
        (("group.fat.core_memory_bandwidth", "30GB/s"), [15e9] * 2 + [10e9] * 6, [10e9] * 2 + [5e9] * 6),
        (("host.core_memory_bandwidth", "18GB/s"), [max(9e9, rails * 4e9)] * 2 + [9e9] * 6, [10e9] * 2 + [5e9] * 6),
        (("host.loopback_bandwidth", "7GB/s"), [7e9] * 8, [10e9] * 2 + [5e9] * 6),
    ):
        platform = read_machine(written(tmp_path, text), 1, [change]).build()
        routes = [[platform.link(link) for link in platform.route_links(host, host)[0]] for host in range(8)]
        assert routes == [
            [(loopback, pytest.approx(1e-7), Sharing.FATPIPE), (memory, 0, Sharing.SHARED)]
            for loopback, memory in zip(loopbacks, memories, strict=True)
        ]


def test_the_bisection_of_hosts_with_different_cables_has_no_formula(tmp_path: Path) -> None:
    text = 'topology.kind = "flat"\n' + FAT_AND_THIN
    machine = read_machine(written(tmp_path, text), 1)
    assert machine.zone.bisection_bandwidth_bytes_per_s is None
    same = text.replace('nic = {bandwidth = "4GB/s", latency = "2us"}', "")
    assert read_machine(written(tmp_path, same), 1).zone.bisection_bandwidth_bytes_per_s == 4e9


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ([("host.count", "8")], "--set host.count=8: host.count: each group of hosts says its own: remove it here"),
        ([("group.thin.count", "5")], "group.thin.count: it is 5, and names lists 6 hosts"),
        ([("group.new.cores", "5")], "group.new.count: it is missing"),
        ([("group.fat.coers", "5")], "group.fat.coers: unknown key: did you mean 'cores'"),
        ([("group.fat.names", "mars")], "group.fat.count: it is 2, and names lists 1 hosts"),
        ([("group.fat.power.idle", "999W")], "an idle one 999 W"),
        (
            [("topology.kind", "torus"), ("topology.dimensions", "3x3")],
            "8 hosts are wanted, and the",
        ),
        ([("group.fat.names", "thin-[1-2].site")], "'thin-1.site' is declared twice|declares a host twice"),
        ([("topology.kind", "torus"), ("topology.dimensions", "4x2")], "no wire of this topology is one host's"),
    ],
)
def test_groups_that_cannot_be_are_refused_by_name(tmp_path: Path, changes: list[tuple[str, str]], what: str) -> None:
    with pytest.raises((PlatformError, UsageError), match=what):
        read_machine(written(tmp_path), 1, changes).build()


@pytest.mark.parametrize(
    ("groups", "what"),
    [
        ((HostGroup(3, 1e9, 1e9, 0.0),), "has 4 hosts, and groups of 3: they have to add up"),
        ((HostGroup(4, 0.0, 1e9, 0.0),), "host 'n0 of cluster c' has a speed of 0"),
        (
            (HostGroup(1, 1e9, 1e9, 0.0), HostGroup(3, 1e9, -1.0, 0.0)),
            "of n1 of cluster c' has a bandwidth of -1",
        ),
    ],
)
def test_groups_made_in_python_are_checked_when_they_are_built(groups: tuple[HostGroup, ...], what: str) -> None:
    cluster = Cluster("c", NumberedNames("n", (range(4),)), 1e9, 1e9, 0.0, groups=groups)
    with pytest.raises(PlatformError, match=what):
        Description("m", FlatCluster(cluster)).build()


def test_groups_with_equal_wires_may_stand_in_a_torus() -> None:
    groups = HostGroup(3, 1e9, 1e9, 0.0, cores=2), HostGroup(1, 1e9, 1e9, 0.0, cores=8)
    cluster = Cluster("c", ListedNames(("a", "b", "c1", "d")), 1e9, 1e9, 0.0, groups=groups)
    platform = Description("m", Torus(cluster, (2, 2))).build()
    assert [platform.cores(host) for host in range(4)] == [2, 2, 2, 8]
    assert Description("m", Torus(replace(cluster, groups=()), (2, 2))).build().n_cores == 4
