"""Every algorithm is judged by what makes any of its kind right, on 1 to 17 ranks."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, product
from operator import add, floordiv, le, mod, mul, sub

import pytest

from smpy.collectives.between_groups import AT_ROOT
from smpy.collectives.hosts import Hosts
from smpy.collectives.register import BETWEEN_GROUPS, BLOCKING, NON_BLOCKING, OPERATIONS, algorithm, algorithms_of
from smpy.collectives.schedule import RANK, Formula, Schedule, ScheduleStep, Value
from smpy.collectives.symbolic_call import symbolic_call
from smpy.engine.kernel import lib
from tests.collectives.schedule_world import Tables, calls_of, known_at_the_end, numeric_call, offsets, received, sent
from tests.collectives.schedule_world import named as named_algorithm

NOBODY = -2
ENTRY_BYTES = 8
ROOTED = ("bcast", "reduce", "gather", "scatter", "gatherv", "scatterv")


def named(*ops: str) -> list[str]:
    return [f"{op}:{name}" for op in ops for name in algorithms_of(op)]


WITH_MESSAGES_TO_ITSELF = {"alltoall:scattered_by_4"}
WITHOUT_EMPTY_MESSAGES = {"allgatherv:chunked_logical_ring"}
THAT_WAIT = named(*(op for op in BLOCKING if op != "neighbour"))
THAT_START = named(*(op for op in NON_BLOCKING if op != "ineighbour"))


def block(source: int, target: int) -> int:
    """Size of the block from one rank to another: uneven, some empty."""
    return 3 * (source * 5 + target * 3) % 7


def listed(
    algorithm: str, n_ranks: int, root: int, n_entries: int = 3, hosts: Hosts | None = None
) -> list[list[ScheduleStep]]:
    """The calls of all ranks, with blocks as uneven as the operation allows."""
    op = algorithm.partition(":")[0].removeprefix("i")
    everyone = range(n_ranks)

    def tables(rank: int) -> Tables:
        if op in ("alltoallv", "alltoallw"):
            return offsets([block(rank, i) for i in everyone]), offsets([block(i, rank) for i in everyone])
        return (offsets([size(i) for i in everyone]),) * 2

    def size(rank: int) -> int:
        if op in ("gatherv", "scatterv", "allgatherv"):
            return block(rank, 0)
        if op == "reduce_scatter":
            return ENTRY_BYTES if algorithm.endswith(":halving") else ENTRY_BYTES * block(rank, 0)
        return ENTRY_BYTES * n_entries

    return calls_of(algorithm, n_ranks, root, size, ENTRY_BYTES, tables, hosts)


def messages(own: list[ScheduleStep]) -> list[ScheduleStep]:
    """The steps of a rank that send or receive."""
    return [step for step in own if step.to >= 0 or step.source >= 0]


def roots(algorithm: str, n_ranks: int) -> set[int]:
    rooted = algorithm.partition(":")[0].removeprefix("i") in ROOTED
    return {0, n_ranks // 2, n_ranks - 1} if rooted else {0}


def needed(algorithm: str, rank: int, n_ranks: int, root: int) -> set[int]:
    """Ranks whose contributions make up a rank's result."""
    op = algorithm.partition(":")[0]
    everyone = set(range(n_ranks))
    if algorithm in WITHOUT_EMPTY_MESSAGES:
        return {rank for rank in everyone if block(rank, 0) > 0}
    if op in ("bcast", "scatter", "scatterv"):
        return {root}
    if op in ("reduce", "gather", "gatherv"):
        return everyone if rank == root else set()
    if op in ("scan", "exscan"):
        return set(range(rank))
    if op == "reduce_scatter" and block(rank, 0) == 0:
        return set()
    return everyone


def cases(algorithm: str) -> Iterator[tuple[int, int, int]]:
    """Ranks, root, entries."""
    only_ranks = named_algorithm(algorithm).only_ranks
    for n_ranks in range(1, 18) if only_ranks is None else (only_ranks,):
        for root in roots(algorithm, n_ranks):
            for n_entries in (0, 1, n_ranks, 5 * n_ranks + 2) if "allreduce" in algorithm else (0, 3):
                yield n_ranks, root, n_entries


def check_messages(algorithm: str, calls: list[list[ScheduleStep]]) -> None:
    """Check that each message is received that is sent, and that none goes to nobody."""
    n_ranks, to_itself = len(calls), algorithm in WITH_MESSAGES_TO_ITSELF
    messages = sent(calls)
    assert messages == received(calls)
    assert all((to_itself or source != target) and 0 <= target < n_ranks for source, target, _ in messages)


