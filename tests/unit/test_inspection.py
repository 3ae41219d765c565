"""Machines in numbers: kinds of hosts and links, diameter, bisection bandwidth, odd numbers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, count, product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from defusedxml.ElementTree import fromstring
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from smpy.cli.main import main
from smpy.errors import PlatformError
from smpy.platforms import (
    Cluster,
    DeclaredRoute,
    Description,
    Dragonfly,
    DragonflyShape,
    Edge,
    FatTree,
    FlatCluster,
    FullZone,
    Graph,
    Hop,
    Host,
    Link,
    LinkClass,
    ListedNames,
    NumberedNames,
    Part,
    Platform,
    TreeShape,
    Zone,
    default_cluster,
    read_machine,
)
from smpy.platforms.bisection import MEASURED_HOSTS_MAX, Bisection, bisection_of
from smpy.platforms.checks import findings
from smpy.platforms.drawing import draw_svg
from smpy.platforms.inspection import HostRanks, host_kinds, link_kinds, overview, ranks_by_host, reach, route_view
from smpy.platforms.route_graph import NODES_MAX, RouteGraph, route_graph
from smpy.platforms.topologies.hyperx import HyperX
from smpy.platforms.topologies.torus import Torus
from tests.unit.reference_routes import FatTreeGraph

SPEED, BANDWIDTH, LATENCY = 1e9, 1e9, 1e-6


def hosts_alike(n_hosts: int, **more: Any) -> Cluster:
    return Cluster("c", NumberedNames("h", (range(n_hosts),)), SPEED, BANDWIDTH, LATENCY, **more)


def machine(zone: Zone) -> Description:
    return Description("machine", zone)


def without_formula(zone: Zone) -> Description:
    """The same inside a zone that knows no formula."""
    return machine(FullZone("around", (zone,)))


def tree(draw_from: st.SearchStrategy[int], levels_max: int = 3) -> st.SearchStrategy[TreeShape]:
    level = st.tuples(draw_from, st.integers(1, 2), st.integers(1, 2))
    return st.lists(level, min_size=1, max_size=levels_max).map(
        lambda levels: TreeShape(*(tuple(numbers) for numbers in zip(*levels, strict=True)))
    )


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


# ---- bisection ----


def max_flow(shape: TreeShape, sources: set[int], targets: set[int], worths: Sequence[int] = (1, 1, 1)) -> int:
    """Cables that can be filled from some hosts of a fat tree to others (Edmonds, Karp 1972).

    A cable of level i counts as `worths[i]` cables.
    """
    graph, number = FatTreeGraph(shape), count(2)
    ids = {node: next(number) for level in graph.levels for node in level}
    edges: dict[tuple[int, int], int] = {}
    for cable in {id(cable): cable for cable in graph.up_port.values()}.values():
        for edge in ((ids[cable.child], ids[cable.parent]), (ids[cable.parent], ids[cable.child])):
            edges[edge] = edges.get(edge, 0) + worths[cable.child[0]]
    edges |= {(0, ids[graph.hosts[host]]): 10_000 for host in sources}
    edges |= {(ids[graph.hosts[host]], 1): 10_000 for host in targets}
    rows, columns = zip(*edges, strict=True)
    size = next(number)
    matrix = coo_array((list(edges.values()), (rows, columns)), shape=(size, size), dtype="int32").tocsr()
    return int(maximum_flow(matrix, 0, 1).flow_value)


@settings(max_examples=60)
@given(tree(st.integers(1, 5)), st.data())
def test_the_bisection_of_a_fat_tree_is_the_maximum_flow_between_its_halves(
    shape: TreeShape, data: st.DataObject
) -> None:
    n_hosts = data.draw(st.integers(1, shape.n_hosts))  # the last places may be empty
    half = n_hosts // 2
    worths = (1, *data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3))))
    expected = max_flow(shape, set(range(half)), set(range(n_hosts - half, n_hosts)), worths) if half else 0
    classes = tuple(LinkClass(f"level{i + 1}", worths[i] * BANDWIDTH, 0.0) for i in range(1, shape.n_levels))
    found = FatTree(hosts_alike(n_hosts), shape, classes).bisection_bandwidth_bytes_per_s
    assert found == pytest.approx(BANDWIDTH * expected)


@pytest.mark.parametrize(
    "shape",
    [TreeShape((2, 3), (1, 1), (1, 1)), TreeShape((4, 2), (1, 2), (1, 1)), TreeShape((2, 2, 2), (1, 1, 2), (1, 1, 1))],
)
def test_no_halves_of_a_fat_tree_send_less_to_each_other(shape: TreeShape) -> None:
    hosts = set(range(shape.n_hosts))
    least = min(max_flow(shape, set(some), hosts - set(some)) for some in combinations(hosts, len(hosts) // 2))
    assert FatTree(hosts_alike(shape.n_hosts), shape).bisection_bandwidth_bytes_per_s == least * BANDWIDTH


def least_cut(edges: dict[tuple[int, int], int], n_hosts: int) -> int:
    """The least maximum flow between two halves of the hosts, which are the first nodes: of all halves."""
    size = max(map(max, edges), default=n_hosts - 1) + 3
    source, target = size - 2, size - 1
    least = 10**9
    for some in combinations(range(n_hosts), n_hosts // 2):
        for others in combinations(sorted(set(range(n_hosts)) - set(some)), n_hosts // 2):
            both = edges | {(b, a): n for (a, b), n in edges.items()}
            both |= {(source, host): 1000 for host in some} | {(host, target): 1000 for host in others}
            rows, columns = zip(*both, strict=True)
            matrix = coo_array((list(both.values()), (rows, columns)), shape=(size, size), dtype="int32").tocsr()
            least = min(least, int(maximum_flow(matrix, source, target).flow_value))
    return least


def lattice(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Coordinates of each node, dimension 0 first."""
    return [at[::-1] for at in product(*(range(size) for size in reversed(sizes)))]


