"""Parts of an algorithm: steps among some of the ranks, algorithms that a table chooses, and the search for hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smpy.collectives import tables
from smpy.collectives.bcast.one_level import down
from smpy.collectives.call import Call
from smpy.collectives.comm_hosts import SEARCHED, HostSearch, HostsOfComm
from smpy.collectives.facts import Query
from smpy.collectives.host_search import search_hosts
from smpy.collectives.hosts import Hosts
from smpy.collectives.reduce.one_level import up
from smpy.collectives.register import Algorithm, algorithms_of
from smpy.collectives.schedule import Schedule
from smpy.collectives.selection import Selection, selection_with
from smpy.collectives.symbolic_call import symbolic_call
from smpy.collectives.world_schedules import algorithms_in, choose
from smpy.engine.engine import Engine
from smpy.platforms import default_cluster, place
from tests.collectives.schedule_world import known_at_the_end, numeric_call, sent

UNEQUAL_HOSTS = (0, 0, 0, 1, 1, 2, 2, 2, 2, 0)


def hosts_first(call: Call) -> Schedule:
    """Reduce on each host, then among hosts, and the way back, by binomial trees."""
    steps = Schedule(call)
    call.add(steps, up, call.local, call.nbytes)
    with steps.when(call.local.index == 0):
        call.add(steps, up, call.leaders, call.nbytes)
        call.add(steps, down, call.leaders, call.nbytes)
    call.add(steps, down, call.local, call.nbytes)
    return steps


def test_a_part_among_the_ranks_of_a_host_names_ranks_of_the_communicator() -> None:
    hosts = Hosts(UNEQUAL_HOSTS)
    n_ranks = len(UNEQUAL_HOSTS)
    calls = [
        hosts_first(replace(numeric_call("allreduce", rank, n_ranks, nbytes=8), hosts=hosts)).steps
        for rank in range(n_ranks)
    ]
    assert known_at_the_end(calls) == [set(range(n_ranks))] * n_ranks
    on_one_host = [pair for pair in sent(calls) if UNEQUAL_HOSTS[pair[0]] == UNEQUAL_HOSTS[pair[1]]]
    assert len(on_one_host) == 2 * (n_ranks - hosts.n_hosts)


def test_the_kernel_performs_parts_that_differ_from_host_to_host() -> None:
    n_ranks = len(UNEQUAL_HOSTS)
    platform = default_cluster(n_ranks).build()
    engine = Engine(platform, platform.models, place(platform, n_ranks))
    made = Algorithm("allreduce", "hosts_first", hosts_first, "a test", knows_hosts=True)
    number = algorithms_in(engine).number(engine, made, n_ranks, hosts=Hosts(UNEQUAL_HOSTS))
    engine.spawn(lambda rank: engine.collective(0, number, 0, 8, "Allreduce"))
    assert engine.run(lambda: None) is None
    assert engine.statistics().messages == 2 * (n_ranks - 1)


@pytest.mark.parametrize(("bcast", "n_messages"), [("linear", 7), ("binomial_tree", 7), ("scatter_ring_allgather", 63)])
def test_a_part_that_a_table_chooses_follows_the_choice_of_the_run(bcast: str, n_messages: int) -> None:
    platform = default_cluster(8).build()
    engine = Engine(platform, platform.models, place(platform, 8))
    choose(engine, selection_with([("bcast", bcast)]))

    def only_bcast(call: Call) -> Schedule:
        steps = Schedule(call)
        for _ in steps.loop(0, 2):
            call.add_chosen(steps, "bcast", call.nbytes)
        return steps

    chooser = Algorithm("allreduce", "only_bcast", only_bcast, "a test", chooses=True)
    algorithms = algorithms_in(engine)
    number = algorithms.number(engine, chooser, 8, hosts=Hosts(range(8)), query=Query(8, 4096))
    engine.spawn(lambda rank: engine.collective(0, number, 0, 4096, "Allreduce"))
    assert engine.run(lambda: None) is None
    assert engine.statistics().messages == 2 * n_messages


@pytest.mark.parametrize("operation", ["reduce", "allreduce"])
def test_an_operation_that_is_not_commutative_goes_to_an_algorithm_that_keeps_the_order(operation: str) -> None:
    stand_ins = {each.in_order for each in algorithms_of(operation).values()} - {""}
    assert stand_ins
    assert not any(algorithms_of(operation)[name].in_order for name in stand_ins)
    platform = default_cluster(8).build()
    for each in algorithms_of(operation).values():
        engine = Engine(platform, platform.models, place(platform, 8))
        choose(engine, selection_with([(operation, each.name)]))
        algorithms = algorithms_in(engine)
        for commutative in (True, False):
            query = Query(8, 800, commutative=commutative, item_bytes=8, n_entries=100)
            algorithms.schedule(engine, operation, query, HostsOfComm(lambda: Hosts(range(8))))
        assert set(algorithms.used()[operation]) == {each.name, each.in_order or each.name}


def test_a_ring_leaves_the_entries_left_over_to_the_choice_of_the_run() -> None:
    messages = []
    for forced in ([], [("bcast", "linear")], [("reduce", "segmented_chain")]):
        platform = default_cluster(8).build()
        engine = Engine(platform, platform.models, place(platform, 8))
        choose(engine, selection_with([("allreduce", "ring"), *forced]))
        query = Query(8, 8 * 83, item_bytes=8, n_entries=83)  # three entries are left over
        number = algorithms_in(engine).schedule(engine, "allreduce", query, HostsOfComm(lambda: Hosts(range(8))))
        engine.spawn(lambda rank, engine=engine, number=number: engine.collective(0, number, 0, 8 * 83, "Allreduce"))
        assert engine.run(lambda: None) is None
        messages.append((engine.statistics().messages, max(engine.finish_s())))
    assert {n for n, _ in messages} == {8 * 14 + 7 + 7}
    assert len({seconds for _, seconds in messages}) == len(messages)


def test_hosts_are_searched_once_a_communicator() -> None:
    call = numeric_call("bcast", 0, 8)
    search = HostSearch(is_due=True)
    first, second = Schedule(call), Schedule(call)
    for steps in (first, second):
        search_hosts(steps, replace(call, hosts=Hosts(rank // 4 for rank in range(8)), search=search))
    assert [step.name for step in first.steps].count("exchange") == 7 + 1 + 3
    assert second.steps == []


def test_a_row_that_searches_hosts_does_it_in_the_first_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tables._parsed("bcast", [{"searches_hosts": True, "use": "linear"}])
    monkeypatch.setattr(Selection, "rules", lambda self, operation: rules)
    platform = default_cluster(4).build()
    engine = Engine(platform, platform.models, place(platform, 4))
    hosts = HostsOfComm(lambda: Hosts([0, 0, 1, 1]))
    algorithms = algorithms_in(engine)
    numbers = [algorithms.schedule(engine, "bcast", Query(4, 8), hosts) for _ in range(3)]
    assert numbers[0] != numbers[1] == numbers[2]


def test_the_ranks_of_a_host_have_a_search_of_their_own() -> None:
    hosts = Hosts([0, 0, 1, 1])

    def searches(call: Call) -> Schedule:
        steps = Schedule(call)
        search_hosts(steps, call)
        return steps

    def messages(due: HostSearch) -> int:
        before = set(due.due)
        calls = []
        for rank in range(4):
            due.due = set(before)
            call = replace(numeric_call("barrier", rank, 4), hosts=hosts, search=due)
            steps = Schedule(call)
            call.add(steps, searches, call.local, 0)
            calls.append(steps.steps)
        return sent(calls).total()

    search = HostSearch(is_due=True)
    assert messages(search) > 0
    assert search.due & SEARCHED == {"", "leaders"}
    assert messages(search) == 0


def test_steps_under_a_condition_that_never_holds_are_left_out_in_symbols_too() -> None:
    def words(is_wanted: bool) -> list[int]:
        steps = Schedule(symbolic_call("barrier", 4))
        steps.wait_all()
        with steps.when(is_wanted):
            steps.send(1, 8)
        return steps.words()

    empty = Schedule(symbolic_call("barrier", 4))
    empty.wait_all()
    assert words(False) == empty.words()
    assert len(words(True)) > len(words(False))


@pytest.mark.parametrize("operation", ["barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather"])
def test_every_algorithm_can_be_forced_though_its_parts_follow_the_choice_of_the_run(operation: str) -> None:
    platform = default_cluster(8).build()
    for name, found in algorithms_of(operation).items():
        if found.only_ranks not in (None, 8):
            continue
        engine = Engine(platform, platform.models, place(platform, 8))
        choose(engine, selection_with([(operation, name)]))
        hosts = HostsOfComm(lambda: Hosts([0, 0, 0, 1, 1, 2, 2, 2]))
        query = Query(8, 96, item_bytes=8, n_entries=12)
        number = algorithms_in(engine).schedule(engine, operation, query, hosts)
        engine.spawn(lambda rank, engine=engine, number=number: engine.collective(0, number, 0, 96, operation))
        assert engine.run(lambda: None) is None
