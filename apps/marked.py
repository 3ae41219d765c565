"""`smpy.iterations`, where smpy is installed: a loop whose iterations `smpy run --iterations skip` need not all make.

Under a real `mpiexec` such a loop is what it was, with smpy or without.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

__smpy_shared__ = True

T = TypeVar("T")

try:
    from smpy import iterations
except ImportError:

    def iterations(
        name: str, iterable: Collection[T], *, comm: Any = None, periods: Collection[int] = ()
    ) -> Iterable[T]:
        """Mark nothing."""
        return iterable


__all__ = ["iterations"]
