"""The compute clock, compiled and plain: what is the rank's computing and what is not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from smpy.compute.clock import Clock
from smpy.engine import _surface
from smpy.engine.engine import Engine
from tests.mpi.surface.surface_world import WORLD, new_engine, run

BURST_S = 0.02
FLOP_PER_S = 1e9


def burn(seconds: float = BURST_S) -> None:
    """Compute for a while."""
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def charged_s(body: Callable[[Any], None], new_clock: Callable[[Engine, float], Any] = _surface.Clock) -> float:
    """Computing time charged to a rank that runs `body`, in seconds of this machine."""
    engine = new_engine(1)
    clock = new_clock(engine, FLOP_PER_S)

    def whole() -> None:
        clock.start()
        body(clock)
        clock.stop()

    run(whole, engine=engine)
    assert not clock.stop()
    flop_per_s = engine.platform.speed_flop_per_s(0)
    return engine.spent_s().computing * flop_per_s / FLOP_PER_S


CLOCKS = pytest.mark.parametrize("new_clock", [_surface.Clock, Clock], ids=["compiled", "plain"])


def test_a_burst_is_charged_with_its_processor_time() -> None:
    assert charged_s(lambda clock: burn()) == pytest.approx(BURST_S, rel=0.2)


@CLOCKS
def test_time_the_thread_did_not_run_is_not_charged(new_clock: Callable[[Engine, float], Any]) -> None:
    assert charged_s(lambda clock: time.sleep(BURST_S), new_clock) < BURST_S / 10


@CLOCKS
def test_short_bursts_are_nothing(new_clock: Callable[[Engine, float], Any]) -> None:
    def body(clock: Any) -> None:
        for _ in range(100):
            clock.stop()
            clock.start()

    assert charged_s(body, new_clock) < 100e-6


@CLOCKS
def test_the_clock_is_not_that_of_another_thread(new_clock: Callable[[Engine, float], Any]) -> None:
    def body(clock: Any) -> None:
        told: list[object] = []

        def use() -> None:
            told.extend([clock.stop(), clock.pause()])
            clock.start()

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert told == [False, -1.0]
        burn()

    assert charged_s(body, new_clock) == pytest.approx(BURST_S, rel=0.2)


def test_a_pause_is_a_hole_in_a_burst() -> None:
    def body(clock: Any) -> None:
        burn()
        mark_s = clock.pause()
        burn(3 * BURST_S)
        time.sleep(BURST_S)
        clock.resume(mark_s)
        burn()

    assert charged_s(body) == pytest.approx(2 * BURST_S, rel=0.2)


@CLOCKS
def test_a_mark_tells_what_it_will_be_charged_with(new_clock: Callable[[Engine, float], Any]) -> None:
    told_s = []

    def body(clock: Any) -> None:
        burn()
        mark_s = clock.pause()
        told_s.append(clock.charge_s(mark_s))
        assert clock.charge_s(0.5e-6) == 0
        assert clock.charge_s(-1.0) == 0
        clock.resume(mark_s)

    here_s = charged_s(body, new_clock)
    assert told_s[0] == pytest.approx(here_s * FLOP_PER_S / new_engine(1).platform.speed_flop_per_s(0), rel=0.2)


def test_short_bursts_between_pauses_add_up() -> None:
    def body(clock: Any) -> None:
        for _ in range(10_000):
            clock.resume(clock.pause())

    assert charged_s(body) > 100e-6


@CLOCKS
def test_only_who_stopped_the_clock_learns_so(new_clock: Callable[[Engine, float], Any]) -> None:
    def body(clock: Any) -> None:
        assert clock.stop()
        assert not clock.stop()
        burn()
        clock.start()

    assert charged_s(body, new_clock) < BURST_S / 10


def test_calls_in_a_pause_leave_the_clock_alone() -> None:
    def body(clock: Any) -> None:
        mark_s = clock.pause()
        burn()
        WORLD.Isend(b"", 0)
        burn(3 * BURST_S)
        assert clock.pause() < 0
        clock.resume(clock.pause())
        clock.resume(mark_s)
        burn()

    assert charged_s(body) == pytest.approx(BURST_S, rel=0.2)


def test_calls_and_what_happens_in_them_are_not_charged_and_the_clock_runs_on_after_them() -> None:
    engine = new_engine(2)
    clock = _surface.Clock(engine, FLOP_PER_S)

    def receiver() -> None:
        clock.start()
        WORLD.Recv(bytearray(1), 1)
        burn()
        clock.stop()

    def sender() -> None:
        clock.start()
        engine.note(burn)
        WORLD.Send(b"x", 0)
        burn(2 * BURST_S)
        WORLD.Send(b"x", -2)  # handed over: the general method finds the clock stopped
        assert clock.stop()

    run(receiver, sender, engine=engine)
    flop_per_s = engine.platform.speed_flop_per_s(0)
    charged_s = engine.spent_s().computing * flop_per_s / FLOP_PER_S
    assert charged_s == pytest.approx(3 * BURST_S, rel=0.2)


def test_without_a_clock_nothing_is_charged() -> None:
    engine = new_engine(1)

    def body() -> None:
        burn()
        WORLD.Isend(b"", 0)

    run(body, engine=engine)
    assert engine.spent_s().computing == 0


def test_the_marks_of_a_pause_are_numbers() -> None:
    with pytest.raises(TypeError):
        _surface.Clock(new_engine(1), FLOP_PER_S).resume("later")
    with pytest.raises(TypeError):
        _surface.Clock()


def test_a_clock_of_another_world_does_not_touch_the_running_one() -> None:
    old = [_surface.Clock(new_engine(1), 1.0)]

    def body(clock: Any) -> None:
        burn(BURST_S / 2)
        old[0] = _surface.Clock(new_engine(1), 2.0)
        old.clear()
        burn(BURST_S / 2)

    assert charged_s(body) == pytest.approx(BURST_S, rel=0.2)
