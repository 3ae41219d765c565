"""Specifications of blocks for several ranks: counts and displacements, in some calls also datatypes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import index
from typing import Any

from smpy.mpi.data.buffer_segments import BufferSegments
from smpy.mpi.data.buffers import BOTTOM, is_bottom, memory_of
from smpy.mpi.data.datatypes import as_datatype, of_format
from smpy.mpi.data.message_specifications import bottom, committed, inferred_count, memory_and_datatype, taken_apart

__all__ = ["several_of", "vector_of"]


def vector_of(spec: Any, *, is_written: bool, n_blocks: int) -> BufferSegments:
    """Blocks of a message specification with a count and a displacement each.

    Counts and displacements, in entries, are sequences or single numbers. A single count holds for all blocks; a
    single displacement is the distance between blocks. Without counts the entries are distributed evenly, with one
    more in each of the first blocks if there is a remainder. Without displacements the blocks follow one another.

    Parameters
    ----------
    spec : buffer-like or sequence
        Specification as the program passed it.
    is_written : bool
        Whether the entries will be overwritten.
    n_blocks : int
        Number of blocks.

    Raises
    ------
    TypeError, ValueError, KeyError, BufferError
        If the specification is invalid; the same type as in mpi4py.
    """
    if isinstance(spec, (list, tuple)):
        exporter, counts, displacements, named = taken_apart(spec, (tuple,))
        memory, datatype = memory_and_datatype(exporter, named, is_written)
    else:
        counts = displacements = None
        memory = memory_of(spec, is_written)
        datatype = of_format(memory.format)
    memory.check_place()
    if counts is None:
        each, more = divmod(inferred_count(memory.nbytes, datatype, 1), n_blocks) if n_blocks else (0, 0)
        counts = [each + (block < more) for block in range(n_blocks)]
    else:
        counts = _one_or_all(counts, n_blocks)
        counts = [counts] * n_blocks if isinstance(counts, int) else counts
    if displacements is None:
        places = list(accumulate(counts, initial=0))[:-1]
    else:
        stride = _one_or_all(displacements, n_blocks)
        places = [block * stride for block in range(n_blocks)] if isinstance(stride, int) else stride
    extent = datatype._layout.extent
    return _checked(BufferSegments(memory, counts, [place * extent for place in places], [datatype]))


def several_of(spec: Sequence[Any], *, is_written: bool, n_blocks: int) -> BufferSegments:
    """Blocks of a message specification with a datatype each; displacements are in bytes.

    Parameters
    ----------
    spec : sequence
        ``[buffer, types]``, ``[buffer, (counts, displacements), types]`` or ``[buffer, counts, displacements, types]``.
    is_written : bool
        Whether the entries will be overwritten.
    n_blocks : int
        Number of blocks.

    Raises
    ------
    TypeError, ValueError, KeyError, BufferError
        If the specification is invalid; the same type as in mpi4py.
    """
    if not isinstance(spec, (list, tuple)):
        kind_name = type(spec).__name__
        raise TypeError(f"message: expecting a list or tuple of buffer, counts and datatypes, not {kind_name}")
    if len(spec) == 2:
        exporter, counts, displacements, types = spec[0], None, None, spec[1]
    elif len(spec) == 3:
        exporter, (counts, displacements), types = spec
    elif len(spec) == 4:
        exporter, counts, displacements, types = spec
    else:
        raise ValueError("message: expecting 2 to 4 items")
    if exporter is BOTTOM and (counts is None or displacements is None):
        raise ValueError("message: BOTTOM requires counts and displacements")
    memory = bottom(exporter) if is_bottom(exporter) else memory_of(exporter, is_written)
    memory.check_place()
    if counts is None and displacements is None:
        counts, places = [1] * n_blocks, [0] * n_blocks
    else:
        counts, places = _all(counts, n_blocks), _all(displacements, n_blocks)
    datatypes = [committed(as_datatype(named)) for named in types]
    if len(datatypes) != n_blocks:
        raise ValueError(f"message: expecting {n_blocks} datatypes, got {len(datatypes)}")
    return _checked(BufferSegments(memory, counts, places, datatypes))


def _one_or_all(values: Any, n: int) -> list[int] | int:
    """Counts or displacements of `n` blocks, from a sequence or from one number that stands for all."""
    try:
        len(values)
    except TypeError:
        return index(values)
    return _all(values, n)


def _all(values: Any, n: int) -> list[int]:
    if len(values) != n:
        raise ValueError(f"message: expecting {n} items, got {len(values)}")
    return list(map(index, values))


def _checked(parts: BufferSegments) -> BufferSegments:
    """The blocks, after a check that all of them lie within their memory."""
    parts.check()
    return parts
