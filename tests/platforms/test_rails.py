"""Hosts with several network cards: one plane of the network each, whatever its topology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.emulate.run.run import run
from smpy.engine.cluster_networks import kernel_cluster
from smpy.engine.kernel import ffi, lib
from smpy.engine.platform import Platform
from smpy.errors import PlatformError
from smpy.options import RunConfig
from smpy.platforms import (
    CallCosts,
    Cluster,
    DeclaredRoute,
    Description,
    Edge,
    FatTree,
    FlatCluster,
    FullZone,
    Graph,
    Hop,
    Host,
    HyperX,
    Link,
    Models,
    NetworkModel,
    NumberedNames,
    TreeShape,
    Zone,
)
from tests.engine.test_fair_share import EPS, Flow, Links, load_and_level

BANDWIDTH_BYTES_PER_S, LATENCY_S, N_BYTES = 1e9, 1e-6, 1_000_000
N_HOSTS = 12
BARE = Models(
    NetworkModel(
        latency_factor=(), bandwidth_factor=(), weight_bytes=0, tcp_gamma_bytes=0, crosstraffic=0, envelope_bytes=0
    ),
    CallCosts(wtime_s=0),
)  # a message takes its latencies and its bytes, and calls nothing
EDGES = (
    *(Edge(f"n{host}", f"s{host % 3}", 2) for host in range(N_HOSTS)),
    *(Edge("s0", "s1", 2), Edge("s1", "s2", 3), Edge("s2", "s0")),
)
NETWORKS: dict[str, Callable[[Cluster], Zone]] = {
    "flat": lambda cluster: FlatCluster(replace(cluster, backbone_bandwidth_bytes_per_s=5e9)),
    "fat tree": lambda cluster: FatTree(cluster, TreeShape((3, 2, 2), (1, 2, 2), (1, 1, 2))),
    "hyperx": lambda cluster: HyperX(cluster, (2, 3), 2, (2, 3)),
    "valiant": lambda cluster: HyperX(cluster, (3, 2), 2, (1, 2), "valiant", seed=5),
    "graph": lambda cluster: Graph(cluster, EDGES),
}
every_network = pytest.mark.parametrize("network", NETWORKS)


def cluster(rails: int) -> Cluster:
    hosts = NumberedNames("n", (range(N_HOSTS),))
    return Cluster("c", hosts, 1e9, BANDWIDTH_BYTES_PER_S, LATENCY_S, rails=rails)


def built(network: str, rails: int) -> Platform:
    return Description(network, NETWORKS[network](cluster(rails))).build()


@every_network
@pytest.mark.parametrize("rails", [2, 3])
def test_each_rail_is_the_same_network_and_each_pair_takes_one_of_them(network: str, rails: int) -> None:
    single, several = built(network, 1), built(network, rails)
    assert several.host_names == single.host_names
    assert several.n_links == rails * single.n_links
    assert {several.link_name(link) for link in range(several.n_links)} == {
        f"rail{rail}_{single.link_name(link)}" for rail in range(rails) for link in range(single.n_links)
    }
    for source, target in product(range(N_HOSTS), repeat=2):
        route, alone = several.route(source, target), single.route(source, target)
        rail = rail_of(several, source, target)
        assert route.link_names == tuple(f"rail{rail}_{name}" for name in alone.link_names)
        assert route.latency_s == alone.latency_s


def rail_of(platform: Platform, source: int, target: int) -> int:
    name = platform.route(source, target).link_names[0]
    return int(name[len("rail") : name.index("_")])


@pytest.mark.parametrize("rails", [2, 3, 4])
def test_a_host_meets_the_members_of_each_group_on_a_rail_each(rails: int) -> None:
    platform = built("flat", rails)
    for host in range(N_HOSTS):
        for first in range(0, N_HOSTS, rails):
            assert {rail_of(platform, host, first + i) for i in range(rails)} == set(range(rails))


@pytest.mark.parametrize("n_cables", [1, 2, 4])
@pytest.mark.parametrize("rails", [2, 4])
def test_hosts_that_send_in_a_pattern_use_all_rails_and_their_cables_alike(rails: int, n_cables: int) -> None:
    n, n_switches = 64, 4
    hosts = Cluster(
        "c", NumberedNames("n", (range(n * n_switches),)), 1e9, BANDWIDTH_BYTES_PER_S, LATENCY_S, rails=rails
    )
    platform = Description("c", HyperX(hosts, (n_switches,), n, (n_cables,))).build()
    patterns = [[(s + distance) % (n * n_switches) for s in range(n * n_switches)] for distance in (n, 2 * n)]
    patterns += [[s ^ mask for s in range(n * n_switches)] for mask in (n, 2 * n, 3 * n)]
    for targets in patterns:
        loads = Counter(name for pair in enumerate(targets) for name in platform.route(*pair).link_names)
        trunks = {name: load for name, load in loads.items() if "switch" in name}
        assert len(trunks) == rails * n_cables * len({(s // n, t // n) for s, t in enumerate(targets)})
        assert max(trunks.values()) <= (1 if n_cables == 1 else 1.75) * n / n_cables / rails


@pytest.mark.parametrize("rails", [2, 3, 4])
@pytest.mark.parametrize(
    ("shape", "n_hosts"),
    [
        (lambda cluster: FatTree(cluster, TreeShape((8, 4, 4), (1, 4, 4), (1, 2, 4))), 128),
        (lambda cluster: HyperX(cluster, (4, 4), 8, (2, 4)), 128),
        (lambda cluster: Graph(cluster, (*(Edge(f"n{i}", f"s{i // 32}") for i in range(64)), Edge("s0", "s1", 8))), 64),
    ],
    ids=["fat tree", "hyperx", "graph"],
)
def test_rails_split_the_load_of_each_cable_in_an_all_to_all(
    shape: Callable[[Cluster], Zone], n_hosts: int, rails: int
) -> None:
    """The choice of a rail goes together with no choice of a cable."""
    hosts = NumberedNames("n", (range(n_hosts),))
    alike = Cluster("c", hosts, 1e9, BANDWIDTH_BYTES_PER_S, LATENCY_S)

    def loads(rails: int) -> Counter[str]:
        platform = Description("c", shape(replace(alike, rails=rails))).build()
        pairs = product(range(n_hosts), repeat=2)
        return Counter(name for s, t in pairs if s != t for name in platform.route(s, t).link_names)

    single, several = loads(1), loads(rails)
    for name, load in single.items():
        for rail in range(rails):
            assert several[f"rail{rail}_{name}"] == pytest.approx(load / rails, abs=2 * load**0.5)


@pytest.mark.parametrize(("rails", "busiest"), [(1, N_HOSTS - 1), (2, N_HOSTS // 2), (3, N_HOSTS // 3)])
@pytest.mark.parametrize("calls", ["Isend(message, other)", "Irecv(messages[other], other)"])
def test_a_host_reaches_many_with_the_bandwidth_of_all_its_rails_and_one_with_that_of_one(
    tmp_path: Path, rails: int, busiest: int, calls: str
) -> None:
    program = tmp_path / "program.py"
    back = "Recv(message, 0)" if "Isend" in calls else "Send(message, 0)"
    program.write_text(f"""
