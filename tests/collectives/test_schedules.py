"""Schedules: what the kernel makes of an algorithm's program is what the algorithm lists."""

from __future__ import annotations

from typing import Any

import pytest

from smpy.collectives.call import Call
from smpy.collectives.facts import Query
from smpy.collectives.register import BLOCKING, Algorithm, algorithms_of
from smpy.collectives.schedule import RANK, Formula, Schedule, ScheduleStep, ScheduleTable, larger, smaller
from smpy.collectives.symbolic_call import symbolic_call
from smpy.collectives.world_schedules import algorithms_in
from smpy.engine.engine import Engine
from smpy.platforms import default_cluster, place
from tests.collectives.schedule_world import (
    calls_of,
    hosts_of_four,
    known_at_the_end,
    named,
    numeric_call,
    offsets,
    sent,
)

ALGORITHMS = [f"{op}:{name}" for op in BLOCKING if op != "neighbour" for name in algorithms_of(op)]
TABLES = {"alltoallv": (0, 1), "alltoallw": (0, 1), "allgatherv": (1,), "gatherv": (1,), "scatterv": (0,)} | {
    "reduce_scatter": (0,)
}


LARGE = ("bcast", "reduce", "allreduce")


def new_engine(n_ranks: int) -> Engine:
    platform = default_cluster(n_ranks).build()
    return Engine(platform, platform.models, place(platform, n_ranks))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_kernel_makes_the_calls_that_the_algorithm_lists(algorithm: str) -> None:
    op = algorithm.partition(":")[0]
    found = named(algorithm)
    for n_ranks in (1, 2, 5, 8, 13) if found.only_ranks is None else (found.only_ranks,):
        engine, root = new_engine(n_ranks), n_ranks - 1
        block = 96 if op not in ("alltoallv", "alltoallw") else 0
        query = Query(n_ranks, 96, item_bytes=8, total_bytes=n_ranks * 96) if found.chooses else None
        number = algorithms_in(engine).number(
            engine, found, n_ranks, item_bytes=8, hosts=hosts_of_four(n_ranks), query=query
        )
        tables = [offsets([96] * n_ranks) if k in TABLES.get(op, ()) else [] for k in (0, 1)]

        def body(rank: int) -> None:
            engine.collective(0, number, root, block, op, tables)  # noqa: B023  # runs before the loop goes on

        engine.spawn(body)
        assert engine.run(lambda: None) is None
        equal = offsets([96] * n_ranks)
        listed = sent(calls_of(algorithm, n_ranks, root, 96, 8, lambda rank, equal=equal: (equal, equal)))
        statistics = engine.statistics()
        assert statistics.messages == listed.total()
        assert statistics.bytes == sum(nbytes * count for (_, _, nbytes), count in listed.items())


def test_a_schedule_is_as_long_for_many_ranks_as_for_few() -> None:
    for algorithm in ("allgather:linear", "alltoall:linear", "alltoall:ring", "alltoallv:linear", "scan:linear"):
        op = algorithm.partition(":")[0]
        few, many = (named(algorithm).make(symbolic_call(op, n_ranks)).words() for n_ranks in (4, 4096))
        assert len(few) == len(many)


