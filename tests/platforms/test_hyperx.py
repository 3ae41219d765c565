"""HyperX: routes against the definition and a graph search, loads against closed forms."""

from __future__ import annotations

import re
from collections import Counter, deque
from itertools import pairwise, product
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.kernel import ffi, lib
from smpy.engine.platform import Platform
from smpy.errors import PlatformError
from smpy.platforms import Cluster, Description, FullZone, HyperX, NumberedNames, read_machine
from smpy.platforms.topologies.hyperx import switched_lattice

SMALL = settings(max_examples=60)
Node = tuple[Any, ...]  # a switch is "s" and its coordinates, a host its number


def cluster(n_hosts: int, **more: Any) -> Cluster:
    hosts = NumberedNames("n", (range(0, 2 * n_hosts, 2),))
    return Cluster("c", hosts, 1e9, bandwidth_bytes_per_s=1.25e9, latency_s=1e-6, **more)


def lattice(dimensions: tuple[int, ...], hosts_per_switch: int = 2, more: Any = None, **shape: Any) -> HyperX:
    return HyperX(cluster(prod(dimensions) * hosts_per_switch, **(more or {})), dimensions, hosts_per_switch, **shape)


@st.composite
def lattices(draw: st.DrawFn, **shape: Any) -> HyperX:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).filter(lambda sizes: prod(sizes) <= 24))
    cables = tuple(draw(st.integers(1, 3)) for _ in sizes)
    more: dict[str, Any] = {"is_split": draw(st.booleans())}
    if draw(st.booleans()):
        more |= {"loopback_bandwidth_bytes_per_s": 4e9}
    if draw(st.booleans()):
        more["limiter_bandwidth_bytes_per_s"] = 2e9
    return lattice(tuple(sizes), draw(st.integers(1, 3)), more, cables=cables, **shape)


