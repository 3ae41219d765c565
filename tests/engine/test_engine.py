"""Methods of the engine for a surface, and its error messages."""

from __future__ import annotations

import re
import threading
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from smpy.collectives.comm_hosts import HostsOfComm
from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.schedule import NBYTES, NO_STEPS, RANK, Schedule
from smpy.collectives.symbolic_call import symbolic_call
from smpy.collectives.world_schedules import algorithms_in
from smpy.engine import loop, thread_ranks
from smpy.engine.engine import Engine
from smpy.engine.kernel import lib
from smpy.engine.loop import TROUBLE
from smpy.engine.messages import ANY, BUFFERED, CANCELLED, NO_MESSAGE, Envelope, Load
from smpy.engine.outcomes import CalledInThread
from smpy.errors import SmpyError, UsageError
from smpy.platforms import Description, Host, default_cluster, place
from smpy.platforms.topologies.full import FullZone


def new_engine(n_ranks: int) -> Engine:
    platform = default_cluster(n_ranks).build()
    return Engine(platform, platform.models, place(platform, n_ranks))


def run(engine: Engine, *bodies: Callable[[], None]) -> None:
    """Run one rank for each body; what a body raises is raised here."""
    raised: list[BaseException] = []

    def live(rank: int) -> None:
        try:
            bodies[rank]()
        except BaseException as error:  # noqa: BLE001  # a law of the loop
            raised.append(error)

    engine.spawn(live)
    engine.run(lambda: None)
    if raised:
        raise raised[0]


def lent(memory: array[int]) -> Load:
    address, n = memory.buffer_info()
    return Load(n * memory.itemsize, address, keep=memory)


def ring_step(engine: Engine) -> int:
    """Every even rank sends to the next one."""
    step = Schedule(symbolic_call("bcast", 2))
    with step.when(RANK % 2 == 0):
        step.isend(RANK + 1, NBYTES)
    with step.when(RANK % 2 == 1):
        step.irecv(RANK - 1, NBYTES)
    return engine.new_schedule(step.words())


def test_hosts_without_a_route_are_named() -> None:
    hosts = tuple(Host(name, 1e9) for name in ("north", "south"))
    platform = Description("islands", FullZone("sea", hosts)).build()
    engine = Engine(platform, platform.models, place(platform, 2))
    with pytest.raises(SmpyError, match="north and south talk to each other, and the platform has no route"):
        run(engine, lambda: engine.send(0, 1, 0, Load(8)), lambda: engine.recv(0, 0, 0, Load(8)) and None)


