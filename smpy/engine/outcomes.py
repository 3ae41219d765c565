"""How a run ends before its time: what a rank hands to `Engine.stop`."""

from __future__ import annotations

from dataclasses import dataclass


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
