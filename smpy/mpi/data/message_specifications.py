"""Message specifications: from what a program passes to entries in its memory.

All of mpi4py's forms: a buffer; ``[buffer, type]``; ``[buffer, count]``; ``[buffer, count, type]``; ``[buffer,
(count, displacement), type]``; ``[buffer, count, displacement, type]``. Types are `Datatype` objects or type strings;
without one the buffer's format says it, without a count the buffer's length. Blocks for several ranks have a count and
a displacement each, and in the calls named with a w a type each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from operator import index
from typing import Any

from smpy.mpi.data.buffers import BOTTOM, EVERYWHERE, NOTHING, Memory, is_bottom, memory_of
from smpy.mpi.data.datatypes import Datatype, as_datatype, of_format
from smpy.mpi.data.parts import Part, Parts
from smpy.mpi.state.exceptions import fail

__all__ = ["Part", "Parts", "part_of", "several_of", "vector_of"]


def part_of(spec: Any, *, is_written: bool, n_blocks: int = 1) -> Part:
    """What a message specification means.

    Parameters
    ----------
    spec : buffer-like or sequence
        As the program passed it.
    is_written : bool
        Whether the entries will be overwritten.
    n_blocks : int
        Number of blocks the memory is for: a count is per block.

    Raises
    ------
    TypeError, ValueError, KeyError, BufferError
        As mpi4py does, if it makes no sense.
    """
    if not isinstance(spec, (list, tuple)):
        memory = memory_of(spec, is_written)
        count, datatype = _whole(memory.format, memory.nbytes, n_blocks)
        return Part(memory, 0, count, datatype)
    exporter, count, displacement, named = _taken_apart(spec, (list, tuple))
    memory, datatype = _memory_and_datatype(exporter, named, is_written)
    entries = 0 if displacement is None else index(displacement)
    if entries < 0:
        raise ValueError(f"message: negative displacement {entries}")
    start = entries * _extent(datatype, "a displacement means nothing") if entries else 0
    if start > memory.nbytes:
        raise ValueError(
            f"message: displacement {entries} is beyond the {entries * memory.nbytes // start} entries of the buffer"
        )
    number = _inferred_count(memory.nbytes - start, datatype, n_blocks) if count is None else index(count)
    if number < 0:
        raise ValueError(f"message: negative count {number}")
    part = Part(memory, start, number, datatype)
    part.check(n_blocks)
    return part


def vector_of(spec: Any, *, is_written: bool, n_blocks: int) -> Parts:
    """What a message specification of blocks with a count and a displacement each means.

    Counts and displacements, in entries, are a sequence each, or one number: the count of all blocks, the entries from
    one block to the next. Without counts the entries are dealt out evenly, the first blocks having one more when they
    must; without displacements blocks follow one another.

    Parameters
    ----------
    spec : buffer-like or sequence
        As the program passed it.
    is_written : bool
        Whether the entries will be overwritten.
    n_blocks : int
        Number of blocks.

    Raises
    ------
    TypeError, ValueError, KeyError, BufferError
        As mpi4py does, if it makes no sense.
    """
    if isinstance(spec, (list, tuple)):
        exporter, counts, displacements, named = _taken_apart(spec, (tuple,))
        memory, datatype = _memory_and_datatype(exporter, named, is_written)
    else:
        counts = displacements = None
        memory = memory_of(spec, is_written)
        datatype = of_format(memory.format)
    if counts is None:
        each, more = divmod(_inferred_count(memory.nbytes, datatype, 1), n_blocks) if n_blocks else (0, 0)
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
    return _checked(Parts(memory, counts, [place * extent for place in places], [datatype]))


def several_of(spec: Sequence[Any], *, is_written: bool, n_blocks: int) -> Parts:
    """What a message specification of blocks with a datatype each means; displacements are in bytes.

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
        As mpi4py does, if it makes no sense.
    """
    if not isinstance(spec, (list, tuple)):
        given = type(spec).__name__
        raise TypeError(f"message: expecting a list or tuple of buffer, counts and datatypes, not {given}")
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
    memory = _bottom(exporter) if is_bottom(exporter) else memory_of(exporter, is_written)
    if counts is None and displacements is None:
        counts, places = [1] * n_blocks, [0] * n_blocks
    else:
        counts, places = _all(counts, n_blocks), _all(displacements, n_blocks)
    datatypes = [_committed(as_datatype(named)) for named in types]
    if len(datatypes) != n_blocks:
        raise ValueError(f"message: expecting {n_blocks} datatypes, got {len(datatypes)}")
    return _checked(Parts(memory, counts, places, datatypes))


def _taken_apart(spec: Sequence[Any], both: tuple[type[Sequence[Any]], ...]) -> tuple[Any, Any, Any, Any]:
    """Buffer, count, displacement and datatype, None where not given; `both`: what holds a count and a displacement."""
    if len(spec) == 4:
        return spec[0], spec[1], spec[2], spec[3]
    if not 2 <= len(spec) <= 3:
        raise ValueError("message: expecting 2 to 4 items")
    count, named = spec[1], spec[2] if len(spec) == 3 else None
    if len(spec) == 2 and isinstance(count, (Datatype, str)):
        return spec[0], None, None, count
    if isinstance(count, both):
        number, displacement = count
        return spec[0], number, displacement, named
    return spec[0], count, None, named


def _memory_and_datatype(exporter: Any, named: Any, is_written: bool) -> tuple[Memory, Datatype]:
    """The memory of a message, and what its entries are."""
    if is_bottom(exporter):
        if named is None:
            raise ValueError("message: without a buffer a datatype must be named")
        return _bottom(exporter), _committed(as_datatype(named))
    memory = memory_of(exporter, is_written)
    return memory, of_format(memory.format) if named is None else _committed(as_datatype(named))


def _bottom(exporter: Any) -> Memory:
    return NOTHING if exporter is None else EVERYWHERE


def _committed(datatype: Datatype) -> Datatype:
    layout = datatype._layout_or_null
    if layout is not None and not layout.is_committed:
        name = layout.name or "a derived datatype"
        fail("ERR_TYPE", f"{name} was not committed: call its Commit() before it is used in a message")
    return datatype


def _extent(datatype: Datatype, otherwise: str) -> int:
    """Bytes from one entry to the next."""
    layout = datatype._layout_or_null
    if layout is None:
        raise ValueError(f"message: {otherwise} without a datatype")
    if layout.extent <= 0:
        typemap = layout.typemap
        bounds = f"extent {layout.extent} (lb: {typemap.lb}, ub: {typemap.ub})"
        raise ValueError(f"message: {otherwise} with a datatype of {bounds}")
    return layout.extent


def _one_or_all(values: Any, n: int) -> list[int] | int:
    """Counts or displacements of `n` blocks, or the one number that stands for all of them."""
    try:
        len(values)
    except TypeError:
        return index(values)
    return _all(values, n)


def _all(values: Any, n: int) -> list[int]:
    if len(values) != n:
        raise ValueError(f"message: expecting {n} items, got {len(values)}")
    return list(map(index, values))


@lru_cache(maxsize=1024)
def _whole(code: str, nbytes: int, n_blocks: int) -> tuple[int, Datatype]:
    """What a buffer means that nothing else is said of: programs send the same few over and over."""
    datatype = of_format(code)
    return _inferred_count(nbytes, datatype, n_blocks), datatype


def _inferred_count(room: int, datatype: Datatype, n_blocks: int) -> int:
    if not room:
        return 0
    extent = _extent(datatype, "the count cannot be inferred")
    entries, rest = divmod(room, extent)
    if rest:
        raise ValueError(
            f"message: cannot infer count, buffer length {room} is not a multiple of "
            f"the extent {extent} of {datatype.Get_name() or 'the datatype'}"
        )
    count, rest = divmod(entries, max(1, n_blocks))
    if rest:
        raise ValueError(f"message: cannot infer count, {entries} entries are not a multiple of {n_blocks} blocks")
    return count


def _checked(parts: Parts) -> Parts:
    """The same blocks, all of them within their memory."""
    parts.check()
    return parts
