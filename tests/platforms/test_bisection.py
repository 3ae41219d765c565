"""Bisection bandwidth of machines: formulas, what is measured, and bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, count, product

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from smpy.cli.main import main
from smpy.platforms import (
    Cluster,
    Dragonfly,
    DragonflyShape,
    FatTree,
    FlatCluster,
    LinkClass,
    TreeShape,
    Zone,
    read_machine,
)
from smpy.platforms.inspection.bisection import Bisection, bisection_of
from smpy.platforms.inspection.inspection import reach
from smpy.platforms.topologies.hyperx import HyperX
from smpy.platforms.topologies.torus import Torus
from tests.platforms.reference_routes import FatTreeGraph
from tests.platforms.regular_machines import BANDWIDTH, hosts_alike, machine, tree, without_formula


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
    assert two.longest_route_links == reach(without_formula(two), machine(two).build()).longest_links


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
    found = bisection_of(description)
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


def test_a_machine_without_a_formula_or_with_one_host_has_no_bisection() -> None:
    assert bisection_of(without_formula(FlatCluster(hosts_alike(9)))) is None
    assert bisection_of(machine(FlatCluster(hosts_alike(1)))) is None
