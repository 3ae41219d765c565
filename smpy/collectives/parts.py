"""Parts of large blocks that an allgatherv sends round a ring (MPICH 3)."""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import Final

PART_BYTES: Final = 1 << 18  # 8 times MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE, as in SimGrid 3.32


@lru_cache(maxsize=16)
def ring_parts(counts: tuple[int, ...], item_bytes: int) -> tuple[array[int], array[int]] | None:
    """Split all blocks into parts, in the order in which they pass a rank: from the last rank's to the first one's.

    Parameters
    ----------
    counts : tuple of int
        Entries of each rank's block.
    item_bytes : int
        Bytes of an entry.

    Returns
    -------
    firsts, sizes : array of int
        Number of the first part of each rank's block, and of all parts at the end; bytes of each part, where an empty
        block has one of 0. None if each block is one part: parts have 256 KiB, or the size of the smallest block.
    """
    part = max(min(counts), PART_BYTES // item_bytes, 1) if item_bytes > 0 else max(counts)
    if max(counts) <= part:
        return None
    firsts, sizes = array("q", [0]) * (len(counts) + 1), array("q")
    for rank in reversed(range(len(counts))):
        firsts[rank] = len(sizes)
        n_whole, rest = divmod(counts[rank], part)
        sizes.extend([part * item_bytes] * n_whole)
        if rest or not n_whole:
            sizes.append(rest * item_bytes)
    firsts[-1] = len(sizes)
    return firsts, sizes
