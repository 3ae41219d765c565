"""Computing that says what it costs, where smpy is installed: `smpy.kernel`, and a given number of seconds.

Under a real `mpiexec` a kernel is the function that it was, with smpy or without, and seconds are spent.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

__smpy_shared__ = True

try:
    from smpy import inject_seconds, is_simulated, kernel
except ImportError:

    def is_simulated() -> bool:
        """Tell that the run is real."""
        return False

    def inject_seconds(seconds: float) -> None:
        """Do nothing, as outside a simulated run."""

    def kernel(**costs: Any) -> Callable[[Any], Any]:
        """Decorate nothing."""
        return lambda function: function


def spend_seconds(seconds: float) -> None:
    """Compute for so long: simulated, or real."""
    if is_simulated():
        inject_seconds(seconds)
        return
    until_s = process_time() + seconds
    while process_time() < until_s:
        pass


__all__ = ["kernel", "spend_seconds"]
