"""Routes of dragonflies against their definition, and against a graph search, for every pair of hosts of small ones."""

from __future__ import annotations

import re
from collections import Counter, deque
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.engine.kernel import ffi, lib
from smpy.engine.platform import Platform
from smpy.engine.platform_builder import PlatformBuilder
from smpy.errors import PlatformError
from smpy.platforms import Cluster, Dragonfly, DragonflyShape, read_machine
from smpy.platforms.topologies.dragonfly import balanced_shape, switched_dragonfly
from tests.platforms.test_routes import SMALL, assert_routes, cluster, options

Router = tuple[int, int, int]  # group, chassis, blade
Step = tuple[str, Any]  # a wire and where it leads to


@st.composite
def shapes(draw: st.DrawFn, groups_min: int = 1) -> DragonflyShape:
    chassis, routers, hosts = (draw(st.integers(1, most)) for most in (3, 3, 2))
    groups = draw(st.integers(groups_min, 5))
    return DragonflyShape(groups, chassis, routers, hosts, *(draw(st.integers(1, 3)) for _ in range(3)))


@st.composite
def many_groups(draw: st.DrawFn) -> DragonflyShape:
    """At least three groups."""
    chassis, routers = draw(st.sampled_from([(1, 3), (1, 5), (2, 2), (2, 3), (3, 1), (3, 2)]))
    return DragonflyShape(draw(st.integers(3, min(5, chassis * routers))), chassis, routers, draw(st.integers(1, 2)))


def built(machine: Cluster, shape: DragonflyShape, routing: str = "minimal", seed: int = 0) -> Platform:
    builder = PlatformBuilder("dragonfly")
    builder.add(Dragonfly(machine, shape, routing, seed))
    return builder.finish()


