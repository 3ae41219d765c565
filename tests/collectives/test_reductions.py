"""Arithmetic of reductions: the bytes that ranks combine, and the time that it takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from math import log2

import pytest

from smpy.collectives.between_groups import AT_ROOT
from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.register import algorithms_of
from smpy.collectives.schedule import ScheduleStep
from smpy.collectives.world_schedules import algorithms_in
from smpy.engine.engine import Engine
from smpy.platforms import default_cluster, place
from tests.collectives.schedule_world import calls_of, hosts_of_four, named, numeric_call, offsets

OPERATIONS = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
REDUCTIONS = [f"{operation}:{name}" for operation in OPERATIONS for name in algorithms_of(operation)]
ENTRY_BYTES = 8
HOSTS: dict[str, Callable[[int], Hosts]] = {
    "four ranks a host": hosts_of_four,
    "a rank a host": lambda n: Hosts(range(n)),
    "dealt out": lambda n: Hosts(rank % 3 for rank in range(n)),
}
REDUCE_EACH_OPERAND_SEVERAL_TIMES = ("recursive_doubling", "noncommutative_twice")
BYTE_S = 1e-9


def steps_of(
    algorithm: str, n_ranks: int, n_entries: int, root: int = 0, hosts: Hosts | None = None
) -> list[list[ScheduleStep]]:
    """The steps of all ranks that reduce a vector of `n_entries`, or as many in each block of a reduce-scatter."""
    nbytes = n_entries * ENTRY_BYTES
    blocks = offsets([nbytes] * n_ranks)
    return calls_of(algorithm, n_ranks, root, nbytes, ENTRY_BYTES, lambda rank: (blocks, blocks), hosts)


def vector_bytes(algorithm: str, n_ranks: int, n_entries: int) -> int:
    return n_entries * ENTRY_BYTES * (n_ranks if algorithm.startswith("reduce_scatter") else 1)


def roots(algorithm: str, n_ranks: int) -> set[int]:
    return {0, n_ranks // 2, n_ranks - 1} if algorithm.startswith("reduce:") else {0}


def combined_bytes(steps: list[ScheduleStep]) -> int:
    return sum(step.bytes_in for step in steps if step.name == "combine")


def total_bytes(steps_of_ranks: list[list[ScheduleStep]]) -> int:
    return sum(map(combined_bytes, steps_of_ranks))


def arrived_and_combined(steps: list[ScheduleStep]) -> Iterator[tuple[int, int]]:
    """Bytes of receives that a rank has waited for, and bytes that it has combined, after each of its steps."""
    arrived = combined = 0
    outstanding: list[deque[int]] = [deque()]  # bytes of sends and receives not waited for, of each strand
    for step in steps:
        if step.name in ("recv", "exchange"):
            arrived += step.bytes_in
        elif step.name in ("isend", "irecv"):
            outstanding[-1].append(step.bytes_in)
        elif step.name == "wait_all":
            arrived += sum(outstanding[-1])
            outstanding[-1].clear()
        elif step.name == "wait_oldest":
            arrived += outstanding[-1].popleft() if outstanding[-1] else 0
        elif step.name == "combine":
            combined += step.bytes_in
        elif step.name == "fork":
            outstanding.append(deque())
        elif step.name == "halt":
            arrived += sum(outstanding.pop())
        else:
            assert step.name in ("send", "join")
        yield arrived, combined


def placed() -> Iterator[tuple[str, str]]:
    """Each algorithm, with all placements if it asks for hosts."""
    for algorithm in REDUCTIONS:
        asks = named(algorithm).knows_hosts or named(algorithm).chooses
        yield from product([algorithm], HOSTS if asks else ["four ranks a host"])


@pytest.mark.parametrize(("algorithm", "placement"), [*placed()])
def test_every_operand_is_reduced_and_none_before_it_has_arrived(algorithm: str, placement: str) -> None:
    operation = algorithm.partition(":")[0]
    results = 2 if operation in ("scan", "exscan") else 1  # results that a rank reduces an operand into
    for n_ranks, n_entries in product(range(1, 10), (0, 1, 12, 20_000)):
        for root in roots(algorithm, n_ranks):
            steps = steps_of(algorithm, n_ranks, n_entries, root, HOSTS[placement](n_ranks))
            n_reduced = n_ranks - 2 if operation == "exscan" else n_ranks - 1
            assert total_bytes(steps) >= n_reduced * vector_bytes(algorithm, n_ranks, n_entries)
            for own in steps:
                assert all(combined <= results * arrived for arrived, combined in arrived_and_combined(own))


@pytest.mark.parametrize(
    "algorithm",
    [each for each in REDUCTIONS if each.startswith("reduce") and not each.endswith(REDUCE_EACH_OPERAND_SEVERAL_TIMES)],
)
def test_a_reduction_to_one_place_reduces_each_operand_but_one_once(algorithm: str) -> None:
    for n_ranks, n_entries in product(range(1, 10), (24, 20_000)):
        if algorithm.endswith(":halving") and n_ranks & (n_ranks - 1):
            continue  # recursive doubling
        for root in roots(algorithm, n_ranks):
            n_bytes = vector_bytes(algorithm, n_ranks, n_entries)
            assert total_bytes(steps_of(algorithm, n_ranks, n_entries, root)) == (n_ranks - 1) * n_bytes


@pytest.mark.parametrize(
    ("algorithm", "n_vectors"),
    [
        ("allreduce:recursive_doubling", lambda p: p * log2(p)),
        ("allreduce:rabenseifner", lambda p: p * (1 - 1 / p)),
        ("allreduce:balanced_rabenseifner", lambda p: p * (1 - 1 / p)),
        ("allreduce:rabenseifner_1997", lambda p: p * (1 - 1 / p)),
        ("allreduce:halving_allgather", lambda p: p * (1 - 1 / p)),
        ("allreduce:alltoall_allgather", lambda p: p - 1),
        ("allreduce:ring", lambda p: p - 1),
        ("allreduce:open_mpi_ring", lambda p: p - 1),
        ("allreduce:segmented_ring", lambda p: p - 1),
        ("allreduce:hosts_first_ring", lambda p: p - 1),
        ("allreduce:linear_reduce_bcast", lambda p: p - 1),
        ("reduce_scatter:recursive_doubling", lambda p: p * log2(p) - (p - 1)),
        ("scan:linear", lambda p: p * (p - 1) / 2),
        ("exscan:linear", lambda p: (p - 1) * (p - 2) / 2),
        ("scan:recursive_doubling", lambda p: 3 / 2 * p * log2(p)),
        ("exscan:recursive_doubling", lambda p: 3 / 2 * p * log2(p) - (p - 1)),
    ],
)
def test_the_bytes_combined_are_those_of_the_closed_form(algorithm: str, n_vectors: Callable[[int], float]) -> None:
    for n_ranks, n_entries in product((1, 2, 4, 8), (24, 1 << 20)):
        expected = n_vectors(n_ranks) * vector_bytes(algorithm, n_ranks, n_entries)
        assert total_bytes(steps_of(algorithm, n_ranks, n_entries)) == expected


@pytest.mark.parametrize("operation", ["inter_reduce", "inter_allreduce", "inter_reduce_scatter_block"])
def test_operands_of_another_group_are_reduced_among_themselves(operation: str) -> None:
    n_ranks, n_remote, nbytes = 3, 5, 30
    roots = {"inter_reduce": [AT_ROOT, -2, -2]}.get(operation, [0, 0, 0])
    steps = [
        algorithms_of(operation)["linear"].make(
            numeric_call(operation, rank, n_ranks, roots[rank], nbytes, n_remote=n_remote)
        )
        for rank in range(n_ranks)
    ]
    own = (n_remote - 1) * nbytes
    expected = {"inter_reduce_scatter_block": [own // n_ranks] * n_ranks}.get(operation, [own, 0, 0])
    assert [combined_bytes(each.steps) for each in steps] == expected


def finish_s(algorithm: str, n_ranks: int, nbytes: int, byte_s: float, root: int = 0) -> list[float]:
    """Date at which each rank has left, where reducing a byte takes `byte_s`."""
    platform = default_cluster(n_ranks).build()
    models = replace(platform.models, calls=replace(platform.models.calls, reduction_byte_s=byte_s))
    engine, found = Engine(platform, models, place(platform, n_ranks)), named(algorithm)
    query = Query(n_ranks, nbytes, item_bytes=ENTRY_BYTES, total_bytes=n_ranks * nbytes) if found.chooses else None
    number = algorithms_in(engine).number(
        engine, found, n_ranks, item_bytes=ENTRY_BYTES, hosts=hosts_of_four(n_ranks), query=query
    )
    tables = [offsets([nbytes] * n_ranks)] if found.operation == "reduce_scatter" else []
    engine.spawn(lambda rank: engine.collective(0, number, root, nbytes, "test", tables))
    assert engine.run(lambda: None) is None
    return engine.finish_s()


@pytest.mark.parametrize(
    ("algorithm", "n_ranks", "n_vectors"),
    [
        ("reduce:binomial_tree", 2, 1),
        ("reduce:linear", 2, 1),
        ("reduce:linear", 4, 3),
        ("allreduce:recursive_doubling", 4, 2),
        ("allreduce:rabenseifner", 4, 1 / 2 + 1 / 4),
        ("allreduce:ring", 4, 3 / 4),
        ("scan:linear", 4, 3),
    ],
)
def test_a_reduction_takes_longer_by_its_longest_chain_of_arithmetic(
    algorithm: str, n_ranks: int, n_vectors: float
) -> None:
    nbytes = 64_000
    free_s, paid_s = (max(finish_s(algorithm, n_ranks, nbytes, byte_s)) for byte_s in (0.0, BYTE_S))
    assert paid_s - free_s == pytest.approx(n_vectors * nbytes * BYTE_S, rel=1e-9)


@pytest.mark.parametrize("algorithm", REDUCTIONS)
def test_a_rank_leaves_after_its_own_arithmetic(algorithm: str) -> None:
    n_ranks, n_entries, byte_s = 8, 20_000, 1e-6
    steps = steps_of(algorithm, n_ranks, n_entries)
    ends_s = finish_s(algorithm, n_ranks, n_entries * ENTRY_BYTES, byte_s)
    assert all(end_s >= combined_bytes(own) * byte_s for own, end_s in zip(steps, ends_s, strict=True))
    assert max(ends_s) <= 1 + total_bytes(steps) * byte_s
