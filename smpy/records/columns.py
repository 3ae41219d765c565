"""Columns of a trace's tables as numpy arrays, and words as columns, directly from their memory.

pyarrow's own functions (`to_numpy`, `fill_null`, `pyarrow.array` of a list) import pandas where it is installed. That
takes 50 MB and longer than a replay of half a million messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_KINDS: Final = {"int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "double": "f8"}


def numbers(column: pa.Array | pa.ChunkedArray, null: float | None = None) -> NDArray[Any]:
    """The numbers of a column.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray
        Integers, floats or truth values.
    null : number, optional
        Number for missing values; by default, these are arbitrary.
    """
    chunks = getattr(column, "chunks", None)
    if chunks is None:
        return _numbers_of_array(column, null)
    parts = [_numbers_of_array(chunk, null) for chunk in chunks]
    return np.concatenate(parts) if parts else np.empty(0, _KINDS.get(str(column.type), "?"))


def is_known(column: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
    """Mask of the rows in which a column has a value."""
    chunks = getattr(column, "chunks", [column])
    return np.concatenate([_is_known_in_array(chunk) for chunk in chunks]) if chunks else np.empty(0, np.bool_)


def _numbers_of_array(array: pa.Array, null: float | None) -> NDArray[Any]:
    _, memory = array.buffers()
    first, end = array.offset, array.offset + len(array)
    if str(array.type) == "bool":
        values: NDArray[Any] = _bits(memory, first, end)
    else:
        values = np.frombuffer(memory if len(array) else b"", _KINDS[str(array.type)])[first * bool(len(array)) : end]
    if null is not None and array.null_count:
        values = np.where(_is_known_in_array(array), values, np.asarray(null, values.dtype))
    return values


def _is_known_in_array(array: pa.Array) -> NDArray[np.bool_]:
    if not array.null_count:
        return np.ones(len(array), np.bool_)
    return _bits(array.buffers()[0], array.offset, array.offset + len(array))


def _bits(memory: pa.Buffer | None, first: int, end: int) -> NDArray[np.bool_]:
    if memory is None or first == end:
        return np.empty(0, np.bool_)
    return np.unpackbits(np.frombuffer(memory, np.uint8), count=end, bitorder="little")[first:].astype(np.bool_)


def words(strings: Sequence[str]) -> pa.Array:
    """A column of words; bytes of a name that are not UTF-8 are escaped."""
    import pyarrow as pa

    encoded = [word.encode("utf-8", "backslashreplace") for word in strings]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    memory = pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))
    return pa.Array.from_buffers(pa.string(), len(encoded), [None, *memory])
