"""The kernel's routes against the definitions of the topologies, for every pair of hosts of small machines."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import product
from operator import add
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.kernel import ffi, lib
from smpy.engine.platform import Platform
from smpy.engine.platform_builder import PlatformBuilder
from smpy.errors import PlatformError
from smpy.platforms import Cluster, Direction, Hop, NumberedNames, Sharing
from smpy.platforms.topologies.fat_tree import FatTree, TreeShape, switched_tree
from smpy.platforms.topologies.flat_cluster import FlatCluster
from tests.platforms.reference_routes import FatTreeGraph, fat_tree_links, flat_links

SMALL = settings(max_examples=60)


def cluster(n_hosts: int, name: str = "c", **more: Any) -> Cluster:
    return Cluster(
        name=name,
        hosts=NumberedNames(f"{name}-", (range(0, 2 * n_hosts, 2),)),
        speed_flop_per_s=1e9,
        bandwidth_bytes_per_s=1.25e9,
        latency_s=20e-6,
        **more,
    )


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Optional parts that flat clusters and fat trees have in common."""
    chosen: dict[str, Any] = {"is_split": draw(st.booleans())}
    if draw(st.booleans()):
        chosen |= {"loopback_bandwidth_bytes_per_s": 4e9, "loopback_latency_s": draw(st.sampled_from([0.0, 1e-6]))}
    if draw(st.booleans()):
        chosen["limiter_bandwidth_bytes_per_s"] = 2e9
    return chosen


@st.composite
def flat_clusters(draw: st.DrawFn, name: str = "c") -> Cluster:
    chosen = draw(options())
    if draw(st.booleans()):
        chosen |= {
            "backbone_bandwidth_bytes_per_s": 5e9,
            "backbone_latency_s": 10e-6,
            "backbone_is_fatpipe": draw(st.booleans()),
        }
    return cluster(draw(st.integers(1, 6)), name, **chosen)


@st.composite
def fat_trees(draw: st.DrawFn) -> TreeShape:
    levels = draw(st.integers(1, 3))
    numbers = st.lists(st.integers(1, 4 if levels < 3 else 3), min_size=levels, max_size=levels).map(tuple)
    return TreeShape(draw(numbers), draw(numbers), draw(numbers))


def assert_routes(platform: Platform, expected: dict[tuple[int, int], list[str]]) -> None:
    """Assert that these are the routes, and that the latencies along each, added up in order, are its latency."""
    latencies_s = {
        platform.link_name(link): lib.platform_link_latency_s(platform.handle, link) for link in range(platform.n_links)
    }
    for (source, target), names in expected.items():
        route = platform.route(source, target)
        assert list(route.link_names) == names
        assert route.latency_s == reduce(add, (latencies_s[name] for name in names), 0.0)


# ---- one topology at a time ----


@SMALL
@given(flat_clusters())
def test_a_flat_cluster_routes_over_private_links_and_backbone(machine: Cluster) -> None:
    builder = PlatformBuilder("flat")
    builder.add(FlatCluster(machine, "router"))
    hosts = range(machine.n_hosts)
    assert_routes(builder.finish(), {pair: flat_links(machine, *pair) for pair in product(hosts, hosts)})


@SMALL
@given(fat_trees(), options())
def test_a_fat_tree_routes_by_destination_mod_k(tree: TreeShape, chosen: dict[str, Any]) -> None:
    machine = cluster(tree.n_hosts, **chosen)
    builder = PlatformBuilder("tree")
    builder.add(FatTree(machine, tree))
    graph = FatTreeGraph(tree)
    hosts = range(tree.n_hosts)
    assert_routes(builder.finish(), {pair: fat_tree_links(machine, graph, *pair) for pair in product(hosts, hosts)})


