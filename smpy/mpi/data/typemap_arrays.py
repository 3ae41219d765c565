"""Typemaps of parts of arrays: boxes, and the shares of distributed arrays (MPI 4.1, 5.1.3 and 5.1.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from smpy.mpi.data.typemaps import Typemap, joined, placed, repeated, resized
from smpy.mpi.state.constants import DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG, DISTRIBUTE_NONE
from smpy.mpi.state.exceptions import fail

__all__ = ["darray", "subarray"]


def subarray(
    old: Typemap, sizes: Sequence[int], subsizes: Sequence[int], starts: Sequence[int], *, is_c: bool
) -> Typemap:
    """A box of an array, between the bounds of the array."""
    typemap, step, offset = old, old.extent, 0
    for dimension in _fastest_first(len(sizes), is_c):
        typemap = repeated(typemap, subsizes[dimension], step)
        offset += starts[dimension] * step
        step *= sizes[dimension]
    return resized(placed(typemap, [1], [offset]), 0, step)


def darray(
    old: Typemap,
    size: int,
    rank: int,
    gsizes: Sequence[int],
    distribs: Sequence[int],
    dargs: Sequence[int],
    psizes: Sequence[int],
    *,
    is_c: bool,
) -> Typemap:
    """One rank's share of a distributed array, between the bounds of the array."""
    if not 0 <= rank < size or prod(psizes) != size:
        fail("ERR_ARG", f"Create_darray: rank {rank} of {size} in a grid of {'x'.join(map(str, psizes))} ranks")
    typemap, step, rest = old, old.extent, rank
    coordinates = [0] * len(psizes)
    for dimension in reversed(range(len(psizes))):
        rest, coordinates[dimension] = divmod(rest, psizes[dimension])
    for dimension in _fastest_first(len(gsizes), is_c):
        n_entries, n_ranks = gsizes[dimension], psizes[dimension]
        length = _block_length(n_entries, n_ranks, distribs[dimension], dargs[dimension])
        typemap = _dealt(typemap, step, n_entries, n_ranks * length, coordinates[dimension] * length, length)
        step *= n_entries
    return resized(typemap, 0, step)


def _fastest_first(n_dimensions: int, is_c: bool) -> Iterable[int]:
    return reversed(range(n_dimensions)) if is_c else range(n_dimensions)


def _block_length(n_entries: int, n_ranks: int, kind: int, block_length: int) -> int:
    """Length of the blocks in which one dimension is dealt to the ranks, in entries."""
    enough = -(-n_entries // n_ranks)
    if kind == DISTRIBUTE_NONE:
        if n_ranks != 1:
            fail("ERR_ARG", f"Create_darray: a dimension that is not distributed has 1 rank, not {n_ranks}")
        return n_entries
    if kind not in (DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC):
        fail("ERR_ARG", f"Create_darray: {kind} is no way to distribute a dimension")
    is_block = kind == DISTRIBUTE_BLOCK
    length = (enough if is_block else 1) if block_length == DISTRIBUTE_DFLT_DARG else block_length
    if length <= 0 or (is_block and length < enough):
        fail("ERR_ARG", f"Create_darray: blocks of {length} for {n_entries} entries on {n_ranks} ranks")
    return length


def _dealt(row: Typemap, step: int, n_entries: int, stride: int, first: int, length: int) -> Typemap:
    """Blocks of `length` rows of `step` bytes, from row `first` on, `stride` rows apart; the last may be shorter."""
    n_whole = max(0, (n_entries - first - length) // stride + 1) if stride else 0
    behind = first + n_whole * stride
    n_left = max(0, min(length, n_entries - behind))
    whole = repeated(repeated(row, length, step), n_whole, stride * step)
    return joined([(1, first * step, whole), (1, behind * step, repeated(row, n_left, step))])
