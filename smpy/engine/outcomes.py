"""Early ends of a run: objects that a rank passes to `Engine.stop`, or that its thread leaves."""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType


@dataclass(frozen=True, slots=True)
class Failed:
    """A rank's program raised an exception; `report` is the traceback for the user."""

    rank: int
    report: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A rank's program needs what its machine lacks; `reason` is the sentence for the user."""

    reason: str


@dataclass(frozen=True, slots=True)
class Aborted:
    """A rank called Abort."""

    rank: int
    code: int


@dataclass(frozen=True, slots=True)
class CalledInThread:
    """A thread of a rank made a call that only the rank itself may make; `frame` is the program's."""

    rank: int
    call: str
    thread: str
    frame: FrameType | None
