"""Table of memory of which only private zones have a content: the memory of arrays that share pages.

The kernel asks the same table whenever it moves bytes (kernels/event/basics/folded_table.h): messages neither read nor
write the rest.
"""

from __future__ import annotations

import errno
import mmap
import os
import weakref
from functools import cache, partial
from typing import Any, Final

from smpy.engine.kernel import ffi, lib
from smpy.engine.messages import Ranges
from smpy.units import format_bytes

__all__ = ["PAGE_BYTES", "TABLE", "areas_left", "ceiled", "is_any", "new_memory", "private_ranges"]

PAGE_BYTES: Final = mmap.PAGESIZE
_USUAL_MOST_AREAS: Final = 65_530
_LIMIT: Final = "/proc/sys/vm/max_map_count"
_AREAS: Final = "/proc/self/maps"

TABLE: Final[Any] = lib.folded_table_new()
"""Table of this process, shared by all worlds: they share one address space, and arrays may outlive them."""


class _Block:
    """File whose first bytes all shared pages map; as large as the largest block so far."""

    __slots__ = ("__weakref__", "_nbytes", "number")

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self.number = os.memfd_create("smpy-folded")
        else:
            import tempfile

            with tempfile.TemporaryFile() as file:
                self.number = os.dup(file.fileno())
        self._nbytes = 0
        weakref.finalize(self, os.close, self.number)

    def reach(self, nbytes: int) -> None:
        """Make the file at least this large."""
        if nbytes > self._nbytes:
            os.ftruncate(self.number, nbytes)
            self._nbytes = nbytes


_blocks: Final[weakref.WeakValueDictionary[str, _Block]] = weakref.WeakValueDictionary()


def ceiled(nbytes: int, unit_bytes: int = PAGE_BYTES) -> int:
    """Next multiple of a unit."""
    return -(-nbytes // unit_bytes) * unit_bytes


class _Areas:
    """Number of memory areas that folded memory uses in this process."""

    n = 0


def areas_left() -> int:
    """Number of memory areas left for folded memory; an eighth of all is reserved for the rest of the process."""
    return max(_most_areas() * 7 // 8 - _Areas.n, 0)


@cache
def _most_areas() -> int:
    """Maximum number of memory areas of a process."""
    try:
        with open(_LIMIT, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return _USUAL_MOST_AREAS


def new_memory(nbytes: int, block_bytes: int, mapped: Ranges, private: Ranges, what: str) -> Any:
    """Memory that lives as long as the returned pointer, and all objects made of it.

    Parameters
    ----------
    nbytes : int
        Size; a multiple of a page.
    block_bytes : int
        Size of the block that the pages show which are not this memory's own; a multiple of a page.
    mapped : sequence of (int, int)
        Stretches that get pages of their own, in order and apart, in bytes: first one and behind the last.
    private : sequence of (int, int)
        Stretches that messages read and write, within those.
    what : str
        The user's name for it, for the error.

    Raises
    ------
    MemoryError
        If the system refuses: there are too many areas of memory, or there is no memory.
    """
    block = _blocks.get("")
    if block is None:
        block = _blocks[""] = _Block()
    block.reach(block_bytes)
    pages, zones = (ffi.new("byte_range[]", list(ranges)) for ranges in (mapped, private))
    start = lib.folded_map_new(block.number, nbytes, block_bytes, len(mapped), pages)
    refused = ffi.errno
    n_areas = lib.folded_map_areas(nbytes, block_bytes, len(mapped), pages)
    if start == ffi.NULL:
        raise MemoryError(_why(what, nbytes, n_areas, refused))
    _Areas.n += n_areas
    memory = ffi.gc(start, partial(_give_back, lib, TABLE, _Areas, n_areas, nbytes, block))
    if lib.folded_table_add(TABLE, start, nbytes, len(private), zones) < 0:
        raise MemoryError(f"{what}: no memory to note where its {len(private)} private zones are")
    return memory


def _give_back(
    kernel: Any, table: Any, areas: type[_Areas], n_areas: int, nbytes: int, block: _Block, start: Any
) -> None:
    """Free the memory when nothing refers to it any more; at the interpreter's exit, global names may be gone."""
    areas.n -= n_areas
    kernel.folded_table_remove(table, start)
    kernel.folded_map_free(start, nbytes)


def _why(what: str, nbytes: int, n_areas: int, refused: int) -> str:
    limit = _most_areas()
    try:
        with open(_AREAS, "rb") as file:
            n_there = sum(1 for _ in file)
    except OSError:
        n_there = 0
    if refused == errno.ENOMEM and n_there + n_areas >= limit:
        return (
            f"{what}: it would take {n_areas} areas of memory, the process has {n_there} and may have {limit} "
            "(vm.max_map_count): raise that limit (sysctl), or ask for fewer arrays or private zones"
        )
    return (
        f"{what}: the system refuses {format_bytes(nbytes)} of virtual memory ({os.strerror(refused)}): ask for less, "
        "or for smpy.folded, which takes none"
    )


def is_any() -> bool:
    """Whether any such memory exists."""
    return lib.folded_table_n(TABLE) > 0  # type: ignore[no-any-return]


def private_ranges(address: int, nbytes: int) -> Ranges | None:
    """Ranges of the bytes at an address that have a content, as sorted offsets; None: all have."""
    if not nbytes or not is_any():
        return None
    ranges, at, end = [], 0, ffi.new("int64_t *")
    data = ffi.cast("char *", address)
    while (at := lib.folded_table_next(TABLE, data, nbytes, at, end)) < nbytes:
        ranges.append((at, end[0]))
        at = end[0]
    return None if ranges == [(0, nbytes)] else ranges
