"""The functions of module `time` on a rank: they return simulated time.

The program's own code reads the exact date of its rank; other ranks may run first, until that date is known. Shared
code reads the earliest date that the rank can have, and no other rank runs meanwhile: the library may hold a lock,
and all ranks share one thread. Each reading costs simulated time, so that a loop that waits for a date ends.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from math import isinf
from types import FrameType
from typing import Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.process.randomness import SEED
from smpy.emulate.ranks import RankState, running
from smpy.engine.running import named_call

EPOCH_S: Final = 1_600_000_000
"""`time.time()` at simulated time 0: 2020-09-13 12:26:40 UTC, in every run."""
_SHORTEST_S: Final = 1e-6  # simulated time of a sleep of 0, by which a thread yields: a loop of such sleeps ends
_ORIGIN_OF_CLOCK_S: Final = {time.CLOCK_REALTIME: EPOCH_S}  # the other clocks start at 0


def install_time(patches: Patches) -> None:
    """Give ranks simulated time until the patches are undone; code outside the ranks keeps real time.

    A rank's thread sleeps in real time, and reads it (`smpy.engine.thread_ranks`).
    """
    origins_s = {"time": EPOCH_S, "monotonic": 0, "perf_counter": 0, "process_time": 0, "thread_time": 0}
    for name, origin_s in origins_s.items():
        patches.attribute(time, name, _clock(getattr(time, name), origin_s))
        patches.attribute(time, f"{name}_ns", _clock_ns(getattr(time, f"{name}_ns"), origin_s))
    patches.attribute(time, "clock_gettime", _chosen_clock(time.clock_gettime, _seconds))
    patches.attribute(time, "clock_gettime_ns", _chosen_clock(time.clock_gettime_ns, _nanoseconds))
    patches.attribute(os, "times", _times(os.times))
    patches.attribute(time, "sleep", _sleeper(time.sleep))
    for name in ("gmtime", "localtime", "ctime"):
        patches.attribute(time, name, _of_now(getattr(time, name)))
    patches.attribute(time, "asctime", _of_local_now(time.asctime, 0))
    patches.attribute(time, "strftime", _of_local_now(time.strftime, 1))


def install_uuid_time(patches: Patches) -> None:
    """Make `uuid.uuid1` use simulated dates and hosts; `uuid` has been imported."""
    uuid: Any = sys.modules["uuid"]
    real_getnode, real_generate = uuid.getnode, uuid._generate_time_safe  # the latter of the system, or None

    def getnode() -> int:
        state = running()
        return real_getnode() if state is None else _node(state)

    def generate_time_safe() -> tuple[bytes, int | None]:
        state = running()
        if state is None:
            return real_generate()  # type: ignore[no-any-return]
        uuid._last_timestamp = state.last_uuid_time  # else it would be that of the rank that asked last
        number: bytes = uuid.uuid1(_node(state), int.from_bytes(os.urandom(2)) >> 2).bytes
        state.last_uuid_time = uuid._last_timestamp
        return number, None

    patches.attribute(uuid, "getnode", getnode)
    if real_generate is not None:
        patches.attribute(uuid, "_generate_time_safe", generate_time_safe)


def _node(state: RankState) -> int:
    """Node number of 48 bits for the rank's host; the multicast bit marks it as no hardware address."""
    return random.Random(f"{SEED} node {state.engine.host_name(state.rank)}").getrandbits(48) | 1 << 40


def look_s(state: RankState, caller: FrameType) -> float:
    """Date of the running rank, as precisely as the code in `caller` may know it."""
    name = caller.f_globals.get("__name__")
    is_shared = name not in state.modules and name in sys.modules
    return state.engine.earliest_clock_s() if is_shared and state.engine.is_here() else _exact_date_s(state)


@named_call("time")
def _exact_date_s(state: RankState) -> float:
    return state.engine.wtime()


@named_call("sleep")
def sleep_s(state: RankState, duration_s: float) -> None:
    """Advance simulated time for the running rank, or for its running thread."""
    engine = state.engine
    if state.n_threads:  # others act while this one sleeps
        engine.sleep_now(max(duration_s, _SHORTEST_S))
        if duration_s <= _SHORTEST_S:
            engine.note_idle_look()
    else:
        engine.sleep(duration_s)


def _seconds(origin_s: int, date_s: float) -> float:
    return origin_s + date_s


def _nanoseconds(origin_s: int, date_s: float) -> int:
    return origin_s * 10**9 + round(date_s * 1e9)


def _clock(real: Callable[[], float], origin_s: int) -> Callable[[], float]:
    def clock() -> float:
        state = running()
        return real() if state is None else origin_s + look_s(state, sys._getframe(1))

    return clock


def _clock_ns(real: Callable[[], int], origin_s: int) -> Callable[[], int]:
    def clock_ns() -> int:
        state = running()
        return real() if state is None else _nanoseconds(origin_s, look_s(state, sys._getframe(1)))

    return clock_ns


def _chosen_clock(real: Callable[[int], Any], tell: Callable[[int, float], Any]) -> Callable[[int], Any]:
    def clock_gettime(clk_id: int, /) -> Any:
        state = running()
        resolution_s = real(clk_id)  # refuses numbers that name no clock
        return (
            resolution_s if state is None else tell(_ORIGIN_OF_CLOCK_S.get(clk_id, 0), look_s(state, sys._getframe(1)))
        )

    return clock_gettime


def _times(real: Callable[[], Any]) -> Callable[[], Any]:
    def times() -> Any:
        state = running()
        if state is None:
            return real()
        now_s = look_s(state, sys._getframe(1))
        return type(real())((now_s, 0.0, 0.0, 0.0, now_s))

    return times


def _sleeper(real: Callable[[float], None]) -> Callable[[float], None]:
    def sleep(seconds: float, /) -> None:
        state = running()
        if state is None or not state.engine.is_here():
            real(seconds)
        elif not seconds >= 0:
            raise ValueError("sleep length must be non-negative")
        elif isinf(seconds):
            raise OverflowError("timestamp too large to convert to C PyTime_t")
        else:
            sleep_s(state, float(seconds))

    return sleep


def _of_now(real: Callable[..., Any]) -> Callable[..., Any]:
    """Function of a date that defaults to the present."""

    def function(seconds: float | None = None, /) -> Any:
        state = running()
        if seconds is None and state is not None:
            seconds = EPOCH_S + look_s(state, sys._getframe(1))
        return real(seconds)

    return function


def _of_local_now(real: Callable[..., Any], n_before: int) -> Callable[..., Any]:
    """Function of a broken-down local date, its last argument, that defaults to the present."""
    broken_down = time.localtime

    def function(*args: Any) -> Any:
        state = running()
        if len(args) == n_before and state is not None:
            args = (*args, broken_down(EPOCH_S + look_s(state, sys._getframe(1))))
        return real(*args)

    return function
