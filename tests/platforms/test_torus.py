"""Routes of tori against their definition, and against a graph search, for every pair of hosts of small ones."""

from __future__ import annotations

from collections import deque
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.engine.kernel import ffi, lib
from smpy.engine.platform import Platform
from smpy.engine.platform_builder import PlatformBuilder
from smpy.errors import PlatformError
from smpy.platforms import Cluster, Torus
from smpy.runs.simulate import simulate
from tests.platforms.test_routes import SMALL, assert_routes, cluster, options

Place = tuple[int, ...]  # coordinates


@st.composite
def tori(draw: st.DrawFn) -> tuple[int, ...]:
    return draw(st.lists(st.integers(1, 7), min_size=1, max_size=4).map(tuple).filter(lambda sizes: prod(sizes) <= 24))


def built(machine: Cluster, dimensions: tuple[int, ...]) -> Platform:
    builder = PlatformBuilder("torus")
    builder.add(Torus(machine, dimensions))
    return builder.finish()


def places(dimensions: tuple[int, ...]) -> list[Place]:
    """The coordinates of each host, the first one changing fastest."""
    return [place[::-1] for place in product(*(range(size) for size in reversed(dimensions)))]


def step(place: Place, dimension: int, by: int, dimensions: tuple[int, ...]) -> Place:
    return (*place[:dimension], (place[dimension] + by) % dimensions[dimension], *place[dimension + 1 :])


def torus_links(machine: Cluster, dimensions: tuple[int, ...], source: int, target: int) -> list[str]:
    """The names of the links of a route, in order: the shorter way around one ring after another."""
    if source == target and machine.loopback_bandwidth_bytes_per_s:
        return [f"{machine.name}_link_{machine.hosts.numbers[source]}_loopback"]
    hosts = places(dimensions)
    position = {place: host for host, place in enumerate(hosts)}
    at, goal, names = hosts[source], hosts[target], list[str]()

    def limit(place: Place) -> None:
        if machine.limiter_bandwidth_bytes_per_s:
            names.append(f"{machine.name}_link_{position[place]}_limiter")

    for d, size in enumerate(dimensions):
        ahead, behind = (goal[d] - at[d]) % size, (at[d] - goal[d]) % size
        tie_rises = at[d] != size // 2 or goal[d] > at[d]
        rises = ahead < behind or (ahead == behind and tie_rises)
        while at[d] != goal[d]:
            after = step(at, d, 1 if rises else -1, dimensions)
            lower, upper = (at, after) if rises else (after, at)
            limit(at)
            half = ("_UP" if rises else "_DOWN") if machine.is_split else ""
            names.append(f"{machine.name}_link_from_{position[lower]}_to_{position[upper]}{half}")
            at = after
    limit(goal)
    return names


@SMALL
@given(tori(), options())
def test_a_torus_routes_the_shorter_way_around_one_ring_after_another(
    dimensions: tuple[int, ...], chosen: dict[str, Any]
) -> None:
    machine = cluster(prod(dimensions), **chosen)
    pairs = product(range(machine.n_hosts), repeat=2)
    expected = {pair: torus_links(machine, dimensions, *pair) for pair in pairs}
    assert_routes(built(machine, dimensions), {pair: names for pair, names in expected.items() if names})


@SMALL
@given(tori(), st.booleans())
def test_a_torus_route_is_a_shortest_path_of_its_wires(dimensions: tuple[int, ...], is_split: bool) -> None:
    n_hosts = prod(dimensions)
    platform = built(cluster(n_hosts, is_split=is_split), dimensions)
    hosts = places(dimensions)
    neighbours: dict[str, dict[str, str]] = {str(host): {} for host in range(n_hosts)}  # by the name of the wire
    for host, place in enumerate(hosts):
        for d in range(len(dimensions)):
            other = hosts.index(step(place, d, 1, dimensions))
            neighbours[str(host)][f"c_link_from_{host}_to_{other}"] = str(other)
            neighbours[str(other)][f"c_link_from_{host}_to_{other}"] = str(host)
    for source in range(n_hosts):
        distance, waiting = {str(source): 0}, deque([str(source)])
        while waiting:
            at = waiting.popleft()
            for other in neighbours[at].values():
                if other not in distance:
                    distance[other] = distance[at] + 1
                    waiting.append(other)
        for target in set(range(n_hosts)) - {source}:
            at, names = str(source), platform.route(source, target).link_names
            for name in names:
                at = neighbours[at][name.removesuffix("_UP").removesuffix("_DOWN")]
            assert at == str(target)
            assert len(names) == distance[at]