@pytest.mark.parametrize("sizes", [(2,), (5,), (6,), (3, 2), (2, 4), (3, 3), (5, 2), (2, 2, 2), (1, 6), (2, 1, 3)])
def test_no_halves_of_a_torus_send_less_to_each_other_than_the_formula_says(sizes: tuple[int, ...]) -> None:
    number = {at: i for i, at in enumerate(lattice(sizes))}
    edges: dict[tuple[int, int], int] = {}
    for at, i in number.items():
        for d, size in enumerate(sizes):
            j = number[(*at[:d], (at[d] + 1) % size, *at[d + 1 :])]
            if i != j and not (size == 2 and at[d] == 1):  # on a ring of two only one of both wires is used
                edges[i, j] = edges.get((i, j), 0) + 1
    torus = Torus(hosts_alike(len(number)), sizes)
    assert torus.bisection_bandwidth_bytes_per_s == BANDWIDTH * least_cut(edges, len(number))


@pytest.mark.parametrize(
    ("sizes", "hosts_per_switch", "cables"),
    [((3,), 2, (1,)), ((3,), 3, (1,)), ((4,), 2, (1,)), ((2, 2), 2, (1, 1)), ((2, 2), 2, (1, 2)), ((3, 2), 1, (1, 1)),
     ((2,), 4, (1,)), ((2,), 4, (3,)), ((1,), 5, (1,)), ((2, 3), 1, (2, 1))],
)  # fmt: skip
def test_no_halves_of_a_hyperx_send_less_to_each_other_than_the_formula_says(
    sizes: tuple[int, ...], hosts_per_switch: int, cables: tuple[int, ...]
) -> None:
    switches = lattice(sizes)
    n_hosts = len(switches) * hosts_per_switch
    edges = {(host, n_hosts + host // hosts_per_switch): 1 for host in range(n_hosts)}
    for i, j in combinations(range(len(switches)), 2):
        differ = [d for d in range(len(sizes)) if switches[i][d] != switches[j][d]]
        if len(differ) == 1:
            edges[n_hosts + i, n_hosts + j] = cables[differ[0]]
    hyperx = HyperX(hosts_alike(n_hosts), sizes, hosts_per_switch, cables)
    classes = tuple(LinkClass(f"dimension{d}", cables[d] * BANDWIDTH, 0.0) for d in range(len(sizes)))
    expected = BANDWIDTH * least_cut(edges, n_hosts)
    assert hyperx.bisection_bandwidth_bytes_per_s == expected
    assert replace(hyperx, cables=(), link_classes=classes).bisection_bandwidth_bytes_per_s == expected


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


@given(st.integers(2, 9), st.sampled_from([0.0, 5e8, 3e9]), st.sampled_from([0.0, 1e9, 1e10]), st.booleans())
def test_what_is_measured_on_a_flat_cluster_is_the_formula(
    n: int, limiter: float, backbone: float, fatpipe: bool
) -> None:
    cluster = hosts_alike(
        n,
        limiter_bandwidth_bytes_per_s=limiter,
        backbone_bandwidth_bytes_per_s=backbone,
        backbone_is_fatpipe=fatpipe,
    )
    zone = FlatCluster(cluster)
    measured = bisection_of(without_formula(zone), without_formula(zone).build())
    assert measured is not None
    assert measured.source == "measured"
    assert measured.bandwidth_bytes_per_s == pytest.approx(zone.bisection_bandwidth_bytes_per_s)


@pytest.mark.parametrize(
    "zone_of",
    [
        lambda cluster: FlatCluster(replace(cluster, backbone_bandwidth_bytes_per_s=3e9)),
        lambda cluster: FatTree(cluster, TreeShape((4, 2), (1, 4), (1, 1))),
        lambda cluster: HyperX(cluster, (4,), 2),
    ],
)
def test_each_rail_carries_as_much_as_the_first(zone_of: Callable[[Cluster], Zone]) -> None:
    one, two = (zone_of(hosts_alike(8, rails=rails)) for rails in (1, 2))
    assert one.bisection_bandwidth_bytes_per_s is not None
    assert two.bisection_bandwidth_bytes_per_s == 2 * one.bisection_bandwidth_bytes_per_s
    measured = bisection_of(without_formula(two), without_formula(two).build())
    assert measured is not None
    limit = two.bisection_bandwidth_bytes_per_s * (1 + 1e-9)  # each pair of hosts takes but one rail
    assert one.bisection_bandwidth_bytes_per_s < measured.bandwidth_bytes_per_s <= limit
    assert two.longest_route_links == reach(without_formula(two), machine(two).build()).longest_links


def test_measuring_tries_more_than_one_way_to_halve_the_hosts() -> None:
    """Four hosts on two switches, the neighbours in numbers on different ones."""
    wires = tuple(Link(f"w{i}", 4e9, 0) for i in range(4))
    parts: tuple[Part, ...] = (*(Host(f"h{i}", SPEED) for i in range(4)), *wires, Link("between", 1e9, 0))
    routes = tuple(
        DeclaredRoute(f"h{i}", f"h{j}", tuple(map(Hop, [f"w{i}", *["between"] * (i % 2 != j % 2), f"w{j}"])))
        for i, j in combinations(range(4), 2)
    )
    description = machine(FullZone("z", (*parts, *routes)))
    found = bisection_of(description, description.build())
    assert found is not None
    assert found.bandwidth_bytes_per_s == pytest.approx(1e9)


def test_a_large_machine_without_a_formula_has_no_bisection() -> None:
    description = without_formula(FlatCluster(hosts_alike(MEASURED_HOSTS_MAX + 1)))
    assert bisection_of(description, description.build()) is None
    assert bisection_of(machine(FlatCluster(hosts_alike(1))), machine(FlatCluster(hosts_alike(1))).build()) is None


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    """Hosts on a random tree of switches, with some edges more."""
    n_switches, per_switch = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    bandwidths = st.sampled_from([1e9, 2e9, 5e9])
    edges = {(f"s{draw(st.integers(0, i - 1))}", f"s{i}") for i in range(1, n_switches)}
    if n_switches > 2:
        edges |= draw(st.sets(st.tuples(st.just("s0"), st.sampled_from([f"s{i}" for i in range(2, n_switches)]))))
    pairs = [*sorted(edges), *((f"h{i}", f"s{i // per_switch}") for i in range(n_switches * per_switch))]
    hosts = ListedNames(tuple(draw(st.permutations([f"h{i}" for i in range(n_switches * per_switch)]))))
    known = tuple(Edge(a, b, draw(st.integers(1, 2)), draw(bandwidths)) for a, b in pairs)
    return Graph(Cluster("c", hosts, SPEED, BANDWIDTH, LATENCY), known)


@settings(max_examples=80, deadline=None)
@given(networks())
def test_no_halves_that_are_measured_send_more_than_the_bound_of_a_graph(graph: Graph) -> None:
    """The bound is of the same halves, and of their cables whatever the routes."""
    assume(graph.n_hosts > 1)
    measured, bound = bisection_of(machine(graph), machine(graph).build()), graph.bisection_bound_bytes_per_s
    assert measured is not None
    assert bound is not None
    assert measured.bandwidth_bytes_per_s <= bound * (1 + 1e-9)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (DragonflyShape(4, 1, 8, 10, blue=3), 2 * 2 * 3),  # two groups on each side: four bundles
        (DragonflyShape(4, 2, 4, 10, blue=100, black=99, green=99), 160),  # the wires of half of the hosts
        (DragonflyShape(1, 1, 8, 30, green=2), 4 * 4 * 2),
        (DragonflyShape(1, 2, 6, 20, green=100, black=3), 6 * 3),  # a chassis on each side
    ],
)
def test_the_bound_of_a_large_dragonfly_is_the_cut_between_its_halves(shape: DragonflyShape, expected: int) -> None:
    description = machine(Dragonfly(hosts_alike(shape.n_hosts), shape))
    found = bisection_of(description, description.build())
    assert found == Bisection(expected * BANDWIDTH, "bound")
    line = f"dragonfly groups={shape.groups} chassis_per_group={shape.chassis_per_group}"
    more = " ".join(f"{key}={getattr(shape, key)}" for key in ("blue", "black", "green", "hosts_per_router"))
    command = f"{line} routers_per_chassis={shape.routers_per_chassis} {more} nic=1GB/s"
    told = CliRunner().invoke(main, ["platform", "show", command]).stdout
    assert f"bisection      at most {expected} GB/s one way (cables between some halves of the hosts)" in told


