"""What a datatype describes: the bytes of one entry, and how entries follow one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smpy.mpi.buffers import Memory

__all__ = ["Layout", "pack", "unpack"]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A datatype as all handles on it share it.

    Parameters
    ----------
    name : str
        Name in the standard.
    kind : str
        integer, floating, logical, complex, byte, character or pair: which reductions are allowed.
    size, extent : int
        Bytes an entry carries, and bytes from one entry to the next.
    alignment : int
        In bytes.
    typestr : str
        numpy's type string of an entry; of a pair, those of value and location, joined by a comma.
    code : str
        Character or type string that names it in a message; empty when there is none.
    blocks : tuple of (int, int)
        Offset and length in bytes of each basic element of an entry.
    is_contiguous : bool
        Whether entries that follow one another leave no gap.
    number : int
        Its handle.
    """

    name: str
    kind: str
    size: int
    extent: int
    alignment: int
    typestr: str
    code: str
    blocks: tuple[tuple[int, int], ...]
    is_contiguous: bool
    number: int


def pack(layout: Layout, memory: Memory, start: int, count: int) -> bytes:
    """The bytes that `count` entries from byte `start` of `memory` carry, without the gaps."""
    import numpy as np

    columns = np.hstack([np.arange(offset, offset + length) for offset, length in layout.blocks])
    first = np.arange(count)[:, None] * layout.extent + start
    return bytes(np.frombuffer(memory.data(), np.uint8)[first + columns])


def unpack(layout: Layout, packed: memoryview, memory: Memory, start: int) -> None:
    """Put packed bytes where the entries from byte `start` of `memory` keep them; what lies in the gaps stays."""
    import numpy as np

    columns = np.hstack([np.arange(offset, offset + length) for offset, length in layout.blocks])
    entries = -(-len(packed) // layout.size)
    places = (np.arange(entries)[:, None] * layout.extent + start + columns).ravel()[: len(packed)]
    np.frombuffer(memory.data(), np.uint8)[places] = np.frombuffer(packed, np.uint8)