@SMALL
@given(fat_trees(), st.booleans())
def test_a_fat_tree_route_is_a_shortest_path_of_plugged_cables(tree: TreeShape, is_split: bool) -> None:
    builder = PlatformBuilder("tree")
    builder.add(FatTree(cluster(tree.n_hosts, is_split=is_split), tree))
    platform = builder.finish()
    graph = FatTreeGraph(tree)
    cables = {cable.name: cable for cable in graph.up_port.values()}
    for source, target in product(range(tree.n_hosts), repeat=2):
        if source == target:
            continue
        names = platform.route(source, target).link_names
        node = graph.hosts[source]
        for name in names:
            cable = cables[name.removesuffix("_UP").removesuffix("_DOWN")]
            rises = cable.child == node
            assert node in (cable.child, cable.parent)
            assert not is_split or name.endswith("_UP" if rises else "_DOWN")
            node = cable.parent if rises else cable.child
        assert node == graph.hosts[target]
        assert len(names) == graph.distance(source, target)


def test_a_host_of_a_fat_tree_without_loopback_reaches_itself_over_one_switch() -> None:
    builder = PlatformBuilder("tree")
    builder.add(FatTree(cluster(4), TreeShape((2, 2), (1, 2), (1, 1))))
    assert builder.finish().route(3, 3).link_names == ("link_from_3_6_3_UP", "link_from_3_6_3_DOWN")


@SMALL
@given(fat_trees(), options(), st.data())
def test_the_hosts_of_a_fat_tree_with_empty_places_are_joined_as_in_the_full_one(
    tree: TreeShape, chosen: dict[str, Any], data: st.DataObject
) -> None:
    n_hosts = data.draw(st.integers(1, tree.n_hosts))
    numbers = (range(tree.n_hosts),)
    full = replace(cluster(tree.n_hosts, **chosen), hosts=NumberedNames("c-", numbers))
    part = replace(full, hosts=NumberedNames("c-", (range(n_hosts),)))
    platforms = []
    for hosts in (full, part):
        builder = PlatformBuilder("tree")
        builder.add(FatTree(hosts, tree))
        platforms.append(builder.finish())
    pairs = list(product(range(n_hosts), repeat=2))
    assert_routes(platforms[1], {pair: list(platforms[0].route(*pair).link_names) for pair in pairs})


@given(st.integers(1, 100_000), st.integers(4, 70), st.floats(1, 8) | st.integers(1, 8))
def test_a_switched_tree_can_be_built_and_is_oversubscribed_no_more_than_it_says(
    n_hosts: int, ports: int, oversubscription: float
) -> None:
    oversubscription = min(oversubscription, ports - 1)
    tree = switched_tree(n_hosts, ports, oversubscription)
    assert tree.n_hosts >= n_hosts
    below = [children * cables for children, cables in zip(tree.children, tree.cables, strict=True)]
    above = [parents * cables for parents, cables in zip(tree.parents[1:], tree.cables[1:], strict=True)]
    for level, n_up in enumerate(above):
        assert below[level] + n_up <= ports
        assert below[level] <= n_up * (oversubscription if level == 0 else 1) * (1 + 1e-9)
    assert below[-1] <= ports


def test_every_cable_and_every_link_of_a_fat_tree_has_a_name_of_its_own() -> None:
    tree = TreeShape((2, 3, 2), (2, 2, 1), (1, 2, 3))
    builder = PlatformBuilder("tree")
    builder.add(FatTree(cluster(tree.n_hosts, loopback_bandwidth_bytes_per_s=4e9), tree))
    platform = builder.finish()
    names = {platform.link_name(link) for link in range(platform.n_links)}
    assert len(names) == platform.n_links == 2 * tree.n_wires + tree.n_hosts
    assert {cable.name for cable in FatTreeGraph(tree).up_port.values()} == {
        name.removesuffix("_UP") for name in names if name.endswith("_UP")
    }