def test_the_bound_knows_link_classes_rails_and_the_wires_of_groups() -> None:
    def bound(line: str) -> float | None:
        return read_machine(
            f"dragonfly groups=4 routers_per_chassis=8 hosts_per_router=10 nic=1GB/s {line}", 1
        ).zone.bisection_bound_bytes_per_s

    assert bound("") == 4e9
    assert bound("blue_bandwidth=5GB/s") == 20e9
    assert bound("rails=2") == 8e9
    assert bound("group.a.count=80 group.b.count=240 group.b.nic.bandwidth=0.001GB/s") == pytest.approx(0.16e9)


def test_a_limiter_in_a_fat_tree_is_measured() -> None:
    description = machine(FatTree(hosts_alike(4, limiter_bandwidth_bytes_per_s=5e8), TreeShape((4,), (1,), (1,))))
    found = bisection_of(description, description.build())
    assert found is not None
    assert (found.source, found.bandwidth_bytes_per_s) == ("measured", pytest.approx(5e8))


# ---- drawings ----


def graph_or_none(platform: Platform) -> RouteGraph | None:
    try:
        return route_graph(platform)
    except PlatformError:
        return None


@settings(max_examples=60)
@given(tree(st.integers(1, 4)), st.booleans())
def test_the_graph_of_a_fat_tree_is_found_in_its_routes(shape: TreeShape, is_split: bool) -> None:
    """Identify it by the names of its links, which tell the nodes that they join."""
    n_hosts = shape.n_hosts
    assume(n_hosts + shape.n_switches <= NODES_MAX)
    platform = machine(FatTree(hosts_alike(n_hosts, is_split=is_split), shape)).build()
    graph = graph_or_none(platform)
    if graph is None:
        assert not is_split  # the ends of wires that both ways share cannot always be told
        return
    named, found = set(), set()
    label: dict[int, set[str]] = {}
    for edge in graph.edges:
        ends = {tuple(platform.link_name(link).split("_")[2:4]) for link in edge.links}
        assert len(ends) == 1
        named |= ends
        found.add(edge.nodes)
        for node in edge.nodes:
            here = label.setdefault(node, set(*ends))
            here &= set(*ends)
    crossed = {link for a in range(n_hosts) for b in range(n_hosts) if a != b for link in platform.route_links(a, b)[0]}
    assert {link for edge in graph.edges for link in edge.links} == crossed
    assert all(label.values())  # the links of a node have one of their two ends in common
    assert len(found) == len(graph.edges)
    if is_split and max(shape.cables) == 1:  # parallel cables may seem to lead to different switches
        assert len(named) == len(found)
        assert graph.n_nodes <= n_hosts + shape.n_switches
    assert all(str(host) in label.get(host, {str(host)}) for host in range(n_hosts))


