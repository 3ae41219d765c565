"""Code of a rank that runs beside its timeline, in a thread that it started or in a child process: whose, and when.

Its clock is real time, counted from the rank's date when it was first read, and never behind the rank's last known
date: what happens there takes no simulated time, but whoever waits for a date there must see it come.
"""

from __future__ import annotations

import os
import sys
import threading
from time import monotonic
from types import FrameType
from typing import Final

from smpy.errors import UsageError

_real_s: Final = monotonic  # `time`'s functions give simulated time while a program runs
OURS: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""Folder of smpy's own code, with a separator at its end."""
_LIBRARY: Final = os.path.dirname(threading.__file__) + os.sep
WAITS: Final = (f"{_LIBRARY}threading.py", f"{_LIBRARY}queue.py", f"{_LIBRARY}concurrent{os.sep}futures{os.sep}")
"""Files, and a folder, of Python's own code that waits for threads."""
PASSED_OVER: Final = (OURS, *WAITS)
"""Beginnings of the paths of code whose calls are its callers'."""


class _Beside(threading.local):
    rank = -1
    ahead_s = float("-inf")  # lead of its clock over the real one


_here: Final = _Beside()


def belong_to(rank: int) -> None:
    """Make the calling thread, or child process, this rank's from now on."""
    _here.rank = rank


def rank() -> int:
    """World rank that the calling thread, or child process, belongs to.

    Raises
    ------
    UsageError
        If it belongs to no rank.
    """
    if _here.rank < 0:
        raise UsageError(f"thread {threading.current_thread().name!r} was started by no rank: it has no part in MPI")
    return _here.rank


def date_s(known_s: float) -> float:
    """The caller's date in simulated time, given the last known date of its rank."""
    _here.ahead_s = max(_here.ahead_s, known_s - _real_s())
    return _here.ahead_s + _real_s()


def called_from() -> tuple[str, FrameType | None]:
    """The call that the program has made, by its name, and the frame in which it made it."""
    name, frame = "", sys._getframe(1)
    while frame.f_code.co_filename.startswith(OURS):
        name = frame.f_code.co_name
        if frame.f_back is None:
            return name.strip("_"), None
        frame = frame.f_back
    return name.strip("_"), frame


def waits_at(frame: FrameType | None) -> str:
    """The call by which a program waits for threads, as it would write it: `Event.wait()`, say."""
    call = "Lock.acquire"
    while frame is not None and frame.f_code.co_filename.startswith(PASSED_OVER):
        if frame.f_code.co_filename.startswith(WAITS):
            call = frame.f_code.co_qualname
        frame = frame.f_back
    return f"{call}()"
