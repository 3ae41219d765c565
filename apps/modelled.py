"""`smpy.kernel`, where smpy is installed: a function that says what it costs, for `smpy run --compute models`.

Under a real `mpiexec` such a function is what it was, with smpy or without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__smpy_shared__ = True

try:
    from smpy import kernel
except ImportError:

    def kernel(**costs: Any) -> Callable[[Any], Any]:
        """Decorate nothing."""
        return lambda function: function


__all__ = ["kernel"]