class Wires:
    """A dragonfly as a graph: its nodes are hosts (numbers) and routers, its edges the names of wires."""

    def __init__(self, shape: DragonflyShape, first_wire: int = 0) -> None:
        self.shape = shape
        self.wires: dict[str, tuple[Any, Any]] = {}  # lower end, upper end
        self.n_wires = first_wire
        sizes = shape.groups, shape.chassis_per_group, shape.routers_per_chassis
        self.routers: list[Router] = [(g, c, b) for g, c, b in product(*map(range, sizes))]
        self.number = {router: i for i, router in enumerate(self.routers)}
        self.home = {host: self.routers[host // shape.hosts_per_router] for host in range(shape.n_hosts)}
        for host, router in self.home.items():
            place = host % shape.hosts_per_router
            self._plug_in(f"local_link_from_router_{self.number[router]}_to_node_{place}", host, router)
        for g, c in product(range(sizes[0]), range(sizes[1])):
            for i, j in combinations(range(sizes[2]), 2):
                self._plug_in(f"green_link_in_chassis_{c}_between_routers_{i}_and_{j}", (g, c, i), (g, c, j))
        for g in range(sizes[0]):
            for (i, j), b in product(combinations(range(sizes[1]), 2), range(sizes[2])):
                name = f"black_link_in_group_{g}_between_chassis_{i}_and_{j}_blade_{b}"
                self._plug_in(name, (g, i, b), (g, j, b))
        for i, j in combinations(range(sizes[0]), 2):
            lower, upper = self.door(i, j), self.door(j, i)
            numbers = f"{self.number[lower]}_and_{self.number[upper]}"
            self._plug_in(f"blue_link_between_group_{i}_and_{j}_routers_{numbers}", lower, upper)
        self.between = {ends: name for name, ends in self.wires.items()}

    def _plug_in(self, name: str, lower: Any, upper: Any) -> None:
        self.wires[f"{name}_{self.n_wires}"] = lower, upper
        self.n_wires += 1

    def door(self, group: int, other: int) -> Router:
        """The router of a group that has the wire to another one."""
        n_routers, n_others = self.shape.chassis_per_group * self.shape.routers_per_chassis, self.shape.groups - 1
        if n_others >= n_routers:
            others = [each for each in range(n_others + 1) if each != group]
            other = others.index(other) // -(-n_others // n_routers)
        return group, *divmod(other, self.shape.routers_per_chassis)

    def walk(self, source: int, names: tuple[str, ...]) -> list[Any]:
        """The nodes on the way, which must be joined by the wires, in the right direction."""
        nodes: list[Any] = [source]
        for name in names:
            wire, _, half = name.rpartition("_")
            lower, upper = self.wires[wire]
            assert nodes[-1] == (lower if half == "UP" else upper)
            nodes.append(upper if half == "UP" else lower)
        return nodes

    def distance(self, source: int, target: int) -> int:
        """Wires on the shortest way that crosses at most one blue one, between the two groups."""
        groups = self.home[source][0], self.home[target][0]
        steps: dict[Any, int] = {source: 0}
        waiting: deque[Any] = deque([source])
        neighbours: dict[Any, set[Any]] = {}
        for name, (lower, upper) in self.wires.items():
            if not name.startswith("blue") or {lower[0], upper[0]} == set(groups):
                neighbours.setdefault(lower, set()).add(upper)
                neighbours.setdefault(upper, set()).add(lower)
        while waiting:
            at = waiting.popleft()
            for other in neighbours[at] - steps.keys():
                steps[other] = steps[at] + 1
                waiting.append(other)
        return steps[target]


def dragonfly_links(machine: Cluster, graph: Wires, source: int, target: int) -> list[str]:
    """The names of the links of a minimal route, in order, with SimGrid's error inside a group."""
    if source == target and machine.loopback_bandwidth_bytes_per_s:
        return [f"{machine.name}_link_{machine.hosts.numbers[source]}_loopback"]
    n_hosts, names = graph.shape.n_hosts, list[str]()
    at, goal = graph.home[source], graph.home[target]
    crosses = at[0] != goal[0]

    def limit(number: int) -> None:
        if machine.limiter_bandwidth_bytes_per_s:
            names.append(f"{machine.name}_link_{number}_limiter")

    def limit_router(router: Router) -> None:
        limit(2 * n_hosts - 1 - graph.number[router])

    def cross(here: Any, there: Any) -> None:
        rises = (here, there) in graph.between
        half = ("_UP" if rises else "_DOWN") if machine.is_split else ""
        names.append(graph.between[(here, there) if rises else (there, here)] + half)

    def go(here: Router, there: Router) -> Router:
        limit_router(here)
        cross(here, there)
        return there

    def go_inside(here: Router, there: Router, *, is_wrong: bool) -> None:
        if here[2] != there[2]:
            here = go(here, (here[0], here[1], there[2]))
            here = (here[0], 0 if is_wrong else here[1], here[2])
        if here[1] != there[1]:
            go(here, there)

    limit(source)
    cross(source, at)
    if crosses:
        door, entry = graph.door(at[0], goal[0]), graph.door(goal[0], at[0])
        go_inside(at, door, is_wrong=False)
        cross(door, entry)
        limit_router(door)
        at = entry
    go_inside(at, goal, is_wrong=not crosses)
    limit_router(goal)
    cross(goal, target)
    limit(target)
    return names


@SMALL
@given(shapes(), options())
def test_a_dragonfly_routes_by_blade_then_by_chassis(shape: DragonflyShape, chosen: dict[str, Any]) -> None:
    machine = cluster(shape.n_hosts, **chosen)
    graph = Wires(shape)
    pairs = list(product(range(shape.n_hosts), repeat=2))[:400]
    assert_routes(built(machine, shape), {pair: dragonfly_links(machine, graph, *pair) for pair in pairs})


@SMALL
@given(shapes())
def test_a_minimal_route_is_a_shortest_path_that_crosses_one_blue_wire(shape: DragonflyShape) -> None:
    graph = Wires(shape)
    platform = built(cluster(shape.n_hosts), shape)
    for source, target in list(combinations(range(shape.n_hosts), 2))[:: 1 + shape.n_hosts**2 // 200]:
        names = platform.route(source, target).link_names
        (group, chassis, blade), (goal_group, goal_chassis, goal_blade) = graph.home[source], graph.home[target]
        if (
            group == goal_group and blade != goal_blade and chassis
        ):  # SimGrid's error: a black wire from the first chassis
            assert len(names) == 3 + (goal_chassis != 0)
            continue
        assert graph.walk(source, names)[-1] == target
        assert len(names) == graph.distance(source, target)


@SMALL
@given(shapes(), st.booleans())
def test_the_longest_minimal_route_follows_from_the_shape(shape: DragonflyShape, is_limited: bool) -> None:
    machine = cluster(shape.n_hosts, limiter_bandwidth_bytes_per_s=2e9 * is_limited)
    platform = built(machine, shape)
    pairs = [(s, t) for s, t in product(range(shape.n_hosts), repeat=2) if s != t]
    longest = max((len(platform.route(*pair).link_names) for pair in pairs), default=0)
    assert Dragonfly(machine, shape).longest_route_links == longest
    assert Dragonfly(machine, shape, "valiant").longest_route_links is (0 if shape.n_hosts == 1 else None)


@SMALL
@given(many_groups(), st.integers(0, 2**64 - 1))
def test_a_valiant_route_leads_by_way_of_one_other_group(shape: DragonflyShape, seed: int) -> None:
    graph = Wires(shape)
    platform = built(cluster(shape.n_hosts), shape, "valiant", seed)
    pairs = list(product(range(shape.n_hosts), repeat=2))[:: 1 + shape.n_hosts**2 // 200]
    routes = {pair: platform.route(*pair).link_names for pair in pairs}
    for (source, target), names in routes.items():
        nodes = graph.walk(source, names)
        assert nodes[-1] == target
        groups = list(dict.fromkeys(node[0] for node in nodes[1:-1]))
        ends = graph.home[source][0], graph.home[target][0]
        assert (groups[0], groups[-1]) == ends
        assert len(groups) == (1 if ends[0] == ends[1] else 3)
        assert len(names) <= 2 + 2 * 3 + 2
    assert {pair: platform.route(*pair).link_names for pair in reversed(pairs)} == routes


def test_valiant_draws_every_other_group_about_as_often() -> None:
    shape = DragonflyShape(groups=12, chassis_per_group=2, routers_per_chassis=6, hosts_per_router=2)
    graph = Wires(shape)
    platform = built(cluster(shape.n_hosts), shape, "valiant", 7)
    per_group = shape.n_hosts // shape.groups
    drawn = Counter(
        group
        for s, t in product(range(per_group), range(per_group, 2 * per_group))
        for group in {node[0] for node in graph.walk(s, platform.route(s, t).link_names)[1:-1]} - {0, 1}
    )
    expected = per_group**2 / 10  # mean of 576 pairs: the standard deviation is about 7
    assert set(drawn) == set(range(2, 12))
    assert all(abs(count - expected) < 30 for count in drawn.values())


def test_the_seed_decides_where_valiant_goes() -> None:
    shape = DragonflyShape(6, 2, 3, 1)
    machine = cluster(shape.n_hosts)
    first, same, other = (built(machine, shape, "valiant", seed) for seed in (1, 1, 2))
    routes = [[platform.route(0, target).link_names for target in range(6, 36)] for platform in (first, same, other)]
    assert routes[0] == routes[1] != routes[2]


def blue_load(shape: DragonflyShape, routing: str, pairs: list[tuple[int, int]]) -> Counter[str]:
    """Number of the pairs that cross each half of a blue wire."""
    platform = built(cluster(shape.n_hosts), shape, routing, 3)
    names = (name for pair in pairs for name in platform.route(*pair).link_names)
    return Counter(name for name in names if name.startswith("blue"))


def test_each_blue_wire_carries_the_pairs_of_its_two_groups() -> None:
    shape = DragonflyShape(4, 2, 3, 2)
    load = blue_load(shape, "minimal", list(product(range(shape.n_hosts), repeat=2)))
    assert len(load) == 4 * 3
    assert set(load.values()) == {12 * 12}


def test_valiant_spreads_what_one_group_sends_to_the_next() -> None:
    shape = DragonflyShape(9, 3, 3, 16)
    per_group = shape.n_hosts // 9
    pairs = [(s, (s + per_group) % shape.n_hosts) for s in range(shape.n_hosts)]
    minimal, valiant = (max(blue_load(shape, routing, pairs).values()) for routing in ("minimal", "valiant"))
    assert minimal == per_group
    assert valiant < per_group / 2


def test_two_groups_leave_valiant_no_choice() -> None:
    shape = DragonflyShape(2, 1, 3, 2)
    machine = cluster(shape.n_hosts)
    minimal, valiant = built(machine, shape), built(machine, shape, "valiant")
    for pair in product(range(shape.n_hosts), repeat=2):
        assert minimal.route(*pair) == valiant.route(*pair)


def test_a_bundle_is_one_wire_of_as_much_more_bandwidth() -> None:
    platform = built(cluster(24), DragonflyShape(2, 2, 3, 2, blue=5, black=3, green=2))
    bandwidths = {
        platform.link_name(link).partition("_")[0]: lib.platform_link_bandwidth_bytes_per_s(platform.handle, link)
        for link in range(platform.n_links)
    }
    assert bandwidths == {"local": 1.25e9, "green": 2.5e9, "black": 3.75e9, "blue": 6.25e9}


def test_wires_of_a_second_dragonfly_are_numbered_after_those_of_the_first() -> None:
    shape, second = DragonflyShape(3, 1, 3, 1), cluster(9, "d")
    builder = PlatformBuilder("two dragonflies")
    builder.full_zone("world")
    builder.add(Dragonfly(cluster(1), DragonflyShape(1, 1, 1, 1)), "world")
    builder.add(Dragonfly(second, shape), "world")
    graph = Wires(shape, first_wire=1)
    pairs = product(range(9), repeat=2)
    assert_routes(builder.finish(), {(1 + s, 1 + t): dragonfly_links(second, graph, s, t) for s, t in pairs})


@given(shapes(), st.sampled_from(["minimal", "valiant"]), st.booleans(), st.data())
def test_hosts_of_a_dragonfly_with_empty_places_have_the_routes_of_a_full_one(
    shape: DragonflyShape, routing: str, is_limited: bool, data: st.DataObject
) -> None:
    n_hosts = data.draw(st.integers(1, shape.n_hosts))
    more = {"limiter_bandwidth_bytes_per_s": 1e9} if is_limited else {}
    full, part = (built(cluster(n, **more), shape, routing, seed=3) for n in (shape.n_hosts, n_hosts))
    for source, target in product(range(n_hosts), repeat=2):
        names = [
            [re.sub(r"\d+(_UP|_DOWN|_limiter)?$", r"\1", name) for name in platform.route(source, target).link_names]
            for platform in (full, part)
        ]
        assert names[0] == names[1]
    names_of_part = {part.link_name(link) for link in range(part.n_links)}
    assert len(names_of_part) == part.n_links
    assert part.n_hosts == n_hosts


@given(st.integers(1, 100_000))
def test_a_balanced_dragonfly_is_the_smallest_that_has_places_for_its_hosts(n_hosts: int) -> None:
    shape = balanced_shape(n_hosts)
    p = shape.hosts_per_router
    assert shape.routers_per_chassis == 2 * p
    assert shape.groups <= 2 * p
    assert n_hosts <= shape.n_hosts < n_hosts + 2 * p * p  # the last group has a host
    assert 4 * (p - 1) ** 3 < n_hosts


@given(st.integers(1, 5_000), st.integers(3, 64))
def test_a_dragonfly_of_routers_with_so_many_ports_needs_no_more_of_them(n_hosts: int, ports: int) -> None:
    try:
        machine = read_machine(f"dragonfly ports={ports} hosts={n_hosts}", 1)
    except PlatformError as wrong:
        assert f"routers of {ports} ports make no balanced dragonfly of {n_hosts:,} hosts" in str(wrong)  # noqa: PT017
        return
    assert machine.n_hosts == n_hosts
    assert max(each.ports for each in machine.parts_list.switches) <= ports


@pytest.mark.parametrize(("ports", "p"), [(3, 1), (7, 2), (40, 10), (63, 16)])
def test_routers_of_four_p_less_one_ports_make_a_full_balanced_dragonfly(ports: int, p: int) -> None:
    assert switched_dragonfly(4 * p**3, ports) == balanced_shape(4 * p**3)


@pytest.mark.parametrize(("ports", "n_hosts"), [(3, 6), (4, 10), (7, 72), (15, 1_056), (40, 44_200)])
def test_a_dragonfly_of_routers_grows_until_each_two_groups_share_one_cable(ports: int, n_hosts: int) -> None:
    shape = switched_dragonfly(n_hosts, ports)
    assert (shape.n_hosts, shape.blue, shape.router_ports) == (n_hosts, 1, ports)
    with pytest.raises(ValueError, match=f"and none of more than {n_hosts:,}: take other routers"):
        switched_dragonfly(n_hosts + 1, ports)


def test_hosts_of_one_group_have_as_few_routers_as_their_ports_allow() -> None:
    parts = read_machine("dragonfly ports=40 hosts=96", 1).parts_list
    assert [(each.count, each.ports) for each in parts.switches] == [(10, 19)]


def test_a_dragonfly_has_ports_or_the_numbers_of_its_shape() -> None:
    with pytest.raises(PlatformError, match=r"ports: the numbers of groups, .* say it: keep one or the other"):
        read_machine("dragonfly ports=40 groups=3 routers_per_chassis=3 hosts_per_router=2", 1)


@pytest.mark.parametrize("n_hosts", [8, 20, 32, 64, 90, 108, 200])
def test_a_balanced_dragonfly_carries_what_all_hosts_send_to_all(n_hosts: int) -> None:
    """Each host sends as fast as its wire is, equal parts to all others: no wire has to carry much more than it can."""
    platform = read_machine(f"dragonfly hosts={n_hosts} nic=1GB/s", 1).build()
    pairs = ((a, b) for a, b in product(range(n_hosts), repeat=2) if a != b)
    loads = Counter(link for a, b in pairs for link in platform.route_links(a, b)[0])
    fullest = max(load / (n_hosts - 1) * 1e9 / platform.link(link)[0] for link, load in loads.items())
    assert 1 <= fullest < 1.2


def test_every_wire_and_every_link_of_a_dragonfly_has_a_name_of_its_own() -> None:
    shape = DragonflyShape(5, 3, 4, 2)
    machine = cluster(shape.n_hosts, loopback_bandwidth_bytes_per_s=4e9, limiter_bandwidth_bytes_per_s=2e9)
    platform = built(machine, shape)
    names = {platform.link_name(link) for link in range(platform.n_links)}
    assert len(names) == platform.n_links == 2 * sum(shape.wires) + 2 * shape.n_hosts + shape.n_routers
    assert Wires(shape).wires.keys() == {name.removesuffix("_UP") for name in names if name.endswith("_UP")}


@pytest.mark.parametrize(
    ("shape", "more", "message"),
    [
        (
            (2, 2, 3, 1),
            {},
            r"dragonfly 'c' has 24 hosts and its shape needs 2 x 2 x 3 x 1 = 12: change its hosts or its",
        ),
        ((2, 2, 3, 0), {}, "dragonfly 'c' has a 0 in its shape: every number is at least 1"),
        ((2, 2, 3, 2, 0), {}, "dragonfly 'c' has a 0 in its shape"),
        ((2, 2, 3, 2, 2**31), {}, "dragonfly 'c' has bundles of 2147483648 wires: there can be 2147483647"),
        ((2, 2, 3, 2), {"routing": "random"}, "has routing 'random': give one of minimal, valiant, adaptive"),
        ((2, 2, 3, 2), {"seed": -1}, "has a seed of -1: it is from 0"),
        ((2, 2, 3, 2), {"seed": 2**64}, "has a seed of 18446744073709551616: it is from 0"),
    ],
)
def test_a_shape_that_is_no_dragonfly_is_refused(shape: tuple[int, ...], more: dict[str, Any], message: str) -> None:
    with pytest.raises(PlatformError, match=message):
        built(cluster(24), DragonflyShape(*shape), **more)


def test_the_kernel_refuses_a_dragonfly_that_cannot_be_numbered() -> None:
    handle = ffi.gc(lib.platform_new(), lib.platform_free)
    zone = lib.platform_add_full_zone(handle, -1, -1)

    def add(*numbers: int, n_hosts: int = 2**20, routing: int = 0) -> int:
        alike = {"n_hosts": n_hosts, "cores": 1, "speed_flop_per_s": 1, "bandwidth_bytes_per_s": 1}
        shape = ffi.new("dragonfly_shape *", numbers)
        return int(lib.platform_add_dragonfly(handle, zone, ffi.new("cluster *", alike), shape, routing, 0))

    assert add(1, 1, 2**20, 1, 1, 1, 1) == lib.PLATFORM_TOO_LARGE  # green wires
    assert add(1, 2**20, 1, 1, 1, 1, 1) == lib.PLATFORM_TOO_LARGE  # black
    assert add(2**18, 2, 2**17, 1, 1, 1, 1, n_hosts=2**30) == lib.PLATFORM_BAD_ARGUMENT  # hosts
    for wrong in ((0, 1, 1, 1, 1, 1, 1), (1, 1, 1, 2**20, 0, 1, 1), (1, 1, -1, -1, 1, 1, 1)):
        assert add(*wrong) == lib.PLATFORM_BAD_ARGUMENT
    assert add(1, 1, 1, 2**20, 1, 1, 1, routing=3) == lib.PLATFORM_BAD_ARGUMENT