def test_a_backbone_is_inside_a_switch_of_split_links_and_between_two_of_others() -> None:
    split, shared = (
        route_graph(machine(FlatCluster(hosts_alike(3, is_split=is_split, backbone_bandwidth_bytes_per_s=1e9))).build())
        for is_split in (True, False)
    )
    assert (split.n_nodes, shared.n_nodes) == (4, 4)
    assert [edge.nodes for edge in split.edges if edge.nodes[0] == edge.nodes[1]] == [(3, 3)]


def test_routes_that_fit_no_graph_are_refused() -> None:
    parts = (
        *(Host(name, SPEED) for name in "abc"),
        Link("l", 1e9, 0),
        *(DeclaredRoute(one, other, (Hop("l"),)) for one, other in combinations("abc", 2)),
    )
    with pytest.raises(
        PlatformError, match="machine cannot be drawn: its routes, such as that from 'a' to 'c', do not"
    ):
        route_graph(machine(FullZone("z", parts)).build())


def test_a_drawing_shows_every_host_switch_and_link() -> None:
    cluster = replace(hosts_alike(4), hosts=NumberedNames("<&", (range(4),)))
    drawing = draw_svg(machine(FatTree(cluster, TreeShape((2, 2), (1, 2), (1, 2)))).build())
    root = fromstring(drawing)
    svg = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in root.iter(f"{svg}text")] == ["<&0", "<&1", "<&2", "<&3"]
    assert len(list(root.iter(f"{svg}circle"))) == 4
    assert len(list(root.iter(f"{svg}rect"))) == 2 + 2
    assert len(list(root.iter(f"{svg}path"))) == 4 + 4
    assert {float(rect.get("y", "0")) + 7 for rect in root.iter(f"{svg}rect")} == {60, 170}