@pytest.mark.parametrize(
    "append",
    [
        lambda engine: engine.block("Recv"),
        lambda engine: engine.isend(0, 0, 0, Load(8)),
        lambda engine: engine.irecv(0, 0, 0, Load(8)),
        lambda engine: engine.iprobe(0, 0, 0),
        lambda engine: engine.wait_all([1]),
        lambda engine: engine.release(1),
        lambda engine: engine.sleep(1.0),
        lambda engine: engine.compute(1.0),
        lambda engine: engine.note(lambda: None),
        lambda engine: engine.stop(None),
        lambda engine: engine.new_latch(1),
        lambda engine: engine.comm_new([0]),
        lambda engine: engine.comm_free(1),
        lambda engine: engine.collective(0, 0, 0, 0, "Barrier"),
    ],
)
def test_what_a_thread_wants_to_append_ends_the_run(
    append: Callable[[Engine], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_N_WAKES", 1)  # no signal handler hears them here
    engine, ended = new_engine(2), []

    def start() -> None:
        def work() -> None:
            thread_ranks.belong_to(0)
            with pytest.raises(SystemExit):
                append(engine)
            ended.append(True)

        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()

    engine.spawn(lambda rank: start() if rank == 0 else engine.recv(0, 0, 0, Load(8)) and None)
    how = engine.run(lambda: None)
    assert isinstance(how, CalledInThread)
    assert (how.rank, how.thread, ended) == (0, "worker", [True])
    assert engine.statistics().messages == 0


def test_whatever_is_appended_goes_to_the_timeline_of_a_caller_that_has_one() -> None:
    sources = [path.read_text(encoding="utf-8") for path in Path(thread_ranks.__file__).parent.glob("*.py")]
    targets = [
        target for text in sources for target in re.findall(r"lib\.sim_append_(?!end)\w+\(self\._sim, ([\w.]+)", text)
    ]
    assert len(targets) > 10
    assert set(targets) == {"self.timeline"}


def test_a_thread_that_no_rank_has_started_has_no_part_in_mpi() -> None:
    engine, said = new_engine(1), []

    def start() -> None:
        def work() -> None:
            with pytest.raises(UsageError, match="thread 'stranger' was started by no rank"):
                engine.block("Recv")
            said.append(True)

        thread = threading.Thread(target=work, name="stranger")
        thread.start()
        thread.join()

    run(engine, start)
    assert said


def test_ranks_of_an_intercommunicator_are_those_of_the_other_side() -> None:
    engine, got = new_engine(3), array("i", [0])
    left, right = engine.comm_new_inter([2, 0], [1])
    assert (engine.comm_size(left), engine.n_peers(left), engine.world_ranks(left)) == (2, 1, [2, 0])
    assert (engine.comm_size(right), engine.n_peers(right)) == (1, 2)
    assert engine.n_peers(0) == 3

    def receive() -> None:
        assert engine.recv(right, 0, ANY, lent(got)) == Envelope(0, 5, 4, 4)

    run(engine, lambda: None, receive, lambda: engine.send(left, 0, 5, lent(array("i", [7]))))
    assert got[0] == 7


def test_a_started_collective_is_a_request_without_a_message() -> None:
    engine = new_engine(2)
    number = ring_step(engine)

    def body() -> None:
        started = [engine.start_collective(0, number, 0, nbytes) for nbytes in (100_000, 10)]
        assert engine.wait_all(started) == [NO_MESSAGE, NO_MESSAGE]
        late = engine.start_collective(0, number, 0, 10)
        while engine.test(late) is None:
            pass
        assert engine.wait_any([-1, engine.start_collective(0, number, 0, 10)]) == (1, NO_MESSAGE)
        engine.release(engine.start_collective(0, number, 0, 10))

    run(engine, body, body)


def test_a_gate_opens_when_its_ranks_have_come() -> None:
    engine, dates_s = new_engine(3), []
    nothing, latch = engine.new_schedule(NO_STEPS), engine.new_latch(3)

    def come(at_s: float) -> Callable[[], None]:
        def body() -> None:
            engine.sleep(at_s)
            engine.wait(engine.start_collective(0, nothing, 0, 0, latch=latch))
            dates_s.append(engine.clock_s())

        return body

    run(engine, come(1.0), come(3.0), come(2.0))
    assert dates_s == [3.0, 3.0, 3.0]


def test_a_collective_takes_as_long_whatever_form_its_tables_have() -> None:
    def dates_s(form: type[list[Any] | tuple[Any, ...]], table: Callable[[list[int]], Sequence[int]]) -> list[float]:
        engine, dates = new_engine(2), []
        hosts = HostsOfComm(lambda: Hosts(engine.hosts_of([0, 1])))
        number = algorithms_in(engine).schedule(engine, "neighbour", Query(2, 0), hosts)

        def exchange(peer: int, nbytes: int) -> None:
            tables = [[0, nbytes], [0, 80_000 - nbytes], [1, peer], [1, peer]]
            engine.collective(0, number, 0, 0, "Neighbor_alltoall", form(map(table, tables)))
            dates.append(engine.clock_s())

        run(engine, lambda: exchange(1, 70_000), lambda: exchange(0, 10_000))
        return dates

    of_lists = dates_s(list, list)
    assert 0 < of_lists[0] < of_lists[1]
    assert (
        dates_s(tuple, partial(array, "q")) == dates_s(tuple, tuple) == dates_s(list, partial(array, "q")) == of_lists
    )


def test_at_most_four_tables_are_given() -> None:
    engine = new_engine(1)
    number = engine.new_schedule(NO_STEPS)
    run(engine, lambda: engine.collective(0, number, 0, 0, "Alltoallv", [[1], array("q", [2]), (), [3]]))
    with pytest.raises(ValueError, match="5 tables: a schedule reads at most 4"):
        engine.start_collective(0, number, 0, 0, [[]] * 5)


def test_a_request_that_was_taken_back_says_so_and_lets_its_memory_go() -> None:
    engine = new_engine(1)

    def body() -> None:
        taken = []
        number = engine.irecv(0, 0, 1, Load(4, take=taken.append))
        assert engine.get_status(number) is None
        engine.cancel(number)
        assert engine.get_status(number) == CANCELLED
        assert engine.wait(number) == CANCELLED
        assert not taken
        assert not engine._deliveries

    run(engine, body)


def test_what_a_released_request_needs_is_kept_until_it_has_ended() -> None:
    engine, room = new_engine(2), array("i", [0])

    def receive() -> None:
        number = engine.irecv(0, 1, 0, lent(room))
        kept = object()
        engine.release(number, keep=kept)
        assert any(kept in load.keep for load in engine._deliveries.values())  # type: ignore[operator]
        engine.sleep(1.0)

    run(engine, receive, lambda: engine.send(0, 0, 0, lent(array("i", [3]))))
    assert room[0] == 3
    assert not engine._deliveries


def test_a_buffered_send_is_complete_when_it_has_been_delivered() -> None:
    engine, room = new_engine(2), array("i", [0] * 30_000)

    def send() -> None:
        number = engine.isend(0, 1, 0, lent(array("i", [9] * 30_000)), BUFFERED, is_blocking=True)
        assert not engine.is_done(number)
        engine.wait(number)
        engine.send(0, 1, 0, Load(0), BUFFERED)

    def receive() -> None:
        engine.sleep(1.0)
        engine.recv(0, 0, 0, lent(room))
        engine.recv(0, 0, 0, Load(0))

    run(engine, send, receive)
    assert set(room) == {9}
    assert engine.finish_s()[0] > 1


def test_a_held_message_is_received_by_its_number_alone() -> None:
    engine, first, second = new_engine(2), array("i", [0]), array("i", [0])

    def send() -> None:
        for value in (1, 2):
            engine.send(0, 1, value, lent(array("i", [value])))

    def receive() -> None:
        assert engine.improbe(0, 0, 9) is None
        held, message = engine.mprobe(0, ANY, ANY)
        assert message[:3] == (0, 1, 4)
        assert engine.recv(0, ANY, ANY, lent(second)).tag == 2
        assert engine.wait(engine.imrecv(held, lent(first))) == Envelope(0, 1, 4, 4)

    run(engine, send, receive)
    assert (first[0], second[0]) == (1, 2)


def test_numbers_of_freed_communicators_are_used_again() -> None:
    engine = new_engine(3)
    numbers = set()
    for _ in range(10):
        numbers.add(engine.comm_new([2, 0]))
        engine.comm_free(max(numbers))
    assert len(numbers) == 1


def test_glances_neither_switch_nor_fill_the_timeline_and_cost_what_looks_cost() -> None:
    engine, order = new_engine(2), []

    def glance() -> None:
        for _ in range(2):
            dates_s = [engine.earliest_clock_s() for _ in range(10_000)]
            order.append(engine.rank)
            assert dates_s == sorted(set(dates_s))
        engine.wtime()

    run(engine, glance, glance)
    assert order == [0, 0, 1, 1]
    assert engine.statistics().events == 4
    assert list(engine.finish_s()) == [pytest.approx(20_001 * 1e-8)] * 2


def test_a_glance_does_not_know_how_long_a_rank_waits() -> None:
    engine, told_s = new_engine(2), []

    def receive() -> None:
        engine.sleep(1.0)
        engine.start_collective(0, barrier, 0, 0)
        told_s.append(engine.earliest_clock_s())
        engine.recv(0, 1, 0, Load(0))
        told_s.append(engine.earliest_clock_s())

    def send() -> None:
        engine.sleep(5.0)
        engine.start_collective(0, barrier, 0, 0)
        engine.send(0, 0, 0, Load(0))

    barrier = engine.new_schedule(NO_STEPS)
    run(engine, receive, send)
    assert told_s[0] == 1.0
    assert told_s[1] > 5.0


def test_a_world_that_has_given_its_memory_back_cannot_be_asked() -> None:
    engine = new_engine(1)
    run(engine, lambda: engine.sleep(2.0))
    assert engine.now_s == 2.0
    engine.close()
    with pytest.raises(TypeError):
        _ = engine.now_s


def test_every_refusal_of_the_kernel_has_a_meaning():
    refusals = {name for name in dir(lib) if name.startswith("SIM_BAD_")}
    assert "SIM_BAD_SIZE" in refusals
    assert {name for name in refusals if getattr(lib, name) not in TROUBLE} == set()


def test_no_part_of_the_engine_hides_a_method_of_another():
    definers: dict[str, list[str]] = {}
    for part in Engine.__mro__[:-1]:
        for name in vars(part):
            if not (name.startswith("__") and name.endswith("__")):
                definers.setdefault(name, []).append(part.__name__)
    assert {name: parts for name, parts in definers.items() if len(parts) > 1} == {}
