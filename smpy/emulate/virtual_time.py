"""The functions of `time` on a rank: they tell simulated time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, running
from smpy.engine.running import mpi_call

EPOCH_S: Final = 1_600_000_000
"""`time.time()` where simulated time begins: 2020-09-13 12:26:40 UTC, in every run the same."""


def install_time(patches: Patches) -> None:
    """Give ranks simulated time until the patches are undone; whoever is no rank keeps the real one."""
    origins_s = {"time": EPOCH_S, "monotonic": 0, "perf_counter": 0, "process_time": 0, "thread_time": 0}
    for name, origin_s in origins_s.items():
        patches.attribute(time, name, _clock(getattr(time, name), origin_s))
        patches.attribute(time, f"{name}_ns", _clock_ns(getattr(time, f"{name}_ns"), origin_s))
    patches.attribute(time, "sleep", _sleeper(time.sleep))
    for name in ("gmtime", "localtime", "ctime"):
        patches.attribute(time, name, _of_now(getattr(time, name)))
    patches.attribute(time, "asctime", _of_local_now(time.asctime, 0))
    patches.attribute(time, "strftime", _of_local_now(time.strftime, 1))


@mpi_call
def _read_s(state: RankState) -> float:
    """The rank's date; as with MPI_Wtime a look takes simulated time, so that waiting for a date ends."""
    return state.engine.wtime()


@mpi_call
def _sleep_s(state: RankState, duration_s: float) -> None:
    state.engine.sleep(duration_s)


def _clock(real: Callable[[], float], origin_s: int) -> Callable[[], float]:
    def clock() -> float:
        state = running()
        return real() if state is None else origin_s + _read_s(state)

    return _as(real, clock)


def _clock_ns(real: Callable[[], int], origin_s: int) -> Callable[[], int]:
    def clock_ns() -> int:
        state = running()
        return real() if state is None else origin_s * 10**9 + round(_read_s(state) * 1e9)

    return _as(real, clock_ns)


def _sleeper(real: Callable[[float], None]) -> Callable[[float], None]:
    def sleep(seconds: float, /) -> None:
        state = running()
        if state is None:
            real(seconds)
        elif not seconds >= 0:
            raise ValueError("sleep length must be non-negative")
        else:
            _sleep_s(state, float(seconds))

    return _as(real, sleep)


def _of_now(real: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a date that takes the present one by default."""

    def function(seconds: float | None = None, /) -> Any:
        if seconds is None and running() is not None:
            seconds = time.time()
        return real(seconds)

    return _as(real, function)


def _of_local_now(real: Callable[..., Any], n_before: int) -> Callable[..., Any]:
    """A function of a broken-down local date, its last argument, that takes the present one by default."""

    def function(*args: Any) -> Any:
        if len(args) == n_before and running() is not None:
            args = (*args, time.localtime())
        return real(*args)

    return _as(real, function)


def _as(real: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Under the name and with the documentation of what it replaces."""
    function.__name__ = function.__qualname__ = real.__name__
    function.__doc__ = real.__doc__
    return function