def test_positions_in_a_second_fat_tree_continue_those_of_the_first() -> None:
    shape, first = TreeShape((2, 2, 2), (1, 2, 2), (1, 2, 3)), TreeShape((3,), (1,), (1,))
    second = cluster(8, "d")
    builder = PlatformBuilder("two trees")
    builder.full_zone("world")
    builder.add(FatTree(cluster(3), first), "world")
    builder.add(FatTree(second, shape), "world")
    graph = FatTreeGraph(shape, first_position=3, first_cable=3)
    expected = {(3 + s, 3 + t): fat_tree_links(second, graph, s, t) for s, t in product(range(8), repeat=2)}
    assert_routes(builder.finish(), expected)


@SMALL
@given(st.data())
def test_a_full_zone_gives_the_declared_routes_and_their_reverses(data: st.DataObject) -> None:
    n_hosts = data.draw(st.integers(1, 12))
    builder = PlatformBuilder("full")
    builder.full_zone("world")
    for i in range(n_hosts):
        builder.host(f"h{i}", "world", 1e9)
    builder.link("S", 1e9, 1e-6)
    builder.link("F", 1e9, 2e-6, Sharing.FATPIPE)
    builder.link("D", 1e9, 4e-6, Sharing.SPLITDUPLEX)
    hops = [Hop("S"), Hop("F"), Hop("D", Direction.UP), Hop("D", Direction.DOWN)]
    expected = {(i, i): ["__loopback__"] for i in range(n_hosts)}
    pairs = [(s, t) for s in range(n_hosts) for t in range(s, n_hosts)]
    for s, t in data.draw(st.lists(st.sampled_from(pairs), unique=True)):
        route = data.draw(st.lists(st.sampled_from(hops), min_size=1, max_size=4))
        symmetrical = data.draw(st.booleans())
        builder.route("world", f"h{s}", f"h{t}", route, is_symmetrical=symmetrical)
        there = [
            hop.link_name + ("" if hop.direction is Direction.NONE else f"_{hop.direction.value}") for hop in route
        ]
        expected[s, t] = there
        if symmetrical and s != t:
            swapped = {"D_UP": "D_DOWN", "D_DOWN": "D_UP"}
            expected[t, s] = [swapped.get(name, name) for name in reversed(there)]
    platform = builder.finish()
    assert_routes(platform, expected)
    for s, t in product(range(n_hosts), repeat=2):
        if (s, t) not in expected:
            with pytest.raises(PlatformError, match="no route from host"):
                platform.route(s, t)


# ---- zones in zones ----


@SMALL
@given(flat_clusters("a"), flat_clusters("b"))
def test_two_clusters_are_joined_by_way_of_their_routers(left: Cluster, right: Cluster) -> None:
    builder = PlatformBuilder("two")
    builder.full_zone("world")
    builder.add(FlatCluster(left, "left router"), "world")
    builder.add(FlatCluster(right, "right router"), "world")
    builder.link("X", 2.5e9, 100e-6)
    builder.route("world", "a", "b", [Hop("X")], gateways=("left router", "right router"))
    n_left, n_right = left.n_hosts, right.n_hosts
    expected = {(s, t): flat_links(left, s, t) for s, t in product(range(n_left), repeat=2)}
    for s, t in product(range(n_left), range(n_right)):
        expected[s, n_left + t] = [*flat_links(left, s, None), "X", *flat_links(right, None, t)]
        expected[n_left + t, s] = [*flat_links(right, t, None), "X", *flat_links(left, None, s)]
    assert_routes(builder.finish(), expected)


def nested() -> PlatformBuilder:
    """A site of a cluster and a tree; beside it a zone with a host behind a router; a link each between them."""
    builder = PlatformBuilder("nested")
    builder.full_zone("world")
    builder.full_zone("site", "world")
    builder.add(FlatCluster(cluster(2, "c"), "c-router"), "site")
    builder.add(FatTree(cluster(4, "t"), TreeShape((2, 2), (1, 1), (1, 1))), "site")
    builder.link("inner", 1e9, 5e-6, Sharing.SPLITDUPLEX)
    builder.route("site", "c", "t", [Hop("inner", Direction.UP)], gateways=("c-router", "t-0"))
    builder.full_zone("office", "world")
    builder.host("desk", "office", 2e9, 8)
    builder.router("door", "office")
    builder.link("cord", 1e8, 1e-6)
    builder.route("office", "desk", "door", [Hop("cord")])
    builder.link("outer", 1e9, 100e-6)
    builder.route("world", "site", "office", [Hop("outer")], gateways=("c-router", "door"))
    return builder


