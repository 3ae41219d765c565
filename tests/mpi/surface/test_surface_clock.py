"""The compute clock, plain and compiled: what is the rank's computing and what is not.

The plain clock is given fake time and judged exactly. The compiled one reads the machine's: its tests are `timed`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from smpy.compute.clock import measured_clock as plain
from smpy.engine import _surface
from smpy.engine.engine import Engine
from tests.mpi.surface.surface_world import WORLD, new_engine, run

BURST_S = 0.02
FLOP_PER_S = 1e9


@dataclass(slots=True)
class FakeTime:
    """Passes when it is told to."""

    now_s: float = 1000.0
    processor_s: float = 1.0
    tolerance: float = 1e-6

    def compute(self, seconds: float = BURST_S) -> None:
        self.now_s += seconds
        self.processor_s += seconds

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class RealTime:
    """Time of this machine, by the thread's processor clock."""

    tolerance = 0.2

    def compute(self, seconds: float = BURST_S) -> None:
        end_s = time.thread_time() + seconds
        while time.thread_time() < end_s:
            pass

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


REAL_TIME = RealTime()


@dataclass(frozen=True, slots=True)
class Measured:
    """One of the two clocks, and the time that it reads."""

    new_clock: Callable[[Engine, float], Any]
    time: FakeTime | RealTime

    def charged_s(self, body: Callable[[Any], None]) -> float:
        """Computing time charged to a rank that runs `body`, in seconds of this machine."""
        engine = new_engine(1)
        clock = self.new_clock(engine, FLOP_PER_S)

        def whole() -> None:
            clock.start()
            body(clock)
            clock.stop()

        run(whole, engine=engine)
        assert not clock.stop()
        flop_per_s = engine.platform.speed_flop_per_s(0)
        return engine.spent_s().computing * flop_per_s / FLOP_PER_S

    def about(self, seconds: float) -> Any:
        """Equal to that, as far as the time can tell."""
        return pytest.approx(seconds, rel=self.time.tolerance)


COMPILED = Measured(_surface.Clock, REAL_TIME)


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """The plain clock."""
    fake = FakeTime()
    monkeypatch.setattr(plain, "_monotonic_s", lambda: fake.now_s)
    monkeypatch.setattr(plain, "_processor_s", lambda: fake.processor_s)
    return Measured(plain.MeasuredClock, fake)


@pytest.fixture(params=["plain", pytest.param("compiled", marks=pytest.mark.timed)])
def measured(request: pytest.FixtureRequest, faked: Measured) -> Measured:
    """Each of the two."""
    return faked if request.param == "plain" else COMPILED


def test_a_burst_is_charged_with_its_processor_time(measured: Measured) -> None:
    def body(clock: Any) -> None:
        measured.time.compute(BURST_S / 2)
        measured.time.sleep(BURST_S)
        measured.time.compute(BURST_S / 2)

    assert measured.charged_s(body) == measured.about(BURST_S)


def test_time_the_thread_did_not_run_is_not_charged(measured: Measured) -> None:
    assert measured.charged_s(lambda clock: measured.time.sleep(BURST_S)) < BURST_S / 10


def test_short_bursts_are_nothing(measured: Measured) -> None:
    def body(clock: Any) -> None:
        for _ in range(100):
            clock.stop()
            clock.start()

    assert measured.charged_s(body) < 100e-6


def test_only_a_burst_below_the_threshold_is_short(faked: Measured) -> None:
    assert faked.charged_s(lambda clock: faked.time.compute(0.9 * plain.THRESHOLD_S)) == 0
    assert faked.charged_s(lambda clock: faked.time.compute(1.1 * plain.THRESHOLD_S)) > plain.THRESHOLD_S


@pytest.mark.parametrize("reading", range(6))
def test_a_rank_preempted_while_its_clock_starts_loses_no_burst(
    faked: Measured, monkeypatch: pytest.MonkeyPatch, reading: int
) -> None:
    """The thread does not run for 0.1 s before one of the readings of a clock that starts."""
    left = -1
    readings = {name: getattr(plain, name) for name in ("_monotonic_s", "_processor_s")}

    def read_after_preemption(name: str) -> float:
        nonlocal left
        if left == 0:
            faked.time.sleep(0.1)
        left -= 1
        return readings[name]()

    for name in readings:
        monkeypatch.setattr(plain, name, lambda name=name: read_after_preemption(name))

    def body(clock: Any) -> None:
        nonlocal left
        clock.stop()
        faked.time.sleep(1.0)
        left = reading
        clock.start()
        left = -1
        faked.time.compute()

    assert faked.charged_s(body) == faked.about(BURST_S)


def test_the_clock_is_not_that_of_another_thread(measured: Measured) -> None:
    def body(clock: Any) -> None:
        told: list[object] = []

        def use() -> None:
            told.extend([clock.stop(), clock.pause()])
            clock.start()

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert told == [False, -1.0]
        measured.time.compute()

    assert measured.charged_s(body) == measured.about(BURST_S)


