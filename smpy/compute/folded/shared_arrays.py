"""Arrays whose pages several arrays share: real memory, but less than the arrays' sizes suggest.

A simulated run holds the arrays of all its ranks at once. If their content does not matter they may share their
pages, as a whole (`shared_array`) or but for private zones (`partial_shared_array`); messages copy zones private on
both sides, and leave the rest as it is. So numbers in a run that has shared anything are not results; its record says
so. Unlike `smpy.folded`, which has no pages at all, these arrays can be written and read, by compiled code too, and
programs do compute on them.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Sequence
from math import prod
from operator import index
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smpy.engine.folded_memory import PAGE_BYTES, areas_left, ceiled, new_memory
from smpy.engine.messages import Ranges
from smpy.engine.pointers import bytes_at
from smpy.engine.running import current, is_running, named_call
from smpy.units import format_bytes

__all__ = ["partial_shared_array", "shared_array"]

_BLOCK_BYTES: Final = 1 << 21
"""Smallest unit in which pages are shared: a huge page."""
_MOST_PIECES: Final = 4096
"""Larger arrays repeat a larger block, so that there are at most this many mappings."""
_FEWEST_PIECES: Final = 4
_SHARE_OF_AREAS: Final = 8
"""Such a part of the areas of memory that are left goes to one array of every rank."""
_LARGEST_BYTES: Final = 1 << 46

_shared: Final[weakref.WeakValueDictionary[tuple[Any, ...], Any]] = weakref.WeakValueDictionary()
"""Memory by the key of the arrays that share it; freed with its last array."""


def shared_array(
    shape: int | Sequence[int], dtype: DTypeLike = float, scope: Literal["local", "global"] = "local"
) -> NDArray[Any]:
    """Array that shares its memory with the same array of other ranks; outside a simulated run it is ``np.zeros``.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the array.
    dtype : data-type, optional
        Type of its elements, no Python objects.
    scope : str, optional
        "local": all arrays of one size that one line of the program makes are one real block of memory. "global":
        all such arrays are one small block of memory (2 MiB; more above 8 GiB), over and over.

    Returns
    -------
    ndarray
        An array whose content has no meaning: messages neither read nor write it.

    Raises
    ------
    ValueError
        If the shape, the type or the scope cannot be.
    MemoryError
        If the system has no such memory.

    Examples
    --------
    >>> shared_array((1000, 1000)).nbytes
    8000000
    """
    dimensions, element, nbytes = _size("shared_array", shape, dtype)
    if scope not in ("local", "global"):
        raise ValueError(f"shared_array: there is no scope {scope!r}: 'local' and 'global' are those there are")
    if not is_running() or not nbytes:
        return np.zeros(dimensions, element)
    caller = sys._getframe(1)
    return _array(_shared_memory(nbytes, scope, (caller.f_code.co_filename, caller.f_lineno)), dimensions, element)


def partial_shared_array(
    shape: int | Sequence[int], dtype: DTypeLike = float, *, private: Sequence[tuple[int, int]]
) -> NDArray[Any]:
    """Array with some zones of the rank's own; the rest is memory that many arrays share.

    Private zones begin as zeros and hold their content. The rest is one small block of memory, over and over, as
    far as there are whole pages between the zones; its content has no meaning, and messages neither read nor write
    it. Outside a simulated run the array is ``np.zeros``.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the array.
    dtype : data-type, optional
        Type of its elements, no Python objects.
    private : sequence of (int, int)
        The private zones, in order and apart: the index of the first element of each, and that behind the last, in
        the flattened array (C order).

    Returns
    -------
    ndarray
        The array.

    Raises
    ------
    ValueError
        If the shape, the type or a zone cannot be.
    MemoryError
        If the system has no such memory, or not so many areas of memory (Linux: vm.max_map_count).

    Examples
    --------
    >>> partial_shared_array((1000, 1000), private=[(0, 1000), (999_000, 1_000_000)]).nbytes
    8000000
    """
    dimensions, element, nbytes = _size("partial_shared_array", shape, dtype)
    zones = _zones(private, prod(dimensions))
    if not is_running() or not nbytes:
        return np.zeros(dimensions, element)
    size = element.itemsize
    return _array(_partial_memory(nbytes, [(a * size, b * size) for a, b in zones]), dimensions, element)


def _size(what: str, shape: int | Sequence[int], dtype: DTypeLike) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Dimensions, element type, and total bytes."""
    element = np.dtype(dtype)
    if element.hasobject:
        raise ValueError(f"{what}: elements of type {element} refer to Python objects, which cannot be shared so")
    try:
        lengths: Sequence[int] = [index(shape)]  # type: ignore[arg-type]
    except TypeError:
        lengths = shape  # type: ignore[assignment]
    try:
        dimensions = tuple(map(index, lengths))
    except TypeError:
        raise TypeError(f"{what}: {shape!r} is no shape: give a number of elements, or of each dimension") from None
    if min(dimensions, default=0) < 0:
        raise ValueError(f"{what}: no array has the shape {dimensions}: dimensions are at least 0")
    nbytes = prod(dimensions) * element.itemsize
    if nbytes > _LARGEST_BYTES:
        raise MemoryError(
            f"{what}: an array of shape {dimensions} has {format_bytes(nbytes)}, more than a process has addresses "
            "for: smpy.folded takes none"
        )
    return dimensions, element, nbytes


