"""Folded arrays in the memory of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import finalize

from smpy.engine.running import current, is_running
from smpy.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

_HALF, _SINGLE, _DOUBLE = 16, 32, 64
_BITS_OF_BYTES: Final = {1: _HALF, 2: _HALF, 4: _SINGLE}


def bits_on_device(arguments: Any) -> int | None:
    """Bits of the numbers of the first array on a device among arguments; None: none is.

    Raises
    ------
    UsageError
        If arrays of a device and folded arrays of the host are mixed.
    """
    if not is_running() or not current().devices:
        return None
    arrays = list(_folded_in(arguments))
    there = [array for array in arrays if array.device == "gpu"]
    if not there:
        return None
    if len(there) < len(arrays):
        raise UsageError(
            "an operation on arrays of a device and of the host: copy them to one of the two (to_device) before"
        )
    return bits(there[0].dtype)


def bits(dtype: np.dtype[Any]) -> int:
    """Bits of the real numbers of an element."""
    return _BITS_OF_BYTES.get(dtype.itemsize // (2 if dtype.kind == "c" else 1), _DOUBLE)


def _folded_in(arguments: Any) -> Iterable[Any]:
    if getattr(arguments, "__smpy_folded__", False):
        yield arguments
    elif isinstance(arguments, dict):
        for each in arguments.values():
            yield from _folded_in(each)
    elif isinstance(arguments, (tuple, list)):
        for each in arguments:
            yield from _folded_in(each)


def keep_on_device(element: NDArray[Any], nbytes: int) -> None:
    """Take memory of the running rank's device for as long as the element of a folded array lives."""
    engine = current()
    number = engine.take_device_memory(nbytes)
    finalize(element, engine.free_device_memory, number, nbytes).atexit = False
