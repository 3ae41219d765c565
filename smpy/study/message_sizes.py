"""Sizes of messages: from texts such as "8:1MiB", and as texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smpy.arguments import several
from smpy.errors import UsageError
from smpy.units import parse_size_bytes

_BYTES_MAX: Final = 1 << 40


def read_sizes(sizes: int | str | Iterable[int | str]) -> tuple[int, ...]:
    """Sizes in bytes, in order, from texts such as "8:1MiB" and "8,1KiB", or from numbers.

    Raises
    ------
    UsageError
        If one is no size.

    Examples
    --------
    >>> read_sizes("1KiB:5000"), read_sizes([8, "1KiB"])
    ((1024, 2048, 4096), (8, 1024))
    """
    chosen: set[int] = set()
    for part in sizes.split(",") if isinstance(sizes, str) else several(sizes):
        first, colon, last = str(part).partition(":")
        low = _size_bytes(str(part), first)
        high = _size_bytes(str(part), last) if colon else low
        if colon and (low < 1 or high < low):
            raise UsageError(f"{part!r}: a range of sizes goes from 1 byte or more to as many or more: say 8:1MiB")
        while low <= high:
            chosen.add(low)
            low = 2 * low if colon else high + 1
    return tuple(sorted(chosen))


def _size_bytes(whole: str, text: str) -> int:
    try:
        size = parse_size_bytes(text)
    except ValueError:
        raise UsageError(f"{whole!r} is no size in bytes: say such as 64KiB, 8,1KiB or 8:1MiB") from None
    if size != int(size) or not 0 <= size <= _BYTES_MAX:
        raise UsageError(f"{whole!r}: {text} is no number of bytes from 0 to {_BYTES_MAX:,}")
    return int(size)


def size_text(size_bytes: int) -> str:
    """A size in the largest unit of which it is a whole number."""
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size_bytes >= 1 << bits and size_bytes % (1 << bits) == 0:
            return f"{size_bytes >> bits} {unit}"
    return f"{size_bytes} B"