def _zones(private: Sequence[tuple[int, int]], n_elements: int) -> Ranges:
    """The zones, checked; adjacent ones are merged, empty ones dropped."""
    zones: list[tuple[int, int]] = []
    before = 0
    if not isinstance(private, Iterable):
        raise TypeError(f"partial_shared_array: private is {private!r}: give pairs (first, behind the last)")
    for number, zone in enumerate(private):
        try:
            first, last = (index(end) for end in zone)
        except (TypeError, ValueError):
            raise ValueError(
                f"partial_shared_array: private[{number}] is {zone!r}: give pairs (first, behind the last)"
            ) from None
        what = f"partial_shared_array: private[{number}], elements {first} to {last},"
        if first < 0 or last > n_elements:
            raise ValueError(f"{what} is not within the array, elements 0 to {n_elements}")
        if last < first:
            raise ValueError(f"{what} ends before it begins: give (first, behind the last)")
        if first < before:
            raise ValueError(
                f"{what} begins before element {before}, where the one before it ends: zones are in order and apart"
            )
        if zones and zones[-1][1] == first:
            zones[-1] = (zones[-1][0], last)
        elif first < last:
            zones.append((first, last))
        before = last
    return zones


def _array(memory: Any, dimensions: tuple[int, ...], element: np.dtype[Any]) -> NDArray[Any]:
    count = prod(dimensions)
    return np.frombuffer(bytes_at(memory, count * element.itemsize), element, count).reshape(dimensions)


@named_call("")
def _shared_memory(nbytes: int, scope: str, line: tuple[str, int]) -> Any:
    """Memory that all arrays of a line share, or all arrays with a size between two powers of two."""
    current().has_folded = True
    size = ceiled(nbytes) if scope == "local" else max(_BLOCK_BYTES, 1 << (nbytes - 1).bit_length())
    key = (scope, size, *(line if scope == "local" else ()))
    memory = _shared.get(key)
    if memory is None:
        own: Ranges = [(0, size)] if scope == "local" else ()
        memory = _shared[key] = new_memory(size, _block_bytes(size, _MOST_PIECES), own, (), "shared_array")
    return memory


@named_call("")
def _partial_memory(nbytes: int, private: Ranges) -> Any:
    engine = current()
    engine.has_folded = True
    n_pieces = areas_left() // (_SHARE_OF_AREAS * engine.n_ranks)
    block_bytes = _block_bytes(nbytes, min(max(n_pieces, _FEWEST_PIECES), _MOST_PIECES))
    return new_memory(ceiled(nbytes), block_bytes, private, private, "partial_shared_array")


def _block_bytes(nbytes: int, n_pieces: int) -> int:
    """Size of the block that an array repeats in this many pieces."""
    return ceiled(max(_BLOCK_BYTES, -(-nbytes // n_pieces)), max(_BLOCK_BYTES, PAGE_BYTES))