@pytest.mark.parametrize(
    ("source", "target", "links"),
    [
        ("c-0", "t-0", ["c_link_0_UP", "inner_UP"]),
        ("t-0", "c-2", ["inner_DOWN", "c_link_2_DOWN"]),
        ("c-0", "desk", ["c_link_0_UP", "outer", "cord"]),
        ("desk", "c-2", ["cord", "outer", "c_link_2_DOWN"]),
        ("t-0", "desk", ["inner_DOWN", "outer", "cord"]),
        ("t-6", "desk", ["link_from_3_6_3_UP", "link_from_6_5_5_UP", "link_from_7_5_4_DOWN", "link_from_0_7_0_DOWN",
                         "inner_DOWN", "outer", "cord"]),
        ("desk", "desk", ["__loopback__"]),
    ],
)  # fmt: skip
def test_a_route_between_zones_goes_through_the_gateways_at_every_depth(
    source: str, target: str, links: list[str]
) -> None:
    platform = nested().finish()
    assert list(platform.route(platform.host_number(source), platform.host_number(target)).link_names) == links


def test_hosts_links_and_points_are_numbered_in_order_of_creation() -> None:
    platform = nested().finish()
    assert platform.host_names == ["c-0", "c-2", "t-0", "t-2", "t-4", "t-6", "desk"]
    assert [platform.cores(host) for host in range(platform.n_hosts)] == [1, 1, 1, 1, 1, 1, 8]
    assert [platform.speed_flop_per_s(host) for host in (0, 6)] == [1e9, 2e9]
    assert [platform.link_name(link) for link in range(5)] == [
        "__loopback__", "c_link_0_UP", "c_link_0_DOWN", "c_link_2_UP", "c_link_2_DOWN",
    ]  # fmt: skip


def test_links_share_as_their_kind_says() -> None:
    builder = PlatformBuilder("links")
    builder.full_zone("world")
    machine = cluster(
        1,
        loopback_bandwidth_bytes_per_s=4e9,
        limiter_bandwidth_bytes_per_s=2e9,
        backbone_bandwidth_bytes_per_s=5e9,
        backbone_is_fatpipe=True,
    )
    builder.add(FlatCluster(machine, "router"), "world")
    for sharing in Sharing:
        builder.link(sharing.value, 3e9, 1e-6, sharing)
    platform = builder.finish()
    links = {
        platform.link_name(link): (
            lib.platform_link_bandwidth_bytes_per_s(platform.handle, link),
            lib.platform_link_policy(platform.handle, link),
        )
        for link in range(platform.n_links)
    }
    assert links == {
        "__loopback__": (10e9, lib.LINK_FATPIPE),
        "c_link_0_UP": (1.25e9, lib.LINK_SHARED),
        "c_link_0_DOWN": (1.25e9, lib.LINK_SHARED),
        "c_link_0_loopback": (4e9, lib.LINK_FATPIPE),
        "c_link_0_limiter": (2e9, lib.LINK_SHARED),
        "c_backbone": (5e9, lib.LINK_FATPIPE),
        "SHARED": (3e9, lib.LINK_SHARED),
        "FATPIPE": (3e9, lib.LINK_FATPIPE),
        "SPLITDUPLEX_UP": (3e9, lib.LINK_SHARED),
        "SPLITDUPLEX_DOWN": (3e9, lib.LINK_SHARED),
    }


# ---- what the kernel refuses, whoever builds ----


@pytest.fixture
def world() -> tuple[Any, int]:
    """A platform with a root zone."""
    handle = ffi.gc(lib.platform_new(), lib.platform_free)
    return handle, lib.platform_add_full_zone(handle, -1, -1)


