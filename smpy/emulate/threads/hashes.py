"""Reproducible hashes of threads and futures, which the standard library keeps in sets.

By default, hashes are memory addresses, so the order of a set differs between runs. An executor would join its
threads, and `as_completed` yield futures, in another order each time.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import running

_numbers: Final = itertools.count(1)
_NAME: Final = "_smpy_number"


def number_objects(patches: Patches, kind: Any) -> None:
    """Number the objects of a class that ranks make, in order of creation, and use the number as hash."""
    real, first = kind.__init__, next(_numbers)

    @functools.wraps(real)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if running() is not None:
            vars(self)[_NAME] = next(_numbers) - first
        real(self, *args, **kwargs)

    def hash_(self: Any) -> int:
        number: int | None = vars(self).get(_NAME)
        return object.__hash__(self) if number is None else number

    patches.attribute(kind, "__init__", init)
    patches.attribute(kind, "__hash__", hash_)
