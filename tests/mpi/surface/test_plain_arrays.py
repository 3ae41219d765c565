"""The compiled surface reads arrays of numpy itself: as numpy describes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smpy.engine import _surface


class Described(np.ndarray):
    """An array whose buffer numpy is asked for, as its class is not numpy's own."""


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of all types, shapes and layouts."""
    made = {kind: np.ones(6, kind) for kind in np.typecodes["All"] if kind not in "VOMm"}
    made |= {f"{kind} swapped": np.ones(6, np.dtype(kind).newbyteorder()) for kind in "bhidD"}
    numbers = np.arange(24.0)
    fixed = numbers.copy()
    fixed.flags.writeable = False
    made |= {
        "rows": numbers.reshape(4, 6),
        "columns": numbers.reshape(4, 6).T,
        "every other": numbers[::2],
        "one": numbers[:1],
        "one of two dimensions": numbers[:1].reshape(1, 1),
        "no dimension": np.array(3.0),
        "empty": numbers[:0],
        "read-only": fixed,
        "misaligned": np.zeros(33, np.uint8)[1:].view(np.float64),
        "broadcast": np.broadcast_to(numbers[:1], 3),
        "fields": np.zeros(3, [("x", "i4"), ("y", "f8")]),
    }
    return made


@pytest.mark.parametrize("kind", arrays())
def test_an_array_of_numpys_class_has_the_content_that_numpy_describes(kind: str) -> None:
    array, room = arrays()[kind], np.zeros(24)
    described = array.view(Described)
    assert _surface.contents(array, array) == _surface.contents(described, described)
    assert _surface.contents(array, room) == _surface.contents(described, room)
    content = bytes(range(array.nbytes))
    assert _surface.replace(array, content) == (writes := _surface.replace(described, content))
    assert not writes or array.tobytes() == content
