"""Ctrl-C and SIGTERM during a run: it stops at once, wherever a rank is."""

from __future__ import annotations

import signal
import threading
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from smpy.emulate.patches import Patches

if TYPE_CHECKING:
    from smpy.engine.engine import Engine


class Interrupts:
    """Turns the first signal into the engine's interruption; a second one has its usual effect.

    Parameters
    ----------
    engine : Engine
        What is interrupted.
    patches : Patches
        Where to note what to put back.

    Attributes
    ----------
    exit_code : int
        As shells say it: 128 and the number of the signal that came.
    """

    def __init__(self, engine: Engine, patches: Patches) -> None:
        self.exit_code = 128 + signal.SIGINT
        self._engine = engine
        if threading.current_thread() is not threading.main_thread():
            return  # signals are the main thread's
        for number in (signal.SIGINT, signal.SIGTERM):
            before: Any = signal.signal(number, self._on_signal)
            patches.later(partial(signal.signal, number, before))

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.exit_code = 128 + number
        signal.signal(number, signal.SIG_DFL)
        self._engine.interrupt()