def test_arcs_between_switches_stay_inside_the_drawing() -> None:
    drawing = draw_svg(machine(HyperX(hosts_alike(18), (3, 3), 2)).build())
    arcs = re.findall(r"M [0-9.]+ ([0-9.]+) Q [0-9.]+ (-?[0-9.]+) ", drawing)
    assert len(arcs) == 2 * 3 * 3
    assert min((float(y) + float(control)) / 2 for y, control in arcs) > 0


def test_links_of_any_bandwidth_can_be_drawn() -> None:
    parts: tuple[Part, ...] = (
        *(Host(name, SPEED) for name in "abcd"),
        *(Link(name, bandwidth, 0) for name, bandwidth in (("slow", 1e-30), ("fast", 1e29), ("faster", 1e30))),
        DeclaredRoute("a", "b", (Hop("slow"),)),
        DeclaredRoute("c", "d", (Hop("fast"),), is_symmetrical=False),
        DeclaredRoute("d", "c", (Hop("faster"),), is_symmetrical=False),
    )
    drawing = draw_svg(machine(FullZone("z", parts)).build())
    assert re.findall('stroke-width="(.*?)"', drawing) == ["0.6", "3"]


def test_what_is_inside_a_switch_is_told_by_it() -> None:
    drawing = draw_svg(machine(FlatCluster(hosts_alike(3, backbone_bandwidth_bytes_per_s=1e9))).build())
    assert "<title>c_backbone: 1 GB/s, 0 s</title></rect>" in drawing


def test_a_machine_that_is_too_large_for_a_drawing_is_refused() -> None:
    with pytest.raises(PlatformError, match="machine has 201 hosts and switches, or more"):
        draw_svg(machine(FlatCluster(hosts_alike(201))).build())
    with pytest.raises(PlatformError, match="with more than 200 a drawing shows nothing"):
        draw_svg(machine(FlatCluster(hosts_alike(200))).build())


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
    began_s = time.process_time()
    found = overview(description, description.build())
    assert time.process_time() - began_s < 2
    assert (found.n_cores, found.n_links) == (6_400_000, 600_000)
    assert found.hosts[0].names == ("h[0-99999]",)
    assert found.bisection is not None
    assert found.bisection.bandwidth_bytes_per_s == 50_000 * BANDWIDTH
