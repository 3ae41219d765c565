"""Layouts with regular strides as the kernel moves them: blocks of bytes in nested loops.

The structures are those of kernels/event/basics/strided.h.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from struct import Struct
from typing import Final

from smpy.engine.blocks import STRIDED_BYTES, STRIDED_LOOPS
from smpy.mpi.data.typemaps import RepeatedStride, Typemap

__all__ = ["strided"]

_FIELDS: Final = Struct(f"={7 + 2 * STRIDED_LOOPS}q")
assert _FIELDS.size == STRIDED_BYTES  # must be equal to the header's


@lru_cache(maxsize=1024)
def strided(typemap: Typemap) -> bytes | None:
    """Kernel description of a typemap; None if it is not a single nest of regular loops."""
    if len(typemap.runs) != 1 or len(typemap.runs[0].loops) > STRIDED_LOOPS:
        return None
    run = typemap.runs[0]
    loops = [loop for loop in run.loops if isinstance(loop, RepeatedStride)]
    times = [loop.times for loop in loops]
    packed_strides = [run.length * prod(times[inner:]) for inner in range(1, len(loops) + 1)]
    if len(loops) < len(run.loops) or run.packed or packed_strides != [loop.packed_stride for loop in loops]:
        return None
    rest = [0] * (STRIDED_LOOPS - len(loops))
    strides = [loop.stride for loop in loops]
    bounds = typemap.size, typemap.extent, typemap.true_lb, typemap.true_ub
    return _FIELDS.pack(*bounds, run.offset, run.length, len(loops), *times, *rest, *strides, *rest)
