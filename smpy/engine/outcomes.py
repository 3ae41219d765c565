"""Early ends of a run: objects that a rank passes to `Engine.stop`, or that its thread leaves."""

from __future__ import annotations

from types import FrameType
from typing import NamedTuple


class Failed(NamedTuple):
    """A rank's program raised an exception; `report` is the traceback for the user."""

    rank: int
    report: str


class Refused(NamedTuple):
    """A rank's program needs what its machine lacks; `reason` is the sentence for the user."""

    reason: str


class Aborted(NamedTuple):
    """A rank called Abort."""

    rank: int
    code: int


class CalledInThread(NamedTuple):
    """A thread of a rank made a call that only the rank itself may make; `frame` is the program's."""

    rank: int
    call: str
    thread: str
    frame: FrameType | None
