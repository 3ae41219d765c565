"""Ctrl-C as an exception, for commands that keep what they have when it comes."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """Have Ctrl-C raise KeyboardInterrupt: `smpy` begins without."""
    if callable(signal.getsignal(signal.SIGINT)):  # else it is ignored, as in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
