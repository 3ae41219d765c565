"""Early ends of a run: objects that a rank hands to `Engine.stop`, or its thread leaves."""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType


@dataclass(frozen=True, slots=True)
class Failed:
    """A rank's program raised; `report` is its traceback as the user should read it."""

    rank: int
    report: str


@dataclass(frozen=True, slots=True)
class Aborted:
    """A rank called Abort."""

    rank: int
    code: int


@dataclass(frozen=True, slots=True)
class CalledInThread:
    """A thread that a rank started made a call that only the rank itself can make; `frame` is the program's."""

    rank: int
    call: str
    thread: str
    frame: FrameType | None
