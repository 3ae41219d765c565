"""Ctrl-C as an exception, for commands that keep their results when interrupted."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """Make Ctrl-C raise KeyboardInterrupt, in place of the handler that `smpy` sets at its start."""
    if callable(signal.getsignal(signal.SIGINT)):  # not ignored, as it is in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