@pytest.mark.parametrize("algorithm", THAT_START)
def test_every_message_that_is_started_is_received(algorithm: str) -> None:
    for n_ranks, root, n_entries in cases(algorithm):
        check_messages(algorithm, listed(algorithm, n_ranks, root, n_entries))


@pytest.mark.parametrize("algorithm", THAT_WAIT)
def test_every_rank_ends_with_all_that_its_result_needs_even_if_no_send_is_buffered(algorithm: str) -> None:
    for n_ranks, root, n_entries in cases(algorithm):
        calls = listed(algorithm, n_ranks, root, n_entries)
        check_messages(algorithm, calls)
        if n_entries > 0:
            known = known_at_the_end(calls)
            assert all(known[rank] >= needed(algorithm, rank, n_ranks, root) for rank in range(n_ranks))


ABOUT_HOSTS = [
    f"{op}:{each.name}" for op in BLOCKING for each in algorithms_of(op).values() if each.knows_hosts or each.chooses
]
PLACEMENTS = {
    "one host": lambda n: [0] * n,
    "a rank a host": lambda n: list(range(n)),
    "pairs": lambda n: [rank // 2 for rank in range(n)],
    "cyclic": lambda n: [rank % max(1, n // 3) for rank in range(n)],
    "unequal": lambda n: [min(rank // 3, 2) for rank in range(n)],
    "mixed": lambda n: [rank * 5 % 7 % 4 for rank in range(n)],
}


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("algorithm", ABOUT_HOSTS)
def test_every_rank_gets_all_that_it_needs_wherever_the_ranks_are(algorithm: str, placement: str) -> None:
    for n_ranks in (6, 11):
        hosts = Hosts(PLACEMENTS[placement](n_ranks))
        for root in roots(algorithm, n_ranks):
            for n_entries in (1, 3000):  # of 8 bytes: in one piece, and in segments
                calls = listed(algorithm, n_ranks, root, n_entries, hosts)
                assert sent(calls) == received(calls)
                known = known_at_the_end(calls)
                assert all(known[rank] >= needed(algorithm, rank, n_ranks, root) for rank in range(n_ranks))


LARGE_BYTES = (8192, 150_000)


@pytest.mark.parametrize("algorithm", named("bcast", "reduce", "allreduce"))
def test_large_messages_reach_every_rank_in_segments(algorithm: str) -> None:
    for n_ranks in (5, 8):
        for root, nbytes in product(roots(algorithm, n_ranks), LARGE_BYTES):
            calls = listed(algorithm, n_ranks, root, nbytes // ENTRY_BYTES)
            assert sent(calls) == received(calls)
            known = known_at_the_end(calls)
            assert all(known[rank] >= needed(algorithm, rank, n_ranks, root) for rank in range(n_ranks))


@pytest.mark.parametrize("algorithm", THAT_START)
def test_a_non_blocking_collective_only_starts_things(algorithm: str) -> None:
    for n_ranks, root, n_entries in cases(algorithm):
        names = {call.name for own in listed(algorithm, n_ranks, root, n_entries) for call in own}
        assert names <= {"isend", "irecv"}


@pytest.mark.parametrize("algorithm", [each for each in THAT_START if not each.startswith("ibarrier")])
def test_a_non_blocking_collective_brings_all_that_its_result_needs(algorithm: str) -> None:
    for n_ranks, root, n_entries in cases(algorithm):
        calls = [[*own, ScheduleStep("wait_all")] for own in listed(algorithm, n_ranks, root, n_entries)]
        known = known_at_the_end(calls)
        assert all(known[rank] >= needed(algorithm[1:], rank, n_ranks, root) for rank in range(n_ranks))


@pytest.mark.parametrize("algorithm", named("allgather", "alltoall", "bcast", "allreduce", "gather", "scatter"))
def test_every_rank_receives_at_least_the_bytes_of_its_result(algorithm: str) -> None:
    op, n_bytes = algorithm.partition(":")[0], 40 * ENTRY_BYTES
    for n_ranks in range(2, 18):
        got: Counter[int] = Counter()
        for (_, target, nbytes), count in received(listed(algorithm, n_ranks, 0, 40)).items():
            got[target] += nbytes * count
        at_least = {
            "gather": [(n_ranks - 1) * n_bytes] + [0] * (n_ranks - 1),
            "bcast": [0] + [n_bytes] * (n_ranks - 1),
            "scatter": [0] + [n_bytes] * (n_ranks - 1),
            "allreduce": [n_bytes] * n_ranks,
        }.get(op, [(n_ranks - 1) * n_bytes] * n_ranks)
        assert all(got[rank] >= at_least[rank] for rank in range(n_ranks))


@pytest.mark.parametrize("op", BETWEEN_GROUPS)
def test_what_one_group_sends_the_other_receives(op: str) -> None:
    sizes, root = (3, 5), 1
    is_varying = op.endswith(("allgather", "gatherv", "scatterv"))

    def listed_of(side: int, rank: int) -> list[ScheduleStep]:
        others, here = range(sizes[1 - side]), 10 * side
        if op.endswith(("alltoall", "alltoallv", "alltoallw")):
            out = [block(rank + here, peer + 10 - here) for peer in others]
            into = [block(peer + 10 - here, rank + here) for peer in others]
        else:
            out = into = [block(peer, 1 - side) for peer in others]
        call = numeric_call(
            op,
            rank,
            sizes[side],
            root if side else AT_ROOT if rank == root else NOBODY,
            block(rank, side) if is_varying else 15,
            n_remote=sizes[1 - side],
            tables=(offsets(out), offsets(into)),
        )
        return algorithms_of(op)["linear"].make(call).steps

    lists = [[listed_of(side, rank) for rank in range(sizes[side])] for side in (0, 1)]
    assert sent(lists[0]) == received(lists[1])
    assert sent(lists[1]) == received(lists[0])
    assert sent(lists[0]) or sent(lists[1])


def test_neighbours_exchange_in_the_order_of_their_lists_and_skip_nobody() -> None:
    tables = [offsets([1, 2, 3]), offsets([4, 5]), [3, 7, -2, 5], [2, -2, 9]]
    calls = algorithms_of("neighbour")["exchange"].make(numeric_call("neighbour", 0, 16, tables=tables)).steps
    assert [(call.name, call.source, call.bytes_in, call.to, call.bytes_out) for call in calls] == [
        ("irecv", 9, 5, -1, 0),
        ("isend", -1, 0, 7, 1),
        ("isend", -1, 0, 5, 3),
        ("wait_all", -1, 0, -1, 0),
    ]


def test_a_ring_goes_to_the_ranks_ahead_one_after_the_other() -> None:
    assert [(call.to, call.source) for call in calls_of("alltoall:ring", 4)[1]] == [(2, 0), (3, 3), (0, 2)]


def test_pairs_meet_by_exclusive_or_and_fall_back_to_a_ring() -> None:
    assert [call.to for call in calls_of("alltoall:pair", 8)[3]] == [2, 1, 0, 7, 6, 5, 4]
    assert calls_of("alltoall:pair", 6) == calls_of("alltoall:ring", 6)


def test_bruck_sends_in_the_last_round_only_what_is_lacking() -> None:
    assert [call.bytes_out for call in calls_of("allgather:bruck", 7)[0]] == [100, 200, 300]
    assert [call.bytes_out for call in calls_of("alltoall:bruck", 6)[0]] == [300, 200, 200]


def test_rabenseifner_halves_and_doubles_whole_entries() -> None:
    calls = calls_of("allreduce:rabenseifner", 4, nbytes=80, item_bytes=8)
    assert [(call.to, call.bytes_out, call.bytes_in) for call in messages(calls[3])] == [
        (2, 32, 48),
        (1, 16, 32),
        (1, 32, 16),
        (2, 48, 32),
    ]


def test_balanced_parts_differ_by_an_entry_at_most() -> None:
    calls = calls_of("allreduce:balanced_rabenseifner", 4, nbytes=8 * 11, item_bytes=8)
    assert [messages(own)[1].bytes_in // 8 for own in calls] == [3, 3, 3, 2]
    calls = calls_of("allreduce:rabenseifner", 4, nbytes=8 * 11, item_bytes=8)
    assert [messages(own)[1].bytes_in // 8 for own in calls] == [2, 2, 2, 5]


def test_a_scattered_exchange_has_32_partners_at_a_time() -> None:
    for rank, own in enumerate(calls_of("alltoall:scattered", 100)):
        ends = [i for i, call in enumerate(own) if call.name == "wait_all"]
        assert [end - start - 1 for start, end in pairwise([-1, *ends])] == [62, 64, 64, 8]
        assert {call.to for call in own if call.name == "isend"} == {*range(100)} - {rank}


@pytest.mark.parametrize("algorithm", ["reduce_scatter_block:recursive_halving", "reduce:rabenseifner"])
def test_halving_sends_less_than_the_vector_each_way(algorithm: str) -> None:
    for n_ranks in (2, 4, 8, 16):
        n_bytes = 8 * n_ranks if algorithm.startswith("reduce:") else 8
        calls = calls_of(algorithm, n_ranks, nbytes=n_bytes, item_bytes=8)
        halved = [sum(call.bytes_out for call in own if call.name == "exchange") for own in calls]
        assert halved == [8 * (n_ranks - 1)] * n_ranks


@pytest.mark.parametrize(
    ("algorithm", "n_rounds"),
    [("scan:recursive_doubling", 4), ("exscan:recursive_doubling", 4), ("allgatherv:recursive_doubling", 4),
     ("allgatherv:bruck", 4), ("allgatherv:logical_ring", 15), ("bcast:scatter_recursive_doubling_allgather", 8),
     ("reduce_scatter_block:recursive_halving", 4), ("reduce:rabenseifner", 8)],
)  # fmt: skip
def test_nobody_makes_more_calls_than_there_are_rounds(algorithm: str, n_rounds: int) -> None:
    calls = listed(algorithm, 16, 0, 32)
    assert max(len(messages(own)) for own in calls) == n_rounds


def test_a_reduction_in_rank_order_ends_at_rank_0_and_is_handed_to_the_root() -> None:
    calls = calls_of("reduce:in_order_binomial_tree", 5, root=3)
    assert [(call.name, call.to, call.source) for call in calls[3]] == [("send", 2, -1), ("recv", -1, 0)]
    assert calls_of("reduce:in_order_binomial_tree", 5) == calls_of("reduce:binomial_tree", 5)


def test_a_name_of_simgrid_stands_for_one_algorithm_of_an_operation() -> None:
    for op in BLOCKING:
        names = [name for each in algorithms_of(op).values() for name in each.simgrid_names]
        assert len(names) == len(set(names))


def test_every_algorithm_says_where_it_is_known_from() -> None:
    assert all(each.source for op in OPERATIONS for each in algorithms_of(op).values())


@pytest.mark.parametrize("module", ["allgather.two_levels", "barrier", "allreduce.two_levels", "bcast.two_levels"])
def test_a_module_of_algorithms_can_be_imported_before_the_others(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"import smpy.collectives.{module}"], check=True)


def test_a_second_algorithm_of_one_name_is_refused_and_one_of_an_unknown_operation() -> None:
    with pytest.raises(ValueError, match=r"barrier has an algorithm 'linear' in smpy.collectives.barrier: give"):
        algorithm("barrier", "linear", source="a test")(Schedule)
    with pytest.raises(ValueError, match="there is no operation 'shuffle': there are barrier, bcast"):
        algorithm("shuffle", "linear", source="a test")(Schedule)


@pytest.mark.parametrize(
    "host_of_rank",
    [
        [7],
        [0, 0, 0],
        [5, 4, 3],
        [2, 2, 1, 1],
        [0, 0, 0, 1, 1],
        [0, 1, 2, 0, 1, 2, 0],
        [1, 0, 0, 1, 2, 0, 0],
        [0, 1, 1, 1],
    ],
)
def test_ranks_know_who_shares_their_host_by_numbers_and_by_formulas(host_of_rank: list[int]) -> None:
    n_ranks, hosts = len(host_of_rank), Hosts(host_of_rank)
    numbered = [list(dict.fromkeys(host_of_rank)).index(host) for host in host_of_rank]
    for rank in range(n_ranks):
        mine = [other for other in range(n_ranks) if host_of_rank[other] == host_of_rank[rank]]
        local, leaders = hosts.local(rank), hosts.leaders(rank)
        assert [local[i] for i in range(int(local.size))] == mine
        assert local[local.index] == rank
        assert leaders.index == numbered[rank]
        assert leaders[leaders.index] == mine[0]
        assert local.ahead(1) == mine[(mine.index(rank) + 1) % len(mine)]

        for symbol, number in (
            (hosts.local(RANK).index, local.index), (hosts.local(RANK).size, local.size),
            (hosts.local(RANK).ahead(1), local.ahead(1)), (hosts.leaders(RANK).index, leaders.index),
            (hosts.leaders(RANK).behind(1), leaders.behind(1)),
        ):  # fmt: skip
            assert value_of(symbol, rank) == number


def test_ranks_that_fill_hosts_or_are_dealt_out_take_short_formulas() -> None:
    for host_of_rank in ([i // 8 for i in range(500)], [i % 8 for i in range(500)]):
        call = symbolic_call("allreduce", 500, hosts=Hosts(host_of_rank))
        assert len(call.leaders.behind(1).terms) < 20


def value_of(value: Value, rank: int) -> int:
    """Value of a formula in the rank alone."""
    if not isinstance(value, Formula):
        return value
    stack: list[int] = []
    terms = iter(value.terms)
    for term in terms:
        if term == lib.TERM_CONSTANT:
            stack.append(next(terms))
        elif term == lib.TERM_RANK:
            stack.append(rank)
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(BINARY[term](left, right))
    return stack.pop()


BINARY = {
    lib.TERM_ADD: add, lib.TERM_SUB: sub, lib.TERM_MUL: mul, lib.TERM_DIV: floordiv, lib.TERM_MOD: mod,
    lib.TERM_LE: le,
}  # fmt: skip
