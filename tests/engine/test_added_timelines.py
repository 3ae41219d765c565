"""Further timelines of a rank: they begin at the present date, park, wake each other, and share the rank's core."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan

import pytest

from smpy.engine.engine import Engine
from smpy.engine.messages import Load, WaitKind
from smpy.errors import DeadlockError
from smpy.platforms import default_cluster, place


class Body:
    """A thread of a test."""

    name = "worker"

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work

    def __call__(self) -> None:
        self._work()


@pytest.fixture
def engine() -> Engine:
    platform = default_cluster(2).build()
    return Engine(platform, platform.models, place(platform, 2))


def run(engine: Engine, *bodies: Callable[[], object]) -> None:
    engine.spawn(lambda rank: bodies[rank]() and None)
    engine.run(lambda: None)


def test_a_timeline_begins_when_its_rank_has_caught_up(engine: Engine) -> None:
    seen: list[float] = []

    def start() -> None:
        engine.sleep(2.0)
        engine.add_timeline(Body(lambda: seen.append(engine.now_s)))
        assert engine.now_s == 2.0
        assert engine.has_threads

    run(engine, start, lambda: None)
    assert seen == [2.0]


def test_a_parked_timeline_is_woken_at_the_date_of_the_other(engine: Engine) -> None:
    seen: list[tuple[bool, float]] = []

    def wait() -> None:
        seen.extend((engine.park(until_s, lambda: "something"), engine.now_s) for until_s in (inf, 3.0, 100.0))

    def start() -> None:
        timeline = engine.add_timeline(Body(wait))
        for sleep_s in (1.0, 3.5):
            engine.sleep(sleep_s)
            engine.catch_up("")
            engine.wake_timeline(timeline)

    run(engine, start, lambda: None)
    assert seen == [(True, 1.0), (False, 3.0), (True, 4.5)]


def test_timelines_of_a_rank_share_its_core_and_both_send_for_it(engine: Engine) -> None:
    speed_flop_per_s = 0.0

    def compute_and_send(tag: int) -> None:
        engine.compute(speed_flop_per_s)
        engine.send(0, 1, tag, Load(8))

    def start() -> None:
        nonlocal speed_flop_per_s
        speed_flop_per_s = engine.speed_flop_per_s()
        engine.add_timeline(Body(lambda: compute_and_send(1)))
        compute_and_send(0)

    def receive() -> None:
        sources = [engine.recv(0, 0, tag, Load(8)).source for tag in (1, 0)]
        assert sources == [0, 0]

    run(engine, start, receive)
    assert engine.finish_s()[1] == pytest.approx(2.0, rel=1e-3)


def test_a_rank_added_after_a_thread_has_a_timeline_of_another_number(engine: Engine) -> None:
    told: list[tuple[int, int, float]] = []

    def live(rank: int) -> None:
        if rank == 0:
            engine.add_timeline(Body(lambda: engine.sleep(1.0)))
            assert list(engine.add_ranks([0])) == [2]
        told.append((rank, engine.running_timeline, engine.clock_s()))
        engine.sleep(float(rank))

    engine.spawn(live)
    engine.run(lambda: None)
    assert sorted(told) == [(0, 0, 0.0), (1, 1, 0.0), (2, 3, 0.0)]
    assert (engine.first_timeline(1), engine.first_timeline(2)) == (1, 3)
    assert list(engine.finish_s()) == [1.0, 1.0, 2.0]
    assert engine.path(2)[0] == 0


def test_a_report_of_a_deadlock_knows_the_thread_and_what_it_waits_for(engine: Engine) -> None:
    def start() -> None:
        engine.add_timeline(Body(lambda: engine.recv(0, 1, 7, Load(8))))
        engine.park(inf, lambda: "join of worker")

    with pytest.raises(DeadlockError):
        run(engine, start, lambda: None)
    assert [(wait.rank, wait.thread, wait.kind, wait.call) for wait in engine.waiting()] == [
        (0, "", WaitKind.PARKED, "join of worker"),
        (0, "worker", WaitKind.RECV, "Recv"),
    ]
    assert isnan(engine.finish_s()[0])
    engine._greenlets[:] = [None] * 3  # they still wait, and are unwound in no world
