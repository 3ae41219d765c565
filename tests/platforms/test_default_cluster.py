"""The default cluster: no size is faster than a smaller one, and the ends are those of its hardware."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from smpy.collectives.comm_hosts import HostsOfComm
from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.selection import Selection
from smpy.collectives.world_schedules import algorithms_in, choose
from smpy.engine.engine import Engine
from smpy.engine.messages import Load
from smpy.engine.platform import Platform
from smpy.platforms import default_cluster, read_machine
from smpy.platforms.default_cluster import (
    CABLE_BANDWIDTH_BYTES_PER_S,
    CORE_SPEED_FLOP_PER_S,
    EAGER_MAX_BYTES,
    HEADERS_BYTES,
    MODELS,
)
from smpy.platforms.models.memory import Memory
from smpy.platforms.presets import preset_names

US = 1e-6
LARGEST = 4 << 20
TABLE = Selection(MODELS.collectives.table)
EDGES = (EAGER_MAX_BYTES, EAGER_MAX_BYTES - HEADERS_BYTES, 256, 2048, 12288, 32768, 65536, 81920, 524288, LARGEST)
SIZES = sorted(
    {round(1.2**power) for power in range(84)}
    | {edge + by for edge in (*EDGES, *(1 << bit for bit in range(3, 23))) for by in (-1, 0, 1)}
)
DISTANCES = {"one host": 0, "one switch": 1, "the second level": 20, "the third level": 800}


@pytest.fixture(scope="module")
def machine() -> Platform:
    """Three levels of switches."""
    return default_cluster(128 * 801).build()


def end_s(engine: Engine, *bodies: Callable[[], object]) -> float:
    """Date at which the last rank ends."""
    engine.spawn(lambda rank: bodies[rank]())
    engine.run(lambda: None)
    return engine.now_s


def one_way_s(machine: Platform, distance: int, nbytes: int, *, is_blocking: bool = True) -> float:
    """Time from a send to the end of its receive, by two ranks that begin together, in seconds."""
    engine = Engine(machine, machine.models, [0, distance])

    def send() -> None:
        if is_blocking:
            engine.send(0, 1, 0, Load(nbytes))
        else:
            engine.wait(engine.isend(0, 1, 0, Load(nbytes)))

    return end_s(engine, send, lambda: engine.recv(0, 0, 0, Load(nbytes)))


def pairs_s(machine: Platform, n_pairs: int, nbytes: int) -> float:
    """Time from the sends of all pairs of ranks on one host to the end of the last receive, in seconds."""
    engine = Engine(machine, machine.models, [0] * (2 * n_pairs))

    def body(rank: int) -> Callable[[], object]:
        if rank % 2:
            return lambda: engine.recv(0, rank - 1, 0, Load(nbytes))
        return lambda: engine.send(0, rank + 1, 0, Load(nbytes))

    return end_s(engine, *map(body, range(2 * n_pairs)))


def collective_s(machine: Platform, hosts: list[int], op: str, nbytes: int) -> float:
    """Time of a collective with the algorithm of the default cluster, in seconds."""
    engine, n_ranks = Engine(machine, machine.models, hosts), len(hosts)
    choose(engine, TABLE)
    query = Query(n_ranks, nbytes, n_entries=nbytes // 8, item_bytes=8)
    schedule = algorithms_in(engine).schedule(engine, op, query, HostsOfComm(lambda: Hosts(range(n_ranks))))
    return end_s(engine, *[lambda: engine.collective(0, schedule, 0, nbytes, op)] * n_ranks)


@pytest.mark.parametrize("is_blocking", [True, False])
@pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES)
def test_no_message_arrives_before_a_smaller_one(machine: Platform, distance: int, is_blocking: bool) -> None:
    times_s = [one_way_s(machine, distance, size, is_blocking=is_blocking) for size in SIZES]
    assert all(earlier <= later for earlier, later in pairwise(times_s))


@pytest.mark.parametrize(
    ("where", "expected_s"),
    [("one host", 0.5 * US), ("one switch", 1.0 * US), ("the second level", 1.6 * US), ("the third level", 2.2 * US)],
)
def test_a_short_message_takes_the_time_that_the_page_says(machine: Platform, where: str, expected_s: float) -> None:
    assert one_way_s(machine, DISTANCES[where], 1) == pytest.approx(expected_s, abs=0.01 * US)


@pytest.mark.parametrize(
    ("where", "bytes_per_s"), [("one host", 24e9), ("one switch", 24e9), ("the third level", 24e9)]
)
def test_a_long_message_reaches_the_bandwidth(machine: Platform, where: str, bytes_per_s: float) -> None:
    assert LARGEST / one_way_s(machine, DISTANCES[where], LARGEST) > 0.9 * bytes_per_s
    assert 1e9 / one_way_s(machine, DISTANCES[where], 10**9) == pytest.approx(bytes_per_s, rel=1e-3)


def test_no_message_within_a_host_is_slower_than_one_across_the_network() -> None:
    for preset in preset_names():
        machine = read_machine(preset, 256).build()
        for size in SIZES:
            assert one_way_s(machine, 0, size) <= one_way_s(machine, 1, size)


INSIDE = {  # a machine, and the bandwidth of a pair of ranks of a host alone, and of all together
    "flat hosts=2": (24e9, 189e9),
    "flat hosts=2 host.memory_bandwidth=400GB/s": (24e9, 100e9),
    "flat hosts=2 host.memory_bandwidth=80GB/s": (20e9, 20e9),
    "flat hosts=2 host.core_memory_bandwidth=60GB/s": (30e9, 189e9),
    "flat hosts=2 host.core_memory_bandwidth=30GB/s": (24e9, 189e9),  # by way of the adapter
    "flat hosts=2 host.core_memory_bandwidth=30GB/s nic=25Gb/s": (15e9, 189e9),
    "flat hosts=2 rails=3 host.memory_bandwidth=400GB/s": (72e9, 100e9),
    "flat hosts=2 host.loopback_bandwidth=10GB/s": (10e9, 189e9),
    "flat hosts=2 host.loopback_bandwidth=10GB/s host.messages_share_memory=false": (10e9, 1e15),
}


@pytest.mark.parametrize(("line", "of_one_and_all"), INSIDE.items())
def test_a_pair_of_ranks_has_what_two_cores_copy_and_all_pairs_of_a_host_share_its_memory(
    line: str, of_one_and_all: tuple[float, float]
) -> None:
    of_one, of_all = of_one_and_all
    machine = read_machine(line, 1).build()
    for n_pairs in (1, 3, 7, 32):
        expected_s = 10**9 / min(of_one, of_all / n_pairs)
        assert pairs_s(machine, n_pairs, 10**9) == pytest.approx(expected_s, rel=1e-3)


@pytest.mark.parametrize(
    "line",
    [
        "flat hosts=4",
        "fat-tree 2x2",
        "torus 2x2",
        "hyperx 2x2 hosts_per_switch=1",
        "dragonfly hosts=4",
        "graph edges=edges.csv",
    ],
)
def test_a_host_of_any_network_of_ours_reaches_itself_over_its_loopback_and_its_memory(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("a,b\nh0,s\nh1,s\n")
    platform = read_machine(line, 1).build()
    assert platform.route(1, 1).link_names == ("cluster_link_1_loopback", "cluster_link_1_memory")


def test_a_message_above_the_eager_limit_crosses_the_route_three_times(machine: Platform) -> None:
    for distance, latency_s in ((1, 0.6 * US), (20, 1.2 * US)):
        below_s, above_s = (one_way_s(machine, distance, EAGER_MAX_BYTES + by) for by in (0, 1))
        assert above_s - below_s == pytest.approx(2 * latency_s, rel=1e-3)


def test_many_messages_take_the_sender_its_overhead_each(machine: Platform) -> None:
    engine, n = Engine(machine, machine.models, [0, 1]), 100
    load = Load(8)

    def send_all() -> None:
        engine.wait_all([engine.isend(0, 1, 0, load) for _ in range(n)])

    def receive_all() -> None:
        engine.wait_all([engine.irecv(0, 0, 0, load) for _ in range(n)])

    assert end_s(engine, send_all, receive_all) == pytest.approx(n * 0.2 * US, rel=0.05)


PLACES = {"one host": [0] * 16, "four hosts": [host for host in range(4) for _ in range(4)], "24 hosts": [*range(24)]}


@pytest.mark.parametrize("hosts", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("op", ["alltoall", "allreduce", "allgather", "bcast", "reduce", "gather", "scatter", "scan"])
def test_no_size_of_a_collective_is_faster_than_a_smaller_one(machine: Platform, op: str, hosts: list[int]) -> None:
    slowest_s = 0.0
    for size in (size for size in SIZES if size % 8 == 0):
        time_s = collective_s(machine, hosts, op, size)
        tolerance = 0.1 if op == "bcast" else 1e-3  # MPICH leaves the binomial tree a little late
        assert time_s >= slowest_s * (1 - tolerance)
        slowest_s = max(slowest_s, time_s)


def test_a_barrier_takes_a_message_for_each_doubling_of_the_ranks(machine: Platform) -> None:
    for n_ranks, n_rounds in ((2, 1), (3, 2), (4, 2), (5, 3), (64, 6), (100, 7)):
        shared_s = n_ranks * HEADERS_BYTES / Memory().messages_bytes_per_s  # all messages of a round at once
        alone_s = HEADERS_BYTES / CABLE_BANDWIDTH_BYTES_PER_S
        expected_s = n_rounds * (one_way_s(machine, 0, 0) + max(0, shared_s - alone_s))
        assert collective_s(machine, [0] * n_ranks, "barrier", 0) == pytest.approx(expected_s, rel=1e-9)


def test_a_core_is_as_fast_as_its_data_sheet(machine: Platform) -> None:
    assert machine.speed_flop_per_s(0) == CORE_SPEED_FLOP_PER_S == 49.6e9