@pytest.mark.parametrize(("source", "target", "half"), [(0, 2, "UP"), (1, 3, "UP"), (2, 0, "DOWN"), (3, 1, "UP")])
def test_ties_on_an_even_ring_are_broken_as_simgrid_does(source: int, target: int, half: str) -> None:
    names = built(cluster(4), (4,)).route(source, target).link_names
    assert {name.rpartition("_")[2] for name in names} == {half}


def test_a_ring_of_two_uses_the_wire_of_its_first_host_both_ways() -> None:
    platform = built(cluster(2), (2,))
    assert platform.route(0, 1).link_names == ("c_link_from_0_to_1_UP",)
    assert platform.route(1, 0).link_names == ("c_link_from_0_to_1_DOWN",)


def test_a_host_of_a_torus_without_loopback_does_not_reach_itself() -> None:
    with pytest.raises(PlatformError, match="no route from host 'c-2' to 'c-2'"):
        built(cluster(4), (4,)).route(1, 1)


def test_every_link_of_a_torus_has_a_name_of_its_own() -> None:
    platform = built(cluster(24, loopback_bandwidth_bytes_per_s=4e9, limiter_bandwidth_bytes_per_s=2e9), (4, 3, 2))
    names = {platform.link_name(link) for link in range(platform.n_links)}
    assert len(names) == platform.n_links == 2 * 3 * 24 + 24 + 24


def test_links_of_several_rings_of_one_host_have_names_of_their_own_too() -> None:
    platform = built(cluster(2), (1, 2, 1, 1))
    names = [platform.link_name(link) for link in range(0, 8, 2)]
    assert names == [f"c_link_from_0_to_{end}_UP" for end in ("0", "1", "0_in_dimension_2", "0_in_dimension_3")]


@pytest.mark.parametrize(
    ("dimensions", "message"),
    [
        ((2, 3), "torus 'c' has 4 hosts and its shape needs 2 x 3 = 6: change its hosts or its dimensions"),
        ((4, 0), "torus 'c' has a dimension of 0: each is at least 1"),
        ((), "torus 'c' has 0 dimensions: it needs at least 1, and can have 32"),
        ((4, *(1,) * 32), "torus 'c' has 33 dimensions"),
    ],
)
def test_a_shape_that_is_no_torus_is_refused(dimensions: tuple[int, ...], message: str) -> None:
    with pytest.raises(PlatformError, match=message):
        built(cluster(4), dimensions)


def test_the_kernel_refuses_a_torus_that_cannot_be_numbered() -> None:
    handle = ffi.gc(lib.platform_new(), lib.platform_free)
    zone = lib.platform_add_full_zone(handle, -1, -1)
    hosts = ffi.new("cluster *", {"n_hosts": 2**30, "cores": 1, "speed_flop_per_s": 1, "bandwidth_bytes_per_s": 1})
    assert lib.platform_add_torus(handle, zone, hosts, 2, [2**30, 1]) == lib.PLATFORM_TOO_LARGE
    for sizes in ([2**30, 2], [2**31 - 1], [0], [-1], []):
        assert lib.platform_add_torus(handle, zone, hosts, len(sizes), sizes) == lib.PLATFORM_BAD_ARGUMENT


FLOWS = """
import numpy as np
from mpi4py import MPI
comm, data = MPI.COMM_WORLD, np.zeros(1 << 20, "B")
for source, target in ((4, 6), (1, 9)):
    if comm.rank == source:
        comm.Send(data, target)
    elif comm.rank == target:
        comm.Recv(data, source)
        print(MPI.Wtime())
"""


@pytest.mark.parametrize(("limit", "share"), [("", 1.0), ("nic.limit=1GB/s", 0.5), ("nic.limit=2GB/s", 1.0)])
def test_a_host_passes_on_messages_at_the_rate_of_its_limit(tmp_path: Path, limit: str, share: float) -> None:
    (tmp_path / "flows.py").write_text(FLOWS)
    free = "mpi.overhead=0s mpi.copy_bandwidth=1000TB/s mpi.rendezvous=1 network.envelope=0B"
    machine = f"torus 4x4 cores=1 nic=1GB/s latency=0us {free} {limit}"
    run = simulate(tmp_path / "flows.py", ranks=16, platform=machine, compute="none")
    ends_s = [float(line) for line in run.stdout.split()]  # both cross host 5, in different dimensions
    assert ends_s == pytest.approx([(1 << 20) / 1e9 / share] * 2, rel=1e-3)
