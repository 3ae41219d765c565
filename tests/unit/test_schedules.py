"""Collective algorithms as schedules: judged by what makes any of them right, as lists of calls and in the kernel."""

from collections import Counter
from typing import Any

import pytest

from smpy.collectives.schedule import NBYTES, RANK, ROOT, Call, Formula, Schedule
from smpy.collectives.selectors import ALGORITHMS, check_rows, schedule_for, select
from smpy.engine.engine import Engine
from smpy.platforms import default_cluster, place

EVERY = [(op, name) for op, names in ALGORITHMS.items() for name in names]
SIZES = range(1, 18)


def calls_of(op: str, name: str, n_ranks: int, root: int, nbytes: int = 100) -> list[list[Call]]:
    algorithm = ALGORITHMS[op][name]
    return [algorithm(rank, n_ranks, root, nbytes).calls for rank in range(n_ranks)]


def sent(calls: list[list[Call]]) -> Counter[tuple[int, int, int]]:
    return Counter((rank, call.to, call.bytes_out) for rank, own in enumerate(calls) for call in own if call.to >= 0)


def received(calls: list[list[Call]]) -> Counter[tuple[int, int, int]]:
    return Counter(
        (call.source, rank, call.bytes_in) for rank, own in enumerate(calls) for call in own if call.source >= 0
    )


@pytest.mark.parametrize(("op", "name"), EVERY)
@pytest.mark.parametrize("n_ranks", SIZES)
def test_every_message_that_is_sent_is_received(op: str, name: str, n_ranks: int) -> None:
    for root in {0, n_ranks // 2, n_ranks - 1}:
        calls = calls_of(op, name, n_ranks, root)
        assert sent(calls) == received(calls)
        assert all(source != target and 0 <= target < n_ranks for source, target, _ in sent(calls))


@pytest.mark.parametrize("n_ranks", SIZES)
def test_a_broadcast_reaches_every_rank_once_and_the_root_never(n_ranks: int) -> None:
    for root in range(n_ranks):
        targets = Counter(target for _, target, _ in received(calls_of("bcast", "binomial_tree", n_ranks, root)))
        assert targets == Counter(set(range(n_ranks)) - {root})


def test_a_binomial_tree_serves_the_farthest_first() -> None:
    assert [call.to for call in calls_of("bcast", "binomial_tree", 8, 0)[0]] == [4, 2, 1]
    assert [(call.source, call.to) for call in calls_of("bcast", "binomial_tree", 8, 0)[6]] == [(4, -1), (-1, 7)]


def test_a_linear_gather_takes_a_block_from_every_other_rank() -> None:
    calls = calls_of("gather", "linear", 5, 3, 10)
    assert [call.source for call in calls[3] if call.name == "irecv"] == [0, 1, 2, 4]
    assert sent(calls) == Counter((rank, 3, 10) for rank in (0, 1, 2, 4))


def test_a_reduction_that_may_not_reorder_receives_from_the_last_rank_to_the_first() -> None:
    assert [call.source for call in calls_of("reduce", "basic_linear", 5, 2)[2]] == [4, 3, 1, 0]


@pytest.mark.parametrize(("op", "name"), EVERY)
def test_the_kernel_makes_the_calls_that_the_algorithm_lists(op: str, name: str) -> None:
    for n_ranks in (1, 2, 5, 8, 13):
        root = n_ranks - 1
        platform = default_cluster(n_ranks)
        engine = Engine(platform, platform.network_model, place(platform, n_ranks))
        number = schedule_for(engine, f"{op}:{name}", n_ranks)

        def body(rank: int, engine: Engine = engine, number: int = number, root: int = root) -> None:
            engine.collective(0, number, root, 100, op)

        engine.spawn(body)
        assert engine.run(lambda: None) is None
        listed = sent(calls_of(op, name, n_ranks, root))
        statistics = engine.statistics()
        assert statistics.messages == listed.total()
        assert statistics.bytes == sum(nbytes * count for (_, _, nbytes), count in listed.items())


def test_a_schedule_is_as_long_for_many_ranks_as_for_few() -> None:
    few, many = (len(ALGORITHMS["allgather"]["linear"](RANK, n, ROOT, NBYTES).words()) for n in (4, 4096))
    assert few == many


@pytest.mark.parametrize("words", [[], [7, 2], [1, 2, 0, 0], [8, 1, 0, 0, 1, 5, 0, 2, 9, 3], [99], [1, 7, 0, 1, 0, 0]])
def test_words_that_are_no_program_are_refused(words: list[int]) -> None:
    platform = default_cluster(1)
    engine = Engine(platform, platform.network_model, [0])
    with pytest.raises(Exception, match="schedule is malformed"):
        engine.new_schedule([*words, 0] if words != [] else [3])


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (lambda r: (r - 3) % 5, lambda r: (r - 3) % 5),
        (lambda r: (7 - r) // 2, lambda r: (7 - r) // 2),
        (lambda r: (r ^ 5) | (r << 2), lambda r: (r ^ 5) | (r << 2)),
        (lambda r: 1 + 2 * r + (r >> 1) * (r >= 2) + (r > 3) + (r <= 4) + (r & 6), None),
    ],
)
def test_a_formula_means_what_python_means(formula: Any, expected: Any) -> None:
    n_ranks = 9
    platform = default_cluster(n_ranks)
    engine = Engine(platform, platform.network_model, place(platform, n_ranks))
    steps = Schedule(RANK)
    with steps.when(RANK != 0):
        steps.send(0, formula(RANK) + 100)
    with steps.when(RANK == 0):
        for peer in steps.loop(1, n_ranks):
            steps.recv(peer, 1000)
    number = engine.new_schedule(steps.words())
    engine.spawn(lambda rank: engine.collective(0, number, 0, 0, "test"))
    engine.run(lambda: None)
    assert isinstance(formula(RANK), Formula)
    assert engine.statistics().bytes == sum((expected or formula)(rank) + 100 for rank in range(1, n_ranks))


def test_the_first_row_that_fits_chooses() -> None:
    assert select("reduce", 8, 100) == "reduce:linear"
    assert select("reduce", 8, 100, commutative=False) == "reduce:basic_linear"


@pytest.mark.parametrize(
    "rows", [[], [{"use": "quick"}], [{"ranks": 3, "use": "linear"}], [{"ranks_max": 3, "use": "linear"}]]
)
def test_a_table_that_is_not_total_or_names_what_does_not_exist_is_refused(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="barrier"):
        check_rows("barrier", rows)
