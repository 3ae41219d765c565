"""Machines in numbers: kinds of hosts and links, diameter, odd numbers."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.errors import PlatformError
from smpy.platforms import (
    Cluster,
    DeclaredRoute,
    Description,
    FatTree,
    FlatCluster,
    FullZone,
    Hop,
    Host,
    Link,
    Part,
    TreeShape,
    default_cluster,
    read_machine,
)
from smpy.platforms.inspection.checks import findings
from smpy.platforms.inspection.inspection import (
    HostRanks,
    host_kinds,
    link_kinds,
    overview,
    ranks_by_host,
    reach,
    route_view,
)
from smpy.platforms.topologies.hyperx import HyperX
from smpy.platforms.topologies.torus import Torus
from tests.platforms.regular_machines import BANDWIDTH, LATENCY, SPEED, hosts_alike, machine, tree, without_formula


def walked_links(description: Description) -> int:
    """The links of the longest route, without a formula."""
    return reach(without_formula(description.zone), description.build()).longest_links


# ---- hosts and links ----


def test_hosts_and_links_that_are_alike_are_counted_together() -> None:
    parts: tuple[Part, ...] = (
        *(Host(f"n{i:02}", SPEED, 4, sockets=2) for i in range(8, 12)),
        Host("login", 2 * SPEED),
        Link("a", 1e9, 1e-6),
        Link("b", 2e9, 0),
        Link("c", 1e9, 1e-6),
    )
    platform = machine(FullZone("z", parts)).build()
    assert [
        (kind.names, kind.n_hosts, kind.sockets, kind.cores, kind.speed_flop_per_s) for kind in host_kinds(platform)
    ] == [
        (("n[08-11]",), 4, 2, 4, SPEED),
        (("login",), 1, 1, 1, 2 * SPEED),
    ]
    assert [
        (kind.example, kind.n_links, kind.bandwidth_bytes_per_s, kind.sharing) for kind in link_kinds(platform)
    ] == [
        ("__loopback__", 1, 10e9, "FATPIPE"),
        ("a", 2, 1e9, "SHARED"),
        ("b", 1, 2e9, "SHARED"),
    ]


def test_a_route_is_told_link_by_link() -> None:
    platform = machine(
        FlatCluster(hosts_alike(3, backbone_bandwidth_bytes_per_s=5e9, backbone_is_fatpipe=True))
    ).build()
    view = route_view(platform, "h0", "h2")
    assert view.latency_s == 2 * LATENCY
    assert [(step.link, step.bandwidth_bytes_per_s, step.sharing) for step in view.steps] == [
        ("c_link_0_UP", 1e9, "SHARED"),
        ("c_backbone", 5e9, "FATPIPE"),
        ("c_link_2_DOWN", 1e9, "SHARED"),
    ]
    with pytest.raises(PlatformError, match="unknown host 'h3'"):
        route_view(platform, "h0", "h3")


def test_ranks_are_told_by_host() -> None:
    platform = machine(FlatCluster(hosts_alike(3))).build()
    assert ranks_by_host(platform, [2, 0, 2]) == (HostRanks("h2", (0, 2)), HostRanks("h0", (1,)))


# ---- routes ----


@settings(max_examples=40)
@given(tree(st.integers(1, 4)), st.booleans(), st.data())
def test_the_formula_for_the_longest_route_of_a_fat_tree_is_what_a_walk_finds(
    shape: TreeShape, is_limited: bool, data: st.DataObject
) -> None:
    n_hosts = data.draw(st.integers(1, shape.n_hosts))
    cluster = hosts_alike(n_hosts, limiter_bandwidth_bytes_per_s=1e9 if is_limited else 0.0)
    description = machine(FatTree(cluster, shape))
    walked = reach(without_formula(description.zone), description.build())
    assert description.zone.longest_route_links == walked.longest_links
    assert walked.is_longest_certain


@given(st.integers(1, 5), st.booleans(), st.booleans())
def test_the_formula_for_the_longest_route_of_a_flat_cluster_is_what_a_walk_finds(n: int, bb: bool, lim: bool) -> None:
    cluster = hosts_alike(n, backbone_bandwidth_bytes_per_s=1e9 * bb, limiter_bandwidth_bytes_per_s=1e9 * lim)
    description = machine(FlatCluster(cluster))
    assert (
        description.zone.longest_route_links
        == reach(without_formula(description.zone), description.build()).longest_links
    )


def test_hosts_that_no_route_joins_are_counted() -> None:
    parts = (*(Host(name, SPEED) for name in "abc"), Link("l", 1e9, 1e-6), DeclaredRoute("a", "c", (Hop("l"),)))
    description = machine(FullZone("z", parts))
    found = reach(description, description.build())
    assert (found.n_pairs, found.n_without_route, found.without_route) == (6, 4, ("a", "b"))
    assert (found.latency_min_s, found.latency_max_s) == (1e-6, 1e-6)


def test_on_a_large_machine_a_sample_of_routes_is_walked() -> None:
    description = without_formula(FatTree(hosts_alike(1000), TreeShape((10, 10, 10), (1, 2, 2), (1, 1, 1))))
    found = reach(description, description.build())
    assert not found.are_all
    assert not found.is_longest_certain
    assert (found.longest_links, found.latency_max_s) == (6, pytest.approx(6e-6))


@settings(max_examples=30)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.booleans())
def test_the_formula_for_the_longest_route_of_a_torus_is_what_a_walk_finds(sizes: list[int], is_limited: bool) -> None:
    cluster = hosts_alike(prod(sizes), limiter_bandwidth_bytes_per_s=1e9 * is_limited)
    description = machine(Torus(cluster, tuple(sizes)))
    assert description.zone.longest_route_links == walked_links(description)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 3))
def test_the_formula_for_the_longest_route_of_a_hyperx_is_what_a_walk_finds(sizes: list[int], n: int) -> None:
    description = machine(HyperX(hosts_alike(prod(sizes) * n), tuple(sizes), n))
    assert description.zone.longest_route_links == walked_links(description)


# ---- odd numbers ----


def texts(cluster: Cluster) -> list[str]:
    description = machine(FlatCluster(cluster))
    return [f"{finding.what}: {finding.text}" for finding in findings(overview(description, description.build()))]


def test_nothing_is_odd_about_the_default_cluster() -> None:
    description = default_cluster(3000)
    assert findings(overview(description, description.build())) == ()


def test_a_bundle_of_cables_may_be_faster_than_a_cable_and_each_of_them_may_not() -> None:
    def found(line: str) -> list[str]:
        description = read_machine(line, 1)
        return [finding.what for finding in findings(overview(description, description.build()))]

    assert found("dragonfly hosts=1536 nic=200Gb/s") == []
    (what,) = found(
        "dragonfly groups=2 routers_per_chassis=2 hosts_per_router=2 nic=400GB/s blue=4 blue_bandwidth=50GB/s "
        "host.memory_bandwidth=4TB/s"
    )
    assert what.startswith("link local_link")


def odd(line: str) -> list[str]:
    description = read_machine(line, 1)
    return [f"{finding.what}: {finding.text}" for finding in findings(overview(description, description.build()))]


def test_a_loopback_below_the_adapter_is_odd(tmp_path: Path) -> None:
    line = "flat hosts=3 cores=16 nic=400Gb/s"
    assert odd(line) == []
    (slow,) = odd(f"{line} host.loopback_bandwidth=10GB/s")
    assert slow.startswith(
        "host node-0 and 2 like it: a message inside the host gets 10 GB/s, and one to node-1 50 GB/s"
    )
    (slow,) = odd(f"{line} host.memory_bandwidth=160GB/s")
    assert "inside the host gets 40 GB/s, and one to node-1 50 GB/s" in slow
    for n_hosts in (1, 3):  # more than any cable, and no cable
        assert odd(f"flat hosts={n_hosts} cores=16 nic=400Gb/s host.memory_bandwidth=1TB/s") == []
    (wire,) = odd("flat hosts=1 nic=300GB/s host.loopback_bandwidth=0 host.loopback_latency=0")
    assert "300 GB/s is faster than any cable" in wire
    path = tmp_path / "machine.xml"
    wires = "speed='1Gf' bw='25GBps' lat='1us' loopback_bw='10GBps'"
    path.write_text(f"<platform version='4.1'><cluster id='c' prefix='n' suffix='' radical='0-3' {wires}/></platform>")
    (slow,) = odd(str(path))
    assert slow.startswith("host n0 and 3 like it: a message inside the host gets 10 GB/s, and one to n1 25 GB/s")
    path.write_text(path.read_text().replace("loopback_bw='10GBps'", ""))
    assert odd(str(path)) == []  # a host reaches itself over its wires


def test_a_loopback_of_a_group_of_hosts_below_the_adapter_is_odd(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text('topology.kind = "flat"\ngroup.new.count = 2\ngroup.old = {count = 2, memory_bandwidth = "80GB/s"}')
    (slow,) = odd(str(path))
    assert slow.startswith("host old-0 and 1 like it: a message inside the host gets 20 GB/s")


def test_a_calibration_of_fewer_cores_than_the_host_has_is_odd(tmp_path: Path) -> None:
    (tmp_path / "node.toml").write_text('[calibration]\ncores = 2\n[host]\nmemory_bandwidth = "400GB/s"')
    path = tmp_path / "machine.toml"
    path.write_text('include = ["node.toml"]\nhost = {count = 2, cores = 64}')
    (few,) = odd(str(path))
    assert few.startswith("host node-[0-1]: it has 64 cores, its calibration is of 2: memory, caches and clock")
    assert "(its memory has 400 GB/s)" in few
    path.write_text('include = ["node.toml"]\nhost = {count = 2, cores = 2}')
    assert odd(str(path)) == []
    path.write_text('include = ["node.toml"]\nhost = {count = 2, cores = 64}\ncalibration.cores = 64')
    assert odd(str(path)) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"bandwidth_bytes_per_s": 10e9, "latency_s": 20e-6}, "link c_link_0_UP and 3 like it: .*Ethernet of 10 Gb/s"),
        ({"bandwidth_bytes_per_s": 400e9}, r"faster than any cable: were bits meant \(400 Gb/s\)"),
        ({"bandwidth_bytes_per_s": 100.0}, "100 B/s is very slow"),
        ({"latency_s": 10.0}, "a latency of 10 s is longer than that of any link: were ms or us meant"),
        ({"latency_s": 1e-12}, "a latency of 1e-12 s is shorter"),
        ({"speed_flop_per_s": 1e6}, r"host h\[0-1\]: a core of 1 Mf is slower"),
        ({"speed_flop_per_s": 6e12}, "a core of 6 Tf is faster than any: is it the speed of all cores"),
        ({"cores": 4096}, "4,096 cores are more than a host has"),
    ],
)
def test_an_odd_number_is_found(changes: dict[str, Any], text: str) -> None:
    found = texts(replace(hosts_alike(2), **changes))
    assert len(found) == 1
    assert re.search(text, found[0])


def test_a_host_without_routes_is_odd() -> None:
    description = machine(FullZone("z", (Host("a", SPEED), Host("b", SPEED))))
    (found,) = findings(overview(description, description.build()))
    assert "host a: has no route to b, as 2 of 2 pairs" in f"{found.what}: {found.text}"


# ---- size ----


@pytest.mark.timed
def test_a_hundred_thousand_hosts_are_looked_at_in_two_seconds() -> None:
    shape = TreeShape((50, 50, 40), (1, 50, 50), (1, 1, 1))
    description = machine(FatTree(hosts_alike(100_000, cores=64), shape))
    costs_s = []
    for _ in range(3):  # other work of the machine only adds time: the least counts
        began_s = time.process_time()
        found = overview(description, description.build())
        costs_s.append(time.process_time() - began_s)
    assert min(costs_s) < 2
    assert (found.n_cores, found.n_links) == (6_400_000, 600_000)
    assert found.hosts[0].names == ("h[0-99999]",)
    assert found.bisection is not None
    assert found.bisection.bandwidth_bytes_per_s == 50_000 * BANDWIDTH
