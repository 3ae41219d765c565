"""Folded arrays in the memory of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import finalize

import numpy as np

from smpy.engine.running import current, is_running
from smpy.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_HALF, _SINGLE, _DOUBLE = 16, 32, 64
_BITS_OF_BYTES: Final = {1: _HALF, 2: _HALF, 4: _SINGLE}


def bits_on_device(arguments: Any) -> int | None:
    """Most bits that numbers of arrays on a device among arguments have; None: there is none.

    Raises
    ------
    UsageError
        If arrays of a device and of the host are mixed. Real arrays of whole numbers may be indices.
    """
    if not is_running() or not current().devices:
        return None
    arrays = list(_arrays_in(arguments))
    there = [array for array in arrays if getattr(array, "_is_on_device", False)]
    if not there:
        return None
    if len(there) < len(arrays):
        raise UsageError(
            "an operation on arrays of a device and of the host: copy them to one of the two (to_device) before; "
            "smpy.folded(shape, device='gpu') stands for a real array there"
        )
    return max(bits(array.dtype) for array in there)


def bits(dtype: np.dtype[Any]) -> int:
    """Bits of the real numbers of an element."""
    return _BITS_OF_BYTES.get(dtype.itemsize // (2 if dtype.kind == "c" else 1), _DOUBLE)


def _arrays_in(arguments: Any) -> Iterable[Any]:
    """Folded arrays, and real ones of floating-point numbers."""
    if getattr(arguments, "__smpy_folded__", False):
        yield arguments
    elif isinstance(arguments, np.ndarray):
        if arguments.ndim and arguments.size and arguments.dtype.kind in "fc":
            yield arguments
    elif isinstance(arguments, dict):
        for each in arguments.values():
            yield from _arrays_in(each)
    elif isinstance(arguments, (tuple, list)):
        for each in arguments:
            yield from _arrays_in(each)


def keep_on_device(element: NDArray[Any], nbytes: int) -> None:
    """Take memory of the running rank's device for as long as the element of a folded array lives."""
    engine = current()
    number = engine.take_device_memory(nbytes)
    finalize(element, engine.free_device_memory, number, nbytes).atexit = False
