"""Tells the kernel which call the program makes, in which line, where the compiled surface is not there to do it."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from smpy.engine.kernel import lib


class CallSites:
    """The call sites of one world, numbered.

    Parameters
    ----------
    sim : object
        The world of the kernel.
    call_numbers : dict of str to int
        Names of calls, and their numbers; others are added.
    """

    def __init__(self, sim: Any, call_numbers: dict[str, int]) -> None:
        self._sim = sim
        self._call_numbers = call_numbers
        self._line_numbers: dict[tuple[str, int], int] = {("", 0): 0}

    def begin_call(self, name: str, arguments: tuple[Any, ...]) -> bool:
        """Whether the running rank's call of this name has begun; then, it will end."""
        timeline = lib.sim_running(self._sim)
        if timeline < 0:
            return False
        call = self._call_numbers.setdefault(name, len(self._call_numbers))
        comm = getattr(arguments[0], "_kernel_comm", -1) if arguments else -1
        lib.sim_begin_call(self._sim, timeline, call, self._line(sys._getframe(1)), comm)
        return True

    def end_call(self) -> None:
        """The call that has begun is over."""
        lib.sim_end_call(self._sim, lib.sim_running(self._sim))

    def line_at(self, number: int) -> tuple[str, int]:
        """The file and line that have a number."""
        return next(place for place, known in self._line_numbers.items() if known == number)

    def _line(self, frame: FrameType | None) -> int:
        while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("smpy."):
            frame = frame.f_back
        place = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        return self._line_numbers.setdefault(place, len(self._line_numbers))
