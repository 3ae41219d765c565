"""Waits for signals are refused: signals arrive in real time, at the one process that all ranks share."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import rank_here

_WAITS: Final = ("pause", "sigwait", "sigwaitinfo", "sigtimedwait")
_TIMERS: Final = {"alarm": 0, "setitimer": 1}  # and which argument is the time; 0 stops the timer


def install_signals(patches: Patches) -> None:
    """Refuse waits for signals on ranks until the patches are undone."""
    for name in (*_WAITS, *_TIMERS):
        if hasattr(signal, name):
            patches.attribute(signal, name, _refused(getattr(signal, name), _TIMERS.get(name)))


def _refused(real: Callable[..., Any], time_index: int | None) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        state = rank_here()
        stops = time_index is not None and len(args) > time_index and not args[time_index]
        if state is None or stops:
            return real(*args, **kwargs)
        raise NotImplementedError(
            f"rank {state.rank}: signal.{real.__name__} waits for a signal in real time, to the process that all ranks "
            "share: compare time.monotonic() with a date between two steps of the work instead"
        )

    return refuse
