"""Memory that array interfaces of accelerator libraries describe, without exporting a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

__all__ = ["DescribedMemory", "format_of", "is_gapless"]

_FORMATS: Final = {
    **dict(zip(("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"), "?bhilBHIL", strict=True)),
    **dict(zip(("f2", "f4", "f8", "f16"), "efdg", strict=True)),
    **dict(zip(("c8", "c16", "c32"), ("Zf", "Zd", "Zg"), strict=True)),
}


class DescribedMemory(NamedTuple):
    """Memory described by an array interface.

    Parameters
    ----------
    address, nbytes : int
        Address of the first byte, and length.
    format : str
        Format of an item in the buffer protocol's notation.
    is_readonly : bool
        Whether it must not be written.
    is_host : bool
        Whether it is the processor's own memory.
    owner : object
        Kept alive as long as the memory is used.
    """

    address: int
    nbytes: int
    format: str
    is_readonly: bool
    is_host: bool
    owner: Any


def format_of(kind: str, item_bytes: int) -> str:
    """Format of items of a kind (numpy's letter) and size; the format of bytes when there is none."""
    return _FORMATS.get(f"{kind}{item_bytes}", "B")


def is_gapless(shape: Sequence[int], strides: Sequence[int], step: int) -> bool:
    """Whether items fill the memory, `step` apart in the fastest dimension, which is the first or the last one."""
    return _is_dense(shape, strides, step) or _is_dense(shape[::-1], strides[::-1], step)


def _is_dense(shape: Sequence[int], strides: Sequence[int], step: int) -> bool:
    """Whether the items fill the memory, with the first dimension fastest."""
    for length, stride in zip(shape, strides, strict=True):
        if length > 1 and stride != step:
            return False
        step *= length
    return True
