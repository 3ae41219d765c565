"""Arguments that specify a message: its entries in memory, the rank at the other end, a tag.

Specifications have all of mpi4py's forms: a buffer; ``[buffer, type]``; ``[buffer, count]``; ``[buffer, count, type]``;
``[buffer, (count, displacement), type]``; ``[buffer, count, displacement, type]``. Types are `Datatype` objects or type
strings; the default type follows from the buffer's format, the default count from its length. Errors name the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import Any, Final, NoReturn

from smpy.engine.messages import Entries, Load
from smpy.engine.pointers import address_of, pointer_to
from smpy.engine.running import current
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.buffers import EVERYWHERE, NOTHING, LentMemory, is_bottom, memory_of
from smpy.mpi.data.datatypes import Datatype, as_datatype, of_format
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.world import world

__all__ = [
    "LARGEST_TAG",
    "bottom",
    "check_dest",
    "check_source",
    "committed",
    "incoming_of",
    "inferred_count",
    "lent",
    "memory_and_datatype",
    "outgoing_of",
    "part_of",
    "taken_apart",
    "to_fill",
    "to_send",
]

LARGEST_TAG: Final = 2**31 - 1
"""Largest tag: tags in the kernel have 32 bits."""
_WRONG: Final = (TypeError, ValueError, LookupError, BufferError)
"""Exceptions that an invalid specification raises."""


# ---- peer and tag ----


def check_dest(number: int, dest: Any, tag: Any, call: str) -> tuple[int, int]:
    """`dest` and `tag` as integers, after a check that a message can be sent there."""
    if type(dest) is not int or type(tag) is not int:
        dest, tag = integer(call, "dest", dest), integer(call, "tag", tag)
    if not 0 <= dest < current().n_peers(number):
        _fail_rank(number, "dest", dest, tag, call)
    if not 0 <= tag <= LARGEST_TAG:
        _fail_tag("dest", dest, tag, call)
    return dest, tag


def check_source(number: int, source: Any, tag: Any, call: str) -> tuple[int, int]:
    """`source` and `tag` as integers, after a check that a message can come from there."""
    if type(source) is not int or type(tag) is not int:
        source, tag = integer(call, "source", source), integer(call, "tag", tag)
    if source not in (ANY_SOURCE, PROC_NULL) and not 0 <= source < current().n_peers(number):
        _fail_rank(number, "source", source, tag, call)
    if tag != ANY_TAG and not 0 <= tag <= LARGEST_TAG:
        _fail_tag("source", source, tag, call)
    return source, tag


def _fail_rank(number: int, end: str, rank: int, tag: int, call: str) -> NoReturn:
    whose = "the other group" if world().communicator(number).is_inter else "the communicator"
    fail("ERR_RANK", f"{call}({end}={rank}, tag={tag}): {whose} has ranks 0 to {current().n_peers(number) - 1}")


def _fail_tag(end: str, rank: int, tag: int, call: str) -> NoReturn:
    fail("ERR_TAG", f"{call}({end}={rank}, tag={tag}): a tag is between 0 and {LARGEST_TAG}")


# ---- entries ----


def outgoing_of(spec: Any, call: str) -> Load:
    """Payload end of a send of the entries that a specification names."""
    load = None if isinstance(spec, (list, tuple)) else _whole_buffer(spec)
    return to_send(spec, call, may_be_on_device=True).outgoing() if load is None else load


def incoming_of(spec: Any, call: str) -> Load:
    """Payload end of a receive into the entries that a specification names."""
    return to_fill(spec, call, may_be_on_device=True).incoming()


def _whole_buffer(exporter: Any) -> Load | None:
    """Payload end of a send of a whole contiguous buffer; None when the specification needs `part_of`."""
    try:
        view = memoryview(exporter)
        if not view.nbytes or not view.c_contiguous or hasattr(exporter, "__smpy_folded__"):
            return None
        count, datatype = _whole(view.format, view.nbytes, 1)
    except _WRONG:
        return None
    keep = pointer_to(exporter)
    address = int(address_of(keep))
    return Load(view.nbytes, address, keep, entries=Entries(address, count, datatype._layout_or_null, keep))


def lent(data: bytes) -> Load:
    """Payload end of a send of bytes."""
    keep = pointer_to(data)
    return Load(len(data), int(address_of(keep)), keep)


def to_send(spec: Any, call: str, *, may_be_on_device: bool = False) -> BufferSegment:
    """Entries that a specification names, to be sent."""
    try:
        return part_of(spec, is_written=False, may_be_on_device=may_be_on_device)
    except Exception as error:
        error.add_note(f"in {call}: the message to send")
        raise


def to_fill(spec: Any, call: str, *, may_be_on_device: bool = False) -> BufferSegment:
    """Entries that a specification names, to be overwritten."""
    try:
        return part_of(spec, is_written=True, may_be_on_device=may_be_on_device)
    except Exception as error:
        error.add_note(f"in {call}: the buffer to receive into")
        raise


def part_of(spec: Any, *, is_written: bool, n_blocks: int = 1, may_be_on_device: bool = False) -> BufferSegment:
    """Entries that a message specification names.

    Parameters
    ----------
    spec : buffer-like or sequence
        Specification as the program passed it.
    is_written : bool
        Whether the entries will be overwritten.
    n_blocks : int
        Number of blocks in the memory: a count is per block.
    may_be_on_device : bool
        Whether the call takes the memory of a simulated device.

    Raises
    ------
    TypeError, ValueError, KeyError, BufferError
        If the specification is invalid; the same type as in mpi4py.
    """
    if not isinstance(spec, (list, tuple)):
        memory = memory_of(spec, is_written)
        memory.check_place(may_be_on_device=may_be_on_device)
        count, datatype = _whole(memory.format, memory.nbytes, n_blocks)
        return BufferSegment(memory, 0, count, datatype)
    exporter, count, displacement, named = taken_apart(spec, (list, tuple))
    memory, datatype = memory_and_datatype(exporter, named, is_written)
    memory.check_place(may_be_on_device=may_be_on_device)
    entries = 0 if displacement is None else index(displacement)
    if entries < 0:
        raise ValueError(f"message: negative displacement {entries}")
    start = entries * _extent(datatype, "a displacement means nothing") if entries else 0
    if start > memory.nbytes:
        raise ValueError(
            f"message: displacement {entries} is beyond the {entries * memory.nbytes // start} entries of the buffer"
        )
    number = inferred_count(memory.nbytes - start, datatype, n_blocks) if count is None else index(count)
    if number < 0:
        raise ValueError(f"message: negative count {number}")
    part = BufferSegment(memory, start, number, datatype)
    part.check(n_blocks)
    return part


def taken_apart(spec: Sequence[Any], both: tuple[type[Sequence[Any]], ...]) -> tuple[Any, Any, Any, Any]:
    """Buffer, count, displacement and datatype; None where missing. `both`: types of a (count, displacement) pair."""
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


def memory_and_datatype(exporter: Any, named: Any, is_written: bool) -> tuple[LentMemory, Datatype]:
    """Memory of a message, and the datatype of its entries."""
    if is_bottom(exporter):
        if named is None:
            raise ValueError("message: without a buffer a datatype must be named")
        return bottom(exporter), committed(as_datatype(named))
    memory = memory_of(exporter, is_written)
    return memory, of_format(memory.format) if named is None else committed(as_datatype(named))


def bottom(exporter: Any) -> LentMemory:
    """Memory of a message without a buffer (empty), or with ``BOTTOM`` (the whole address range)."""
    return NOTHING if exporter is None else EVERYWHERE


def committed(datatype: Datatype) -> Datatype:
    """The datatype, after a check that it is committed; raises ``ERR_TYPE`` if not."""
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


@lru_cache(maxsize=1024)
def _whole(code: str, nbytes: int, n_blocks: int) -> tuple[int, Datatype]:
    """Count and datatype of a buffer passed alone; cached, because programs send few kinds of buffers."""
    datatype = of_format(code)
    return inferred_count(nbytes, datatype, n_blocks), datatype


def inferred_count(room: int, datatype: Datatype, n_blocks: int) -> int:
    """Number of entries per block, when `n_blocks` blocks fill `room` bytes."""
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