from mpi4py import MPI
world, message = MPI.COMM_WORLD, bytearray({N_BYTES})
messages = [bytearray({N_BYTES}) for _ in range(world.size)]
if world.rank == 0:
    MPI.Request.Waitall([world.{calls} for other in range(1, world.size)])
else:
    world.{back}
""")

    def took_s(n_ranks: int) -> float:
        machine = Description("c", FlatCluster(cluster(rails)), BARE, fills_hosts=True)
        return run(RunConfig(n_ranks, str(program), compute="none", platform=machine)).summary.makespan_s

    one_s = N_BYTES / BANDWIDTH_BYTES_PER_S
    assert took_s(2) == pytest.approx(2 * LATENCY_S + one_s, rel=1e-9)
    assert took_s(N_HOSTS) == pytest.approx(2 * LATENCY_S + busiest * one_s, rel=1e-9)


def test_a_cluster_on_rails_stands_in_a_larger_zone_behind_its_router() -> None:
    world = FullZone(
        "world",
        (
            FlatCluster(cluster(2), "out"),
            FullZone("office", (Host("desk", 1e9),)),
            Link("cord", 1e8, 1e-5),
            DeclaredRoute("c", "office", (Hop("cord"),), ("out", "desk")),
        ),
    )
    platform = Description("world", world).build()
    desk = platform.host_number("desk")
    up, cord = platform.route(0, desk).link_names
    assert (up[:4], up[5:], cord) == ("rail", "_c_link_0_UP", "cord")
    cord, down = platform.route(desk, 0).link_names
    assert (down[:4], down[5:], cord) == ("rail", "_c_link_0_DOWN", "cord")
    up, down = platform.route(0, 1).link_names
    assert (up[5:], down) == ("_c_link_0_UP", f"{up[:5]}_c_link_1_DOWN")
    assert platform.host_names == [f"n{host}" for host in range(N_HOSTS)] + ["desk"]


def test_no_rails_and_too_many_are_refused() -> None:
    with pytest.raises(PlatformError, match="cluster 'c' has 0 rails: a host needs at least 1"):
        built("flat", 0)
    with pytest.raises(PlatformError, match=r"cluster 'c' on 100000000 rails .* would take"):
        built("flat", 10**8)


def test_the_kernel_refuses_planes_that_do_not_fit() -> None:
    handle = ffi.gc(lib.platform_new(), lib.platform_free)
    world = lib.platform_add_full_zone(handle, -1, -1)
    assert lib.platform_add_rails(handle, world, 0) == lib.PLATFORM_BAD_ARGUMENT
    zone = lib.platform_add_rails(handle, world, 2)
    assert lib.platform_add_full_zone(handle, zone, -1) == lib.PLATFORM_BAD_ARGUMENT
    assert lib.platform_add_rails(handle, zone, 2) == lib.PLATFORM_BAD_ARGUMENT
    assert lib.platform_add_host(handle, zone, 1e9, 1) == lib.PLATFORM_BAD_ARGUMENT
    four, five = kernel_cluster(cluster(1)), kernel_cluster(cluster(1))
    four.n_hosts, five.n_hosts = 4, 5
    assert lib.platform_add_flat_cluster(handle, zone, four) == zone
    assert lib.platform_route_links(handle, 0, 1, 0, ffi.NULL, ffi.new("double *")) == lib.PLATFORM_NO_ROUTE
    assert lib.platform_add_flat_cluster(handle, zone, five) == lib.PLATFORM_BAD_ARGUMENT
    assert lib.platform_n_hosts(handle) == 4
    assert lib.platform_add_flat_cluster(handle, zone, four) == lib.PLATFORM_BAD_ARGUMENT  # there are two planes


# ---- the fair share, whose certificate is that of test_fair_share.py ----


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(NETWORKS)),
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, N_HOSTS - 1), st.integers(0, N_HOSTS - 1)), min_size=1, max_size=60),
)
def test_flows_on_several_rails_have_a_bottleneck_each_and_load_no_link_beyond_its_capacity(
    network: str, rails: int, pairs: list[tuple[int, int]]
) -> None:
    platform = built(network, rails)
    handle, n = platform.handle, platform.n_links
    capacity = [lib.platform_link_bandwidth_bytes_per_s(handle, link) for link in range(n)]
    number = {platform.link_name(link): link for link in range(n)}
    links = Links(capacity, [lib.platform_link_policy(handle, link) for link in range(n)])
    for pair in pairs:
        route = platform.route(*pair)
        links.add(Flow(route.latency_s, -1.0, dict(Counter(number[name] for name in route.link_names))))
    links.solve()
    load, level = load_and_level(links)
    assert (load <= links.capacity * (1 + EPS)).all()
    for flow, on in links.flows.items():
        assert any(
            load[link] >= capacity[link] * (1 - EPS)
            and level[flow] >= max(level[o] for o, other in links.flows.items() if link in other.load) * (1 - EPS)
            for link in on.load
        )
