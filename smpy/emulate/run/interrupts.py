"""Ctrl-C, SIGTERM and SIGHUP stop a run at once, whichever rank is running.

A rank that restores a signal's default action gets the same: the default would end the process without its record.
"""

from __future__ import annotations

import signal
import threading
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import rank_here

if TYPE_CHECKING:
    from smpy.emulate.modules.streams import Outlet
    from smpy.engine.engine import Engine

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU")  # some systems lack some of these
set_handler: Final = signal.signal
"""The real function: a run replaces it in its module."""

_DEFAULTS: Final = (signal.SIG_DFL, signal.default_int_handler)


class Interrupts:
    """Turns the first signal into the engine's interruption; a second one has its usual effect.

    Signals that the parent process ignores, as under `nohup`, stay ignored.

    Parameters
    ----------
    engine : Engine
        The engine to interrupt.
    outlets : tuple of Outlet
        Standard output and error: a write under way when a signal comes is completed, unless nobody reads it.
    patches : Patches
        Notes the replaced handlers, to put them back.

    Attributes
    ----------
    exit_code : int
        128 plus the number of the signal that came, as in shells; 0 if none did.
    """

    def __init__(self, engine: Engine, outlets: tuple[Outlet, Outlet], patches: Patches) -> None:
        self.exit_code = 0
        self._engine = engine
        self._outlets = outlets
        self._taken: list[signal.Signals] = []
        if threading.current_thread() is not threading.main_thread():
            return  # signals are the main thread's
        for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
            before: Any = signal.getsignal(number)
            if before not in (signal.SIG_IGN, None):
                set_handler(number, self._on_signal)
                patches.later(partial(set_handler, number, before))
                self._taken.append(number)
        patches.attribute(signal, "signal", self._signal)

    def _signal(self, signalnum: int, handler: Any) -> Any:
        """`signal.signal` on a rank."""
        state = rank_here()
        if state is not None and not state.is_child and signalnum in self._taken and handler in _DEFAULTS:
            handler = self._on_signal
        return set_handler(signalnum, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.exit_code = 128 + number
        for taken in self._taken:
            set_handler(taken, signal.SIG_DFL)
        out, err = self._outlets
        for outlet in self._outlets:
            outlet.hurry()
        out.when_done(partial(err.when_done, self._engine.interrupt))
