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
        Offset and length in bytes of the pieces of an entry; one of ``(0, size)`` when it is contiguous.
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
    number: int

    @property
    def is_contiguous(self) -> bool:
        """Whether entries that follow one another leave no gap."""
        return self.size == self.extent and len(self.blocks) == 1


def pack(layout: Layout, memory: Memory, start: int, count: int) -> bytes:
    """The bytes that `count` entries from byte `start` of `memory` carry, without the gaps."""
    import numpy as np

    rows = np.frombuffer(memory.data(), np.uint8, count * layout.extent, start).reshape(count, layout.extent)
    return (
        b"".join(rows[:, offset : offset + length].tobytes() for offset, length in layout.blocks)
        if count == 1
        else (np.hstack([rows[:, offset : offset + length] for offset, length in layout.blocks]).tobytes())
    )


def unpack(layout: Layout, packed: memoryview, memory: Memory, start: int) -> None:
    """Put packed bytes where the entries from byte `start` of `memory` keep them; what lies in the gaps stays."""
    import numpy as np

    count, rest = divmod(len(packed), layout.size)
    into = np.frombuffer(memory.data(), np.uint8, -1, start)
    rows = into[: count * layout.extent].reshape(count, layout.extent)
    carried = np.frombuffer(packed, np.uint8, count * layout.size).reshape(count, layout.size)
    begin = 0
    for offset, length in layout.blocks:
        rows[:, offset : offset + length] = carried[:, begin : begin + length]
        tail = min(max(rest - begin, 0), length)
        if tail:
            at = count * layout.extent + offset
            into[at : at + tail] = np.frombuffer(packed, np.uint8, tail, count * layout.size + begin)
        begin += length
