"""The default cluster: no size is faster than a smaller one, and the ends are those of its hardware."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.selection import Selection, algorithms_in, choose
from smpy.engine.engine import Engine
from smpy.engine.messages import Load
from smpy.platforms import Platform, default_cluster
from smpy.platforms.default_cluster import CORE_SPEED_FLOP_PER_S, EAGER_MAX_BYTES, HEADERS_BYTES, MODELS

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
    """When the last rank ends."""
    engine.spawn(lambda rank: bodies[rank]())
    engine.run(lambda: None)
    return engine.now_s


def one_way_s(machine: Platform, distance: int, nbytes: int, *, is_blocking: bool = True) -> float:
    """From a send to the end of its receive, by two ranks that begin together."""
    engine = Engine(machine, machine.models, [0, distance])

    def send() -> None:
        if is_blocking:
            engine.send(0, 1, 0, Load(nbytes))
        else:
            engine.wait(engine.isend(0, 1, 0, Load(nbytes)))

    return end_s(engine, send, lambda: engine.recv(0, 0, 0, Load(nbytes)))


def collective_s(machine: Platform, hosts: list[int], op: str, nbytes: int) -> float:
    """How long a collective takes with the algorithm of the default cluster."""
    engine, n_ranks = Engine(machine, machine.models, hosts), len(hosts)
    choose(engine, TABLE)
    query = Query(n_ranks, nbytes, n_entries=nbytes // 8, item_bytes=8)
    schedule = algorithms_in(engine).schedule(engine, op, query, lambda: Hosts(range(n_ranks)))
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
    ("where", "bytes_per_s"), [("one host", 10e9), ("one switch", 24e9), ("the third level", 24e9)]
)
def test_a_long_message_reaches_the_bandwidth(machine: Platform, where: str, bytes_per_s: float) -> None:
    assert LARGEST / one_way_s(machine, DISTANCES[where], LARGEST) > 0.95 * bytes_per_s
    assert 1e9 / one_way_s(machine, DISTANCES[where], 10**9) == pytest.approx(bytes_per_s, rel=1e-3)


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
        expected_s = n_rounds * one_way_s(machine, 0, 0)
        assert collective_s(machine, [0] * n_ranks, "barrier", 0) == pytest.approx(expected_s, rel=1e-9)


def test_a_core_is_as_fast_as_its_data_sheet(machine: Platform) -> None:
    assert machine.speed_flop_per_s(0) == CORE_SPEED_FLOP_PER_S == 49.6e9