class Plugs:
    """A HyperX as nodes and cables that are plugged into them, by the definition."""

    def __init__(self, net: HyperX) -> None:
        self.net = net
        self.switches = [digits[::-1] for digits in product(*(range(size) for size in reversed(net.dimensions)))]
        self.below = {host: self.switches[host // net.hosts_per_switch] for host in range(net.n_hosts)}
        number = {switch: i for i, switch in enumerate(self.switches)}
        self.ends: dict[str, tuple[Node, Node]] = {f"c_link_{2 * h}": ((h,), ("s", *s)) for h, s in self.below.items()}
        for a, b in product(self.switches, repeat=2):
            different = [d for d in range(len(a)) if a[d] != b[d]]
            if number[a] < number[b] and len(different) == 1:
                for cable in range(net.cables[different[0]] if net.cables else 1):
                    name = f"c_switch_{number[a]}_{number[b]}_cable_{cable}"
                    self.ends[name] = (("s", *a), ("s", *b))

    def walk(self, source: int, names: tuple[str, ...]) -> list[Node]:
        """The nodes on a way; each link must be plugged into the one that is reached."""
        nodes: list[Node] = [(source,)]
        for name in names:
            bare = re.sub("_(UP|DOWN)$", "", name)
            low, high = self.ends[bare]
            assert nodes[-1] in (low, high)
            rises = nodes[-1] == low
            assert name == (bare + ("_UP" if rises else "_DOWN") if self.net.cluster.is_split else bare)
            nodes.append(high if rises else low)
        return nodes

    def distances(self, source: int) -> dict[Node, int]:
        """Cables from a host to all nodes, by breadth-first search."""
        beside: dict[Node, set[Node]] = {}
        for low, high in self.ends.values():
            beside.setdefault(low, set()).add(high)
            beside.setdefault(high, set()).add(low)
        steps: dict[Node, int] = {(source,): 0}
        waiting: deque[Node] = deque(steps)
        while waiting:
            node = waiting.popleft()
            for other in beside[node] - steps.keys():
                steps[other] = steps[node] + 1
                waiting.append(other)
        return steps


def built(net: HyperX) -> Platform:
    return Description("a lattice", net).build()


def cables_between(platform: Platform, source: int, target: int) -> tuple[str, ...]:
    """The links of a route without the limiters, which stand at its ends."""
    names = platform.route(source, target).link_names
    if not names[0].endswith("_limiter"):
        return names
    assert names[0] == f"c_link_{2 * source}_limiter"
    assert source == target or names[-1] == f"c_link_{2 * target}_limiter"
    return names[1:] if source == target else names[1:-1]


@SMALL
@given(lattices())
def test_a_route_corrects_one_coordinate_after_the_other_and_is_a_shortest_one(net: HyperX) -> None:
    platform, plugs = built(net), Plugs(net)
    for source in range(net.n_hosts):
        distances = plugs.distances(source)
        for target in range(net.n_hosts):
            if source == target:
                continue
            names = cables_between(platform, source, target)
            *nodes, end = plugs.walk(source, names)
            assert end == (target,)
            assert len(names) == distances[end]
            changed = [next(d for d in range(1, len(a)) if a[d] != b[d]) for a, b in pairwise(nodes[1:])]
            assert changed == sorted(set(changed))


@SMALL
@given(lattices(routing="dimension_order"))
def test_a_pair_takes_the_cable_that_source_and_target_say(net: HyperX) -> None:
    platform = built(net)
    for source, target in product(range(net.n_hosts), repeat=2):
        for name in platform.route(source, target).link_names:
            trunk = re.match(r"c_switch_(\d+)_(\d+)_cable_(\d+)", name)
            if trunk:
                a, b, cable = map(int, trunk.groups())
                dimension = next(
                    d for d, size in enumerate(net.dimensions)
                    if a // prod(net.dimensions[:d]) % size != b // prod(net.dimensions[:d]) % size
                )  # fmt: skip
                n_cables = net.cables[dimension]
                assert cable == (source + target // n_cables) % n_cables


@pytest.mark.slow
@SMALL
@given(lattices(routing="valiant"), st.integers(0, 2**64 - 1))
def test_a_valiant_route_is_two_shortest_ones_over_a_switch_that_the_seed_draws(net: HyperX, seed: int) -> None:
    net = HyperX(net.cluster, net.dimensions, net.hosts_per_switch, net.cables, "valiant", seed)
    platform, again, plugs = built(net), built(net), Plugs(net)
    straight = built(HyperX(net.cluster, net.dimensions, net.hosts_per_switch, net.cables))
    for source, target in product(range(net.n_hosts), repeat=2):
        route = platform.route(source, target)
        assert route == again.route(source, target)
        if plugs.below[source] == plugs.below[target]:
            assert route == straight.route(source, target)
            continue
        nodes = plugs.walk(source, cables_between(platform, source, target))
        assert nodes[-1] == (target,)
        away = Counter({node: steps - 1 for node, steps in plugs.distances(source).items()})
        back = plugs.distances(target)
        assert any(away[node] + back[node] - 1 == len(nodes) - 3 for node in nodes[1:-1])


def test_valiant_routes_draw_every_switch_equally_often_and_other_ones_with_another_seed() -> None:
    n, n_switches = 4, 6  # one dimension: a route shows the switch that was drawn, but for the ends
    first, second = (built(lattice((n_switches,), n, routing="valiant", seed=seed)) for seed in (1, 2))
    pairs = [(s, t) for s, t in product(range(n * n_switches), repeat=2) if s // n != t // n]
    detours: Counter[str] = Counter()
    for pair in pairs:
        names = first.route(*pair).link_names
        assert len(names) in (3, 4)
        if len(names) == 4:
            detours[re.sub("_(UP|DOWN)", "", names[1])] += 1
    expected = len(pairs) * (n_switches - 2) / n_switches  # the rest drew source or target
    assert abs(detours.total() - expected) < 4 * expected**0.5
    each = expected / (n_switches * (n_switches - 1) / 2)
    assert all(abs(count - each) < 5 * each**0.5 for count in detours.values())
    for host in range(n * n_switches):
        out, back = ({first.route(*pair).link_names[1:-1] for pair in pairs if pair[end] == host} for end in (0, 1))
        assert len(out) > 1.5 * (n_switches - 1)  # drawn for each pair of hosts, not of switches
        assert len(back) > 1.5 * (n_switches - 1)
    assert sum(first.route(*pair) != second.route(*pair) for pair in pairs) > len(pairs) / 2


@pytest.mark.parametrize(
    ("dimensions", "hosts", "cables"),
    [((4, 3, 2), 3, (1, 1, 1)), ((5, 4), 6, (3, 2)), ((8,), 4, (4,)), ((2, 2), 1, ())],
)
def test_all_to_all_loads_the_cables_of_a_dimension_alike(
    dimensions: tuple[int, ...], hosts: int, cables: tuple[int, ...]
) -> None:
    """With n hosts a switch, S switches and size s of the dimension: n^2 S / s pairs cross each line from i to j."""
    net = lattice(dimensions, hosts, cables=cables)
    platform, plugs = built(net), Plugs(net)
    loads = Counter(
        name for s, t in product(range(net.n_hosts), repeat=2) if s != t for name in platform.route(s, t).link_names
    )
    assert len(loads) == platform.n_links
    for name, load in loads.items():
        low, high = plugs.ends[re.sub("_(UP|DOWN)$", "", name)]
        if len(low) == 1:
            assert load == net.n_hosts - 1
            continue
        d = next(d for d in range(len(dimensions)) if low[1 + d] != high[1 + d])
        assert load == pytest.approx(hosts**2 * net.n_switches / dimensions[d] / (cables or (1,) * 9)[d], abs=hosts)


@pytest.mark.parametrize("n_cables", [2, 4, 8])
def test_hosts_that_send_in_a_pattern_use_all_cables_between_their_switches_alike(n_cables: int) -> None:
    n, n_switches = 8, 8
    platform = built(lattice((n_switches,), n, cables=(n_cables,)))
    n_hosts = n * n_switches
    patterns = [[(s + distance) % n_hosts for s in range(n_hosts)] for distance in (n, 3 * n, n_hosts // 2)]
    patterns += [[s ^ mask for s in range(n_hosts)] for mask in (n, 2 * n, n_hosts - 1)] + [list(range(n_hosts))[::-1]]
    for targets in patterns:
        loads = Counter(name for pair in enumerate(targets) for name in platform.route(*pair).link_names)
        assert {load for name, load in loads.items() if "switch" in name} == {n // n_cables}


def test_half_of_the_hosts_reach_the_other_half_over_the_bisection_that_the_paper_gives() -> None:
    net = lattice((4, 4), 4, cables=(2, 1))
    plugs = Plugs(net)
    crossing = [name for name, (a, b) in plugs.ends.items() if len(a) > 1 and (a[1] < 2) != (b[1] < 2)]
    assert len(crossing) == net.n_switches * 4 // 4 * 2  # K S s / 4: every switch pairs with half a line
    platform = built(net)
    loads = Counter(
        name
        for s, t in product(range(net.n_hosts), repeat=2)
        if plugs.below[s][0] < 2 <= plugs.below[t][0]
        for name in platform.route(s, t).link_names
    )
    assert {loads[f"{name}_UP"] for name in crossing} == {(net.n_hosts // 2) ** 2 // len(crossing)}


def test_a_host_without_loopback_reaches_itself_over_its_switch() -> None:
    assert built(lattice((2, 2))).route(3, 3).link_names == ("c_link_6_UP", "c_link_6_DOWN")
    assert built(lattice((2, 2), more={"is_split": False})).route(3, 3).link_names == ("c_link_6",)


@SMALL
@given(lattices())
def test_every_link_has_a_name_of_its_own(net: HyperX) -> None:
    platform = built(net)
    names = {platform.link_name(link) for link in range(platform.n_links)}
    assert len(names) == platform.n_links
    cables = {name for name in names if not name.endswith(("_loopback", "_limiter"))}
    assert {re.sub("_(UP|DOWN)$", "", name) for name in cables} == Plugs(net).ends.keys()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"dimensions": ()}, "has 0 dimensions"),
        ({"dimensions": (1,) * 17}, "has 17 dimensions: it needs 1 to 16"),
        ({"dimensions": (2, 0)}, "has a 0 among its numbers"),
        ({"dimensions": (3, 1)}, "has 8 hosts and its shape 3 x 1 switches x 2 = 6 places"),
        ({"hosts_per_switch": 2**40}, "can be 2,147,483,647 cables and hosts"),
        ({"cables": (1,)}, "has 2 dimensions and 1 numbers of cables"),
        ({"cables": (1, 0)}, "has a 0 among its numbers"),
        ({"cables": (1, 2**31 - 1)}, "would take"),
        ({"routing": "random"}, "has routing 'random': give one of dimension_order, valiant, adaptive"),
        ({"seed": -1}, "has seed -1"),
        ({"cluster": cluster(8, backbone_bandwidth_bytes_per_s=1e9)}, "has a backbone"),
    ],
)
def test_a_shape_that_cannot_be_is_refused_by_name(change: dict[str, Any], complaint: str) -> None:
    shape = {"cluster": cluster(8), "dimensions": (2, 2), "hosts_per_switch": 2} | change
    with pytest.raises(PlatformError, match=f"HyperX 'c'.*{re.escape(complaint)}"):
        built(HyperX(**shape))


def test_the_kernel_refuses_what_cannot_be_numbered() -> None:
    handle = ffi.gc(lib.platform_new(), lib.platform_free)
    zone = lib.platform_add_full_zone(handle, -1, -1)
    hosts = ffi.new("cluster *", {"n_hosts": 4096, "cores": 1, "speed_flop_per_s": 1, "bandwidth_bytes_per_s": 1})

    def add(sizes: list[int], cables: list[int], per_switch: int) -> int:
        return int(lib.platform_add_hyperx(handle, zone, hosts, len(sizes), sizes, cables, per_switch, 0, 0))

    assert add([64, 64], [1, 2**20], 1) == lib.PLATFORM_TOO_LARGE
    assert add([64, 64], [2**31 - 1, 1], 1) == lib.PLATFORM_TOO_LARGE
    assert add([64, 64], [1, 0], 1) == lib.PLATFORM_BAD_ARGUMENT
    assert add([64, 63], [1, 1], 1) == lib.PLATFORM_BAD_ARGUMENT
    assert add([2**31 - 1, 2**31 - 1], [1, 1], 2**31 - 1) == lib.PLATFORM_TOO_LARGE
    assert add([2**31 - 1, 1], [1, 1], 2**31 - 1) == lib.PLATFORM_TOO_LARGE
    assert add([1] * 17, [1] * 17, 4096) == lib.PLATFORM_BAD_ARGUMENT


def test_the_last_places_may_be_empty_and_the_cables_are_still_there() -> None:
    full = lattice((3, 2), 3, cables=(2, 1))
    part = HyperX(cluster(14), (3, 2), 3, (2, 1))
    whole, partly = built(full), built(part)
    assert partly.n_links == whole.n_links - 2 * (18 - 14)
    for source, target in product(range(14), repeat=2):
        assert partly.route(source, target) == whole.route(source, target)
    assert read_machine("hyperx 3x2 hosts=14", 1).zone == read_machine("hyperx 3x2 hosts=14 hosts_per_switch=3", 1).zone
    assert full.bisection_bandwidth_bytes_per_s is not None
    assert part.bisection_bandwidth_bytes_per_s is None


def test_a_lattice_stands_in_a_larger_zone() -> None:
    net = lattice((2,))
    world = Description("world", FullZone("world", (net,))).build()
    assert world.route(0, 3).link_names == built(net).route(0, 3).link_names


@given(st.integers(1, 20_000), st.integers(2, 64))
def test_a_hyperx_of_switches_with_so_many_ports_needs_no_more_of_them_and_carries_all_to_all(
    n_hosts: int, ports: int
) -> None:
    try:
        shape = switched_lattice(n_hosts, ports)
    except ValueError as wrong:
        assert f"switches of {ports} ports make no HyperX of {n_hosts:,} hosts" in str(wrong)  # noqa: PT017
        return
    n_switches = prod(shape.dimensions)
    assert n_switches * shape.hosts_per_switch >= n_hosts > n_switches * (shape.hosts_per_switch - 1)
    assert shape.switch_ports <= ports
    assert all(
        size * cables >= shape.hosts_per_switch for size, cables in zip(shape.dimensions, shape.cables, strict=True)
    )


def test_hosts_that_fit_one_switch_have_one() -> None:
    parts = read_machine("hyperx ports=40 hosts=40", 1).parts_list
    assert parts is not None
    assert [(each.count, each.ports) for each in parts.switches] == [(1, 40)]


@pytest.mark.parametrize(("n_hosts", "n_dimensions"), [(41, 1), (420, 1), (421, 2), (2744, 2), (2745, 3)])
def test_a_hyperx_has_as_few_dimensions_as_its_ports_allow(n_hosts: int, n_dimensions: int) -> None:
    assert len(switched_lattice(n_hosts, 40).dimensions) == n_dimensions


def test_the_bisection_of_a_hyperx_by_ports_is_half_of_what_its_hosts_can_send_or_more() -> None:
    machine = read_machine("hyperx ports=40 hosts=1000 nic=1GB/s", 1)
    assert machine.zone.bisection_bandwidth_bytes_per_s is not None
    assert machine.zone.bisection_bandwidth_bytes_per_s >= 250 * 1e9


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("hyperx ports=40 dimensions=4x4 hosts=32", "ports: dimensions says it: keep one or the other"),
        ("hyperx ports=40 cables=2 hosts=32", "ports: cables says it: keep one or the other"),
        ("hyperx ports=1 hosts=32", "ports: it is 1, and must be at least 2"),
        ("hyperx ports=4 hosts=100000", "switches of 4 ports make no HyperX of 100,000 hosts"),
    ],
)
def test_ports_that_cannot_be_are_refused(line: str, complaint: str) -> None:
    with pytest.raises(PlatformError, match=complaint):
        read_machine(line, 1)