@pytest.mark.parametrize("words", [[], [7, 2], [1, 2, 0, 0], [8, 1, 0, 0, 1, 5, 0, 2, 9, 3], [99], [1, 7, 0, 1, 0, 0]])
def test_words_that_are_no_program_are_refused(words: list[int]) -> None:
    with pytest.raises(Exception, match="schedule is malformed"):
        new_engine(1).new_schedule([*words, 0] if words != [] else [3])


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (lambda r: (r - 3) % 5, None),
        (lambda r: (7 - r) // 2, None),
        (lambda r: (r ^ 5) | (r << 2), None),
        (lambda r: 1 + 2 * r + (r >> 1) * (r >= 2) + (r > 3) + (r <= 4) + (r & 6), None),
        (lambda r: (5 ^ r) + (3 | r) + (6 & r), None),
        (lambda r: smaller(r, 4) + 10 * larger(3, r), None),
        (lambda r: ScheduleTable(0)[r] + 10 * ScheduleTable(1)[r // 2], lambda r: r * r + 10 * (r // 2 + 7)),
    ],
)
def test_a_formula_means_what_python_means(formula: Any, expected: Any) -> None:
    n_ranks = 9
    engine = new_engine(n_ranks)
    steps = Schedule(symbolic_call("bcast", n_ranks))
    with steps.when(RANK != 0):
        steps.send(0, formula(RANK) + 100)
    with steps.when(RANK == 0):
        for peer in steps.loop(1, n_ranks):
            steps.recv(peer, 1000)
    number = engine.new_schedule(steps.words())
    tables = [[r * r for r in range(n_ranks)], [r + 7 for r in range(n_ranks)]]
    engine.spawn(lambda rank: engine.collective(0, number, 0, 0, "test", tables))
    engine.run(lambda: None)
    assert isinstance(formula(RANK), Formula)
    assert engine.statistics().bytes == sum((expected or formula)(rank) + 100 for rank in range(1, n_ranks))


def relay(call: Call) -> Schedule:
    """Rank 0 sends a vector down a chain in three parts; each rank passes one on while it waits for the next."""
    steps, part = Schedule(call), call.nbytes // 3
    ahead, behind = call.rank + 1, call.rank - 1
    with steps.when(call.rank > 0):
        for _ in steps.loop(0, 3):
            steps.irecv(behind, part)
    for _ in steps.loop(0, 3):
        steps.wait_oldest()
        with steps.when(ahead < call.n_ranks):
            steps.isend(ahead, part)
    steps.wait_all()
    return steps


def test_a_wait_for_the_oldest_lets_parts_pass_before_the_last_has_come() -> None:
    n_ranks, seconds = 4, []
    for nbytes in (3, 3_000_000):
        calls = [relay(numeric_call("bcast", rank, n_ranks, 0, nbytes)).steps for rank in range(n_ranks)]
        assert all(0 in known for known in known_at_the_end(calls))
        engine = new_engine(n_ranks)
        made = Algorithm("bcast", "relay", relay, "a test")
        number = algorithms_in(engine).number(engine, made, n_ranks)
        assert performed(engine, number, nbytes).messages == 3 * (n_ranks - 1)
        seconds.append(max(engine.finish_s()))
    sent_whole_s = 3 * one_message_s(3_000_000)
    assert 5 / 9 * sent_whole_s < seconds[1] < 0.75 * sent_whole_s  # five parts follow each other, of nine


def test_performers_wait_for_the_oldest_alone() -> None:
    calls = [[ScheduleStep("irecv", source=1), ScheduleStep("irecv", source=2), ScheduleStep("wait_oldest")],
             [ScheduleStep("send", to=0)], [ScheduleStep("recv", source=0), ScheduleStep("send", to=0)]]  # fmt: skip
    calls[0] += [ScheduleStep("send", to=2), ScheduleStep("wait_all")]
    assert known_at_the_end(calls)[0] == {0, 1, 2}
    calls[0][:2] = reversed(calls[0][:2])
    with pytest.raises(AssertionError, match="ranks wait for each other"):
        known_at_the_end(calls)


def test_performers_wait_for_a_number_alone() -> None:
    calls = [[ScheduleStep("irecv", source=2), ScheduleStep("irecv", source=1), ScheduleStep("wait_for", number=1)],
             [ScheduleStep("send", to=0)], [ScheduleStep("recv", source=0), ScheduleStep("send", to=0)]]  # fmt: skip
    calls[0] += [ScheduleStep("send", to=2), ScheduleStep("wait_for", number=0)]
    assert known_at_the_end(calls)[0] == {0, 1, 2}
    calls[0][2] = ScheduleStep("wait_for", number=0)
    with pytest.raises(AssertionError, match="ranks wait for each other"):
        known_at_the_end(calls)


def one_message_s(nbytes: int) -> float:
    """Seconds from rank 0 to rank 1."""
    engine = new_engine(2)
    steps = Schedule(symbolic_call("bcast", 2))
    with steps.when(RANK == 0):
        steps.send(1, nbytes)
    with steps.when(RANK == 1):
        steps.recv(0, nbytes)
    number = engine.new_schedule(steps.words())
    performed(engine, number)
    return max(engine.finish_s())


def performed(engine: Engine, number: int, nbytes: int = 0) -> Any:
    """The world's statistics after all ranks have performed a schedule."""
    engine.spawn(lambda rank: engine.collective(0, number, 0, nbytes, "test"))
    assert engine.run(lambda: None) is None
    return engine.statistics()


@pytest.mark.parametrize("algorithm", [f"{op}:{name}" for op in LARGE for name in algorithms_of(op)])
def test_the_kernel_makes_the_calls_of_large_messages(algorithm: str) -> None:
    found, nbytes = named(algorithm), 50_000
    for n_ranks in (5, 8):
        engine, hosts = new_engine(n_ranks), hosts_of_four(n_ranks)
        query = Query(n_ranks, nbytes, item_bytes=8) if found.chooses else None
        number = algorithms_in(engine).number(engine, found, n_ranks, item_bytes=8, hosts=hosts, query=query)
        listed = sent(calls_of(algorithm, n_ranks, 0, nbytes, 8))
        statistics = performed(engine, number, nbytes)
        assert statistics.messages == listed.total()
        assert statistics.bytes == sum(size * count for (_, _, size), count in listed.items())


def test_each_round_among_a_power_of_two_of_ranks_is_one_short_formula() -> None:
    program = named("allreduce:recursive_doubling").make(symbolic_call("allreduce", 64)).words()
    partner, size = 5, 2  # words of rank ^ mask, and of the size, with their ends
    assert len(program) == 6 * ((1 + 2 * partner + 2 * size) + (1 + size)) + 1  # exchanges, reductions, and the end