def test_a_pause_is_a_hole_in_a_burst(measured: Measured) -> None:
    def body(clock: Any) -> None:
        measured.time.compute()
        mark_s = clock.pause()
        measured.time.compute(3 * BURST_S)
        measured.time.sleep(BURST_S)
        clock.resume(mark_s)
        measured.time.compute()

    assert measured.charged_s(body) == measured.about(2 * BURST_S)


def test_a_mark_tells_what_it_will_be_charged_with(measured: Measured) -> None:
    told_s = []

    def body(clock: Any) -> None:
        measured.time.compute()
        mark_s = clock.pause()
        told_s.append(clock.charge_s(mark_s))
        assert clock.charge_s(0.5e-6) == 0
        assert clock.charge_s(-1.0) == 0
        clock.resume(mark_s)

    here_s = measured.charged_s(body)
    assert told_s[0] == measured.about(here_s * FLOP_PER_S / new_engine(1).platform.speed_flop_per_s(0))


def test_short_bursts_between_pauses_add_up(measured: Measured) -> None:
    def body(clock: Any) -> None:
        for _ in range(10_000):
            measured.time.compute(0.1e-6)
            clock.resume(clock.pause())

    assert measured.charged_s(body) > 100e-6


def test_only_who_stopped_the_clock_learns_so(measured: Measured) -> None:
    def body(clock: Any) -> None:
        assert clock.stop()
        assert not clock.stop()
        measured.time.compute()
        clock.start()

    assert measured.charged_s(body) < BURST_S / 10


@pytest.mark.timed
def test_calls_in_a_pause_leave_the_clock_alone() -> None:
    def body(clock: Any) -> None:
        mark_s = clock.pause()
        REAL_TIME.compute()
        WORLD.Isend(b"", 0)
        REAL_TIME.compute(3 * BURST_S)
        assert clock.pause() < 0
        clock.resume(clock.pause())
        clock.resume(mark_s)
        REAL_TIME.compute()

    assert COMPILED.charged_s(body) == COMPILED.about(BURST_S)


@pytest.mark.timed
def test_calls_and_what_happens_in_them_are_not_charged_and_the_clock_runs_on_after_them() -> None:
    engine = new_engine(2)
    clock = _surface.Clock(engine, FLOP_PER_S)

    def receiver() -> None:
        clock.start()
        WORLD.Recv(bytearray(1), 1)
        REAL_TIME.compute()
        clock.stop()

    def sender() -> None:
        clock.start()
        engine.note(REAL_TIME.compute)
        WORLD.Send(b"x", 0)
        REAL_TIME.compute(2 * BURST_S)
        WORLD.Send(b"x", -2)  # handed over: the general method finds the clock stopped
        assert clock.stop()

    run(receiver, sender, engine=engine)
    flop_per_s = engine.platform.speed_flop_per_s(0)
    charged_s = engine.spent_s().computing * flop_per_s / FLOP_PER_S
    assert charged_s == COMPILED.about(3 * BURST_S)


def test_without_a_clock_nothing_is_charged() -> None:
    engine = new_engine(1)

    def body() -> None:
        REAL_TIME.compute()
        WORLD.Isend(b"", 0)

    run(body, engine=engine)
    assert engine.spent_s().computing == 0


@pytest.mark.parametrize(
    ("new_clock", "is_faked"),
    [(plain.MeasuredClock, True), pytest.param(_surface.Clock, False, marks=pytest.mark.timed)],
)
def test_the_observer_is_told_of_bursts_that_are_not_short(
    faked: Measured, new_clock: Callable[..., Any], is_faked: bool
) -> None:
    engine, told_s = new_engine(1), []
    clock = new_clock(engine, FLOP_PER_S, None, told_s.append)
    measured = Measured(new_clock, faked.time if is_faked else REAL_TIME)

    def body() -> None:
        for _ in range(10):
            clock.start()
            clock.stop()
        clock.start()
        measured.time.compute(BURST_S)
        clock.stop()

    run(body, engine=engine)
    assert len(told_s) == 1
    assert told_s[0] == measured.about(BURST_S)


def test_the_call_raises_an_error_of_the_observer(faked: Measured) -> None:
    engine = new_engine(1)

    def observe(seconds: float) -> None:
        raise ZeroDivisionError

    def body() -> None:
        clock.start()
        REAL_TIME.compute()
        with pytest.raises(ZeroDivisionError):
            clock.stop()

    clock = _surface.Clock(engine, FLOP_PER_S, None, observe)
    run(body, engine=engine)


def test_the_marks_of_a_pause_are_numbers() -> None:
    with pytest.raises(TypeError):
        _surface.Clock(new_engine(1), FLOP_PER_S).resume("later")
    with pytest.raises(TypeError):
        _surface.Clock()


@pytest.mark.timed
def test_a_clock_of_another_world_does_not_touch_the_running_one() -> None:
    old = [_surface.Clock(new_engine(1), 1.0)]

    def body(clock: Any) -> None:
        REAL_TIME.compute(BURST_S / 2)
        old[0] = _surface.Clock(new_engine(1), 2.0)
        old.clear()
        REAL_TIME.compute(BURST_S / 2)

    assert COMPILED.charged_s(body) == COMPILED.about(BURST_S)
