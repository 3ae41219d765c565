"""A clock that passes when a program says so: `import planted_clock; planted_clock.advance(0.5)`."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from smpy.compute.clock import measured_clock
from smpy.emulate.run import run


def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the runs of a test measure this clock."""
    now_s = 100.0

    def advance(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    module = ModuleType("planted_clock")
    module.advance = advance
    monkeypatch.setitem(sys.modules, "planted_clock", module)
    monkeypatch.setattr(measured_clock, "_monotonic_s", lambda: now_s)
    monkeypatch.setattr(measured_clock, "_processor_s", lambda: now_s)
    monkeypatch.setattr(run, "new_clock", measured_clock.MeasuredClock)
