"""Measured bursts share the memory of their host: closed forms, for the plain and the compiled clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from smpy.compute.clock import measured_clock as plain
from smpy.engine import _surface
from smpy.engine.engine import Engine
from smpy.platforms import place, read_machine
from tests.mpi.surface.surface_world import run

MEMORY_BYTES_PER_S = 8e9
MACHINE = "flat hosts=2 cores=4 speed=2Gf host.memory_bandwidth=8GB/s host.core_memory_bandwidth=8GB/s"
CLOCKS = [plain.MeasuredClock, _surface.Clock]


class ToldBursts:
    """Tells a time and bytes for each burst, however long it was."""

    def __init__(self, engine: Engine, seconds: float, moved_bytes: float) -> None:
        self._engine, self._told = engine, (seconds, moved_bytes)
        self.n_asked = 0

    def split(self, measured_s: float) -> tuple[float, float]:
        self.n_asked += 1
        self._engine.know_memory()
        return self._told


def compute_at_least(seconds: float) -> None:
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def ends_s(
    new_clock: Callable[..., Any], begins_s: list[float], moved_bytes: float, machine: str = MACHINE
) -> list[float]:
    """Dates at which bursts of one second end, a rank each, which begin at these dates."""
    platform = read_machine(machine, len(begins_s)).build()
    engine = Engine(platform, platform.models, place(platform, len(begins_s)))
    told = ToldBursts(engine, 1.0, moved_bytes)
    engine.clock = new_clock(engine, 0.0, None, None, told)
    ended_s = [0.0] * len(begins_s)

    def body(rank: int) -> Callable[[], None]:
        def compute() -> None:
            engine.sleep(begins_s[rank])
            engine.clock.start()
            compute_at_least(3 * plain.OBSERVED_S)
            engine.clock.stop()
            ended_s[rank] = engine.clock_s()

        return compute

    run(*map(body, range(len(begins_s))), engine=engine)
    assert told.n_asked == len(begins_s)
    return ended_s


@pytest.mark.parametrize("new_clock", CLOCKS)
def test_a_burst_alone_takes_its_time_whatever_it_moves(new_clock: Callable[..., Any]):
    for part in (0.0, 0.5, 1.0):
        assert ends_s(new_clock, [0.0], part * MEMORY_BYTES_PER_S) == pytest.approx([1.0], rel=1e-9)


@pytest.mark.parametrize("new_clock", CLOCKS)
@pytest.mark.parametrize("n_ranks", [2, 3, 4])
@pytest.mark.parametrize("part", [0.25, 0.5, 1.0])
def test_bursts_that_want_more_than_the_memory_has_take_as_many_times_longer(
    new_clock: Callable[..., Any], n_ranks: int, part: float
):
    longer = max(1.0, n_ranks * part)
    ended_s = ends_s(new_clock, [0.0] * n_ranks, part * MEMORY_BYTES_PER_S)
    assert ended_s == pytest.approx([longer] * n_ranks, rel=1e-9)


@pytest.mark.parametrize("new_clock", CLOCKS)
@pytest.mark.parametrize("apart_s", [0.25, 0.5, 0.75, 1.0, 3.0])
def test_bursts_slow_each_other_down_only_while_both_compute(new_clock: Callable[..., Any], apart_s: float):
    ended_s = ends_s(new_clock, [0.0, apart_s], MEMORY_BYTES_PER_S)
    assert ended_s == pytest.approx([max(2 - apart_s, 1), max(2, 1 + apart_s)], rel=1e-9)


@pytest.mark.parametrize("new_clock", CLOCKS)
def test_bursts_on_different_hosts_share_nothing(new_clock: Callable[..., Any]):
    one_core = MACHINE.replace("cores=4", "cores=1")
    assert ends_s(new_clock, [0.0, 0.0], MEMORY_BYTES_PER_S, one_core) == pytest.approx([1.0, 1.0], rel=1e-9)


@pytest.mark.parametrize("new_clock", CLOCKS)
def test_bytes_take_no_time_where_no_bandwidth_is_known(new_clock: Callable[..., Any]):
    unknown = MACHINE.partition(" host.")[0]
    assert ends_s(new_clock, [0.0, 0.0], MEMORY_BYTES_PER_S, unknown) == pytest.approx([1.0, 1.0], rel=1e-9)


@pytest.mark.parametrize("new_clock", CLOCKS)
def test_short_bursts_move_nothing_and_are_not_asked_about(new_clock: Callable[..., Any]):
    platform = read_machine(MACHINE, 1).build()
    engine = Engine(platform, platform.models, [0])
    told = ToldBursts(engine, 1.0, 1e9)
    engine.clock = new_clock(engine, 0.0, None, None, told)

    def body() -> None:
        engine.clock.start()
        engine.clock.stop()

    run(body, engine=engine)
    assert not told.n_asked


def test_the_call_raises_an_error_of_who_tells_the_bytes():
    platform = read_machine(MACHINE, 1).build()
    engine = Engine(platform, platform.models, [0])
    told = ToldBursts(engine, 1.0, 1e9)
    told.split = lambda measured_s: (measured_s,)
    engine.clock = _surface.Clock(engine, 0.0, None, None, told)

    def body() -> None:
        engine.clock.start()
        compute_at_least(3 * plain.OBSERVED_S)
        with pytest.raises(TypeError):
            engine.clock.stop()

    run(body, engine=engine)
