"""Drawings of machines, and the graphs that are found in their routes."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from smpy.engine.platform import Platform
from smpy.errors import PlatformError
from smpy.platforms import (
    DeclaredRoute,
    FatTree,
    FlatCluster,
    FullZone,
    Hop,
    Host,
    Link,
    NumberedNames,
    Part,
    TreeShape,
)
from smpy.platforms.inspection.drawing import draw_svg
from smpy.platforms.route_graph import NODES_MAX, RouteGraph, route_graph
from smpy.platforms.topologies.hyperx import HyperX
from tests.platforms.regular_machines import SPEED, hosts_alike, machine, tree


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
