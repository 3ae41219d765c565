"""Targets: the entries in another rank's part of a window that an access names."""

from __future__ import annotations

from operator import index
from typing import Any, Final

from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.buffers import EVERYWHERE, LentMemory
from smpy.mpi.data.datatypes import Datatype, as_datatype
from smpy.mpi.data.message_specifications import committed
from smpy.mpi.rma.window_parts import WindowPart
from smpy.mpi.state import constants
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.constants import PROC_NULL
from smpy.mpi.state.exceptions import fail

__all__ = ["check_fits", "rank_of", "target_of"]

_ITEMS_MAX: Final = 3


def rank_of(part: WindowPart, rank: Any, call: str) -> int:
    """`rank` as an integer; raises ``ERR_RANK`` unless it is a rank of the window or ``PROC_NULL``."""
    target = rank if type(rank) is int else integer(call, "rank", rank)
    if target != PROC_NULL and not 0 <= target < part.communicator.size:
        fail("ERR_RANK", f"{call}(rank={target}): the window has ranks 0 to {part.communicator.size - 1}")
    return target


def target_of(part: WindowPart, rank: int, target: Any, origin: BufferSegment, call: str) -> BufferSegment:
    """Entries that a target specification names: None, a displacement, or [displacement, count, datatype].

    Count and datatype default to those of the origin.

    Raises
    ------
    ValueError
        If `target` is no specification.
    Exception
        ``ERR_DISP``, ``ERR_COUNT``: negative; ``ERR_RMA_RANGE``: beyond the rank's part.
    """
    displacement, count, datatype = _taken_apart(target, origin, call)
    if displacement < 0 and part.window.flavor != constants.WIN_FLAVOR_DYNAMIC:
        fail("ERR_DISP", f"{call}(rank={rank}): negative displacement {displacement}")
    if count < 0:
        fail("ERR_COUNT", f"{call}(rank={rank}): negative count {count}")
    is_dynamic = part.window.flavor == constants.WIN_FLAVOR_DYNAMIC
    exposed = part.window.piece(rank)
    memory = EVERYWHERE if is_dynamic else exposed.lent_memory()
    segment = BufferSegment(memory, displacement * exposed.disp_unit, count, datatype)
    if segment.nbytes:
        if is_dynamic:
            _check_attached(part, rank, segment, call)
        else:
            _check_range(segment, memory, rank, displacement, call)
    return segment


def check_fits(call: str, rank: int, **segments: BufferSegment) -> None:
    """Raise ``ERR_TRUNCATE`` unless the first segment's bytes fit in the second one (MPI 4.1, 12.3)."""
    (source, data), (place, room) = segments.items()
    if data.nbytes > room.nbytes:
        fail("ERR_TRUNCATE", f"{call}(rank={rank}): the {source} has {data.nbytes} bytes, the {place} {room.nbytes}")


def _taken_apart(target: Any, origin: BufferSegment, call: str) -> tuple[int, int, Datatype]:
    count, datatype = origin.count, origin.datatype
    if target is None:
        return 0, count, datatype
    if hasattr(target, "__index__"):
        return index(target), count, datatype
    if not isinstance(target, (list, tuple)):
        raise ValueError(  # noqa: TRY004  # as in mpi4py
            f"{call}: target: expecting an integer or a list, not {type(target).__name__}"
        )
    if len(target) > _ITEMS_MAX:
        raise ValueError(f"{call}: target: expecting {_ITEMS_MAX} items at most, not {len(target)}")
    if len(target) > 1:
        count = index(target[1])
    if len(target) > 2:
        datatype = committed(as_datatype(target[2]))
    return index(target[0]) if target else 0, count, datatype


def _check_range(segment: BufferSegment, memory: LentMemory, rank: int, displacement: int, call: str) -> None:
    try:
        segment.check()
    except ValueError as error:
        fail(
            "ERR_RMA_RANGE",
            f"{call}(rank={rank}): displacement {displacement}: rank {rank}'s part of the window has {memory.nbytes} "
            f"bytes: {str(error).removeprefix('message: ')}",
        )


def _check_attached(part: WindowPart, rank: int, segment: BufferSegment, call: str) -> None:
    typemap = segment.layout.typemap
    back, ahead = sorted((0, (segment.count - 1) * typemap.extent))
    first, last = segment.start + back + typemap.true_lb, segment.start + ahead + typemap.true_ub
    if not part.window.piece(rank).holds(first, last):
        fail(
            "ERR_RMA_RANGE",
            f"{call}(rank={rank}): rank {rank} has not attached the {last - first} bytes from address {first} on",
        )
