"""Copies between packed bytes and strided blocks of a program's memory, made by the kernel.

The structures are those of kernels/event/basics, strided.h and blocks.h. Every function is the kernel's or cffi's own,
so that a message makes no call of Python more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from smpy.engine.kernel import ffi, lib

__all__ = [
    "STRIDED_BYTES",
    "STRIDED_LOOPS",
    "blocks_outside",
    "conflict_of",
    "new_blocks",
    "new_contributions",
    "pack_blocks",
    "pack_strided",
    "strided_of",
    "take_blocks",
    "unpack_blocks",
    "unpack_strided",
]

STRIDED_LOOPS: Final[int] = lib.STRIDED_LOOPS
"""Maximum number of loops of a `strided`."""
STRIDED_BYTES: Final[int] = ffi.sizeof("strided")
strided_of: Final[Callable[[bytes], Any]] = partial(ffi.from_buffer, "strided[]")
"""The `strided` structures stored in bytes."""
pack_strided: Final[Callable[[Any, Any, Any, int], None]] = lib.strided_pack
unpack_strided: Final[Callable[[Any, Any, Any, int], None]] = lib.strided_unpack

new_blocks: Final[Callable[[tuple[Any, ...]], Any]] = partial(ffi.new, "blocks *")
blocks_outside: Final[Callable[[Any, int], int]] = lib.blocks_outside
"""Index of a block outside this number of bytes, or a negative number."""
pack_blocks: Final[Callable[[Any, Any, Any], None]] = lib.blocks_pack
unpack_blocks: Final[Callable[[Any, Any, Any], None]] = lib.blocks_unpack
take_blocks: Final[Callable[[Any, Any, Any, int], None]] = lib.blocks_take

new_contributions: Final[Callable[[int], Any]] = partial(ffi.new, "contribution[]")
conflict_of: Final[Callable[[Any, Any, int, int], int]] = lib.contribution_conflict
"""Index of a peer whose sizes contradict a rank's, or a negative number."""