def test_the_kernel_refuses_numbers_out_of_range(world: tuple[Any, int]) -> None:
    handle, zone = world
    host = lib.platform_add_host(handle, zone, 1e9, 1)
    link = lib.platform_add_link(handle, 1e9, 0, lib.LINK_SHARED)
    refused = lib.PLATFORM_BAD_ARGUMENT
    assert lib.platform_add_link(handle, 0, 0, lib.LINK_SHARED) == refused
    assert lib.platform_add_link(handle, 1e9, -1, lib.LINK_SHARED) == refused
    assert lib.platform_add_link(handle, float("nan"), 0, lib.LINK_SHARED) == refused
    assert lib.platform_add_link(handle, 1e9, 0, 7) == refused
    assert lib.platform_add_host(handle, host, 1e9, 1) == refused
    assert lib.platform_add_host(handle, zone, 1e9, 0) == refused
    assert lib.platform_add_full_zone(handle, -1, -1) == refused  # a second root
    assert lib.platform_add_route(handle, zone, host, 99, -1, -1, 1, [link]) == refused
    assert lib.platform_add_route(handle, zone, host, host, -1, -1, 1, [link + 1]) == refused
    assert lib.platform_add_route(handle, zone, host, host, -1, -1, 0, [link]) == refused
    assert lib.platform_n_hosts(handle) == 1
    assert lib.platform_n_links(handle) == 1


def test_the_kernel_refuses_a_gateway_outside_its_zone(world: tuple[Any, int]) -> None:
    handle, zone = world
    link = lib.platform_add_link(handle, 1e9, 0, lib.LINK_SHARED)
    left, right = (lib.platform_add_full_zone(handle, zone, -1) for _ in range(2))
    in_left, in_right = (lib.platform_add_host(handle, side, 1e9, 1) for side in (left, right))
    assert lib.platform_add_route(handle, zone, left, right, in_right, in_right, 1, [link]) == lib.PLATFORM_BAD_GATEWAY
    assert lib.platform_add_route(handle, zone, left, right, -1, in_right, 1, [link]) == lib.PLATFORM_BAD_GATEWAY
    assert lib.platform_add_route(handle, zone, left, right, left, in_right, 1, [link]) == lib.PLATFORM_BAD_GATEWAY
    assert lib.platform_add_route(handle, zone, left, right, in_left, in_right, 1, [link]) == 0
    assert lib.platform_add_route(handle, zone, left, right, in_left, in_right, 1, [link]) == lib.PLATFORM_ROUTE_EXISTS


def test_the_kernel_refuses_a_fat_tree_that_cannot_be_numbered(world: tuple[Any, int]) -> None:
    handle, zone = world
    hosts = ffi.new("cluster *", {"n_hosts": 4096, "cores": 1, "speed_flop_per_s": 1, "bandwidth_bytes_per_s": 1})
    shape = ([16, 16, 16], [1, 16, 16])
    assert lib.platform_add_fat_tree(handle, zone, hosts, 3, *shape, [1, 1, 10**6], 0) == lib.PLATFORM_TOO_LARGE
    assert lib.platform_add_fat_tree(handle, zone, hosts, 3, *shape, [1, 1, 0], 0) == lib.PLATFORM_BAD_ARGUMENT
    assert lib.platform_add_fat_tree(handle, zone, hosts, 2, *shape, [1, 1, 1], 0) == lib.PLATFORM_BAD_ARGUMENT


def test_a_fat_tree_of_65536_hosts_has_no_links_but_its_cables() -> None:
    tree = TreeShape((32, 32, 64), (1, 32, 32), (1, 1, 1))
    builder = PlatformBuilder("large")
    builder.add(FatTree(cluster(tree.n_hosts, is_split=False), tree))
    platform = builder.finish()
    assert platform.n_hosts == 65536
    assert platform.n_links == 3 * 65536
    assert len(platform.route(0, 65535).link_names) == 6
