"""Open MPI's han between hosts and on them: overlapping segments, and the messages that make its communicators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from smpy.collectives.bcast.two_levels import SEGMENT_BYTES
from smpy.collectives.comm_hosts import HostsOfComm
from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.selection import selection_with
from smpy.collectives.world_schedules import Algorithms, algorithms_in, choose
from smpy.engine.engine import Engine
from smpy.engine.schedules import calls_of
from smpy.platforms import CallCosts, Cluster, Description, FlatCluster, Models, NetworkModel, NumberedNames

BANDWIDTH_BYTES_PER_S = 1e9
BARE = Models(
    NetworkModel(
        latency_factor=(), bandwidth_factor=(), weight_bytes=0, tcp_gamma_bytes=0, crosstraffic=0, envelope_bytes=0
    ),
    CallCosts(detached_below_bytes=0, wtime_s=0),
)  # a message takes its bytes, a send waits for its receive, and calls take no time
BETWEEN_S = SEGMENT_BYTES / BANDWIDTH_BYTES_PER_S


def took_s(operation: str, n_bytes: int, on_host_s: float, n_hosts: int = 2) -> float:
    """Time of a collective of han on hosts of two ranks, where a segment takes so long on a host."""
    return max(performed(operation, n_bytes, on_host_s, n_hosts).finish_s())


def performed(operation: str, n_bytes: int, on_host_s: float, n_hosts: int = 2) -> Engine:
    """World in which the collective has been performed."""
    cluster = Cluster(
        name="c",
        hosts=NumberedNames("n", (range(8),)),
        speed_flop_per_s=1e9,
        bandwidth_bytes_per_s=BANDWIDTH_BYTES_PER_S,
        latency_s=0,
        cores=2,
        loopback_bandwidth_bytes_per_s=SEGMENT_BYTES / on_host_s,
    )
    n_ranks, host_of_rank = 2 * n_hosts, [rank // 2 for rank in range(2 * n_hosts)]
    engine = Engine(Description("hosts", FlatCluster(cluster), BARE).build(), BARE, host_of_rank)
    choose(engine, selection_with([], "openmpi-5"))
    hosts = HostsOfComm(lambda: Hosts(host_of_rank))
    hosts.search.due.clear()
    query = Query(n_ranks, n_bytes, item_bytes=8, n_entries=n_bytes // 8)
    number = algorithms_in(engine).schedule(engine, operation, query, hosts)
    engine.spawn(lambda rank: engine.collective(0, number, 0, n_bytes, operation))
    assert engine.run(lambda: None) is None
    assert algorithms_in(engine).used() == {operation: ["han"]}
    return engine


def close(seconds: float) -> object:
    return pytest.approx(seconds, rel=1e-9)


@pytest.mark.parametrize("on_host_s", [BETWEEN_S / 3, 3 * BETWEEN_S])
@pytest.mark.parametrize("n_segments", [1, 2, 3, 9])
@pytest.mark.parametrize("operation", ["bcast", "reduce"])
def test_a_segment_goes_between_hosts_while_another_one_is_on_its_host(
    operation: str, n_segments: int, on_host_s: float
) -> None:
    expected_s = BETWEEN_S + (n_segments - 1) * max(BETWEEN_S, on_host_s) + on_host_s
    assert took_s(operation, n_segments * SEGMENT_BYTES, on_host_s) == close(expected_s)


@pytest.mark.parametrize("on_host_s", [BETWEEN_S / 3, 2 / 3 * BETWEEN_S, 3 * BETWEEN_S])
@pytest.mark.parametrize("n_segments", [1, 2, 3, 4, 5, 9])
def test_an_allreduce_performs_its_four_stages_at_once(n_segments: int, on_host_s: float) -> None:
    expected_s = 0.0
    for step in range(n_segments + 3):
        under_way = [0 <= step - stage < n_segments for stage in range(4)]
        on_host = under_way[0] + under_way[3]
        expected_s += max(on_host * on_host_s, BETWEEN_S * (under_way[1] or under_way[2]))
    assert took_s("allreduce", n_segments * SEGMENT_BYTES, on_host_s) == close(expected_s)


@pytest.mark.parametrize("n_bytes", [0, 8, SEGMENT_BYTES + 8, 4 * SEGMENT_BYTES - 8, 4 * SEGMENT_BYTES, 400_000])
@pytest.mark.parametrize(("operation", "n_times"), [("bcast", 3), ("reduce", 3), ("allreduce", 6)])
def test_segments_have_all_bytes_of_the_message(operation: str, n_times: int, n_bytes: int) -> None:
    assert performed(operation, n_bytes, BETWEEN_S / 3).statistics().bytes == n_times * n_bytes


def test_rounds_between_hosts_go_on_while_the_ranks_of_a_host_exchange() -> None:
    """Four hosts: two rounds of halving and two of gathering, each of which waits for the one before it."""
    between_s = 2 * (1 / 2 + 1 / 4) * BETWEEN_S
    for on_host_s in (BETWEEN_S / 3, 3 * BETWEEN_S):
        expected_s = between_s + 8 * max(between_s, on_host_s) + on_host_s
        assert took_s("reduce", 9 * SEGMENT_BYTES, on_host_s, n_hosts=4) == close(expected_s)


class Programs(list[Iterable[int]]):
    """Keeper of programs, without a world."""

    def new_schedule(self, words: Iterable[int]) -> int:
        self.append(words)
        return len(self) - 1


def sent_first(host_of_rank: Sequence[int], operations: Sequence[str], **changes: Any) -> list[tuple[int, int]]:
    """Messages and bytes of calls, one after the other in a communicator, beyond those of the same call later on."""
    kept, n_ranks = Programs(), len(host_of_rank)
    algorithms = Algorithms(selection_with(**{"choices": [], "table": "openmpi-5", **changes}))
    new, old = (HostsOfComm(lambda: Hosts(host_of_rank)) for _ in range(2))
    old.search.due.clear()

    def sent(operation: str, hosts: HostsOfComm) -> tuple[int, int]:
        number = algorithms.schedule(kept, operation, Query(n_ranks, 8, item_bytes=8, n_entries=1), hosts)
        words = list(kept[number])
        calls = [call for rank in range(n_ranks) for call in calls_of(words, rank, n_ranks, 0, 8, {})]
        sizes = [call.bytes_out for call in calls if call.code.name in ("SEND", "ISEND", "EXCHANGE")]
        return len(sizes), sum(sizes)

    pairs = [(sent(operation, new), sent(operation, old)) for operation in operations]
    return [(first[0] - later[0], first[1] - later[1]) for first, later in pairs]


NUMBER = 3 * 2 * 3  # messages for a communicator's number: a reduction to rank 0 and a broadcast of it, thrice
ONE_EACH = 6 + (8 + NUMBER) + (8 + NUMBER) + 8  # an allreduce of one number goes to a rank and back
TWO_EACH = 6 + 2 * (8 + NUMBER) + 2 * (8 + NUMBER) + 8
ONE_EACH_BYTES = 6 * 4 + (8 * 24 + NUMBER * 4) + (12 * 8 + NUMBER * 4) + 12 * 4
TWO_EACH_BYTES = 6 * 4 + 2 * (8 * 24 + NUMBER * 4) + 2 * (12 * 8 + NUMBER * 4) + 12 * 4
ORDER, ORDER_BYTES = 2 + 2 + 2, 2 * 12 + 2 * 8 + 2 * 4 * 8
"""An allreduce between hosts, and two broadcasts on each of two hosts of two ranks."""


def test_the_first_calls_of_a_communicator_make_those_of_its_hosts_once() -> None:
    operations = ["barrier", "allreduce", "bcast", "barrier", "gather", "bcast", "reduce", "allgather", "scatter"]
    assert sent_first([0, 0, 1, 1], operations) == [
        (ONE_EACH, ONE_EACH_BYTES),
        (TWO_EACH, TWO_EACH_BYTES),
        (ORDER, ORDER_BYTES),
        *[(0, 0)] * 6,
    ]
    assert sent_first([0, 0, 1, 1], ["bcast"]) == [(TWO_EACH + ORDER, TWO_EACH_BYTES + ORDER_BYTES)]
    assert sent_first([0, 0, 1, 1], ["alltoall", "allgather"]) == [
        (0, 0),
        (ONE_EACH + ORDER, ONE_EACH_BYTES + ORDER_BYTES),
    ]


def test_ranks_that_are_dealt_out_to_hosts_exchange_their_order() -> None:
    (n_messages, n_bytes) = sent_first([0, 1, 0, 1], ["bcast"])[0]
    assert (n_messages, n_bytes) == (TWO_EACH + ORDER + 2, TWO_EACH_BYTES + ORDER_BYTES + 2 * 2 * 4)


def test_each_operation_learns_that_hosts_have_unequal_numbers_of_ranks() -> None:
    made, *later = sent_first([0, 0, 0, 1], ["bcast", "reduce", "bcast", "allreduce", "scatter"])
    asked = 2 + 2, 2 * 12 + 2 * 8
    assert made == (TWO_EACH + asked[0], TWO_EACH_BYTES + asked[1])
    assert later == [asked, (0, 0), (0, 0), asked]


def test_a_communicator_with_a_rank_on_each_host_learns_it_in_an_allreduce() -> None:
    assert sent_first([0, 1, 2, 3], ["reduce", "barrier", "bcast"]) == [(6, 24), (0, 0), (0, 0)]
    assert sent_first([0, 0, 0, 0], ["reduce"]) == [(0, 0)]


def test_a_forced_han_is_the_algorithm_alone() -> None:
    assert sent_first([0, 0, 1, 1], ["bcast"], choices=[("bcast", "han")], table="mpich-4") == [(0, 0)]
