"""Bytes of the real file system: stretches of a file, read and written at their positions.

Short stretches that lie close together are moved in windows, like ROMIO's data sieving. A window of the file is read
as a whole; to write, the new bytes are put in and the window is written back. No write of a rank is lost, because all
ranks are in one process and nothing else runs between read and write.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Stretches", "read", "read_at", "write", "write_at"]

Stretches: TypeAlias = tuple["NDArray[Any]", "NDArray[Any]"]
"""Positions in the file, and lengths, in bytes."""

_WINDOW_BYTES: Final = 1 << 20
_SHORT_BYTES: Final = 2048
"""Mean length of stretches from which separate calls are faster than windows."""
_FEW: Final = 32
"""Number of stretches up to which a window does not pay."""
_GAPS_MAX: Final = 8
"""Largest ratio of a window's bytes to the bytes wanted from it."""


def read_at(descriptor: int, into: memoryview, position: int) -> int:
    """Read one stretch, up to the end of the file; return the number of bytes read."""
    done = os.preadv(descriptor, [into], position)
    while 0 < done < len(into):
        more = os.preadv(descriptor, [into[done:]], position + done)
        if not more:
            break
        done += more
    return done


def write_at(descriptor: int, data: memoryview, position: int) -> None:
    """Write one stretch; raises OSError when the file takes no more bytes."""
    while data:
        done = os.pwrite(descriptor, data, position)
        if not done:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data, position = data[done:], position + done


def read(descriptor: int, into: memoryview, stretches: Iterable[Stretches]) -> int:
    """Read stretches into consecutive bytes of memory, up to the end of the file.

    Parameters
    ----------
    descriptor : int
        File descriptor.
    into : memoryview
        Room for the bytes of all stretches.
    stretches : iterable of Stretches
        The stretches.

    Returns
    -------
    int
        Bytes that were read.

    Raises
    ------
    OSError
        Errors of the operating system.
    """
    done = 0
    for positions, lengths in stretches:
        total = int(lengths.sum())
        got = _read_batch(descriptor, into[done : done + total], positions, lengths)
        done += got
        if got < total:
            break
    return done


def write(descriptor: int, data: memoryview, stretches: Iterable[Stretches], *, may_read: bool) -> None:
    """Write stretches from consecutive bytes of memory.

    Parameters
    ----------
    descriptor : int
        File descriptor.
    data : memoryview
        Bytes of the stretches.
    stretches : iterable of Stretches
        The stretches.
    may_read : bool
        Whether the descriptor can be read, too.

    Raises
    ------
    OSError
        Errors of the operating system; ENOSPC when the file takes no more bytes.
    """
    done = 0
    for positions, lengths in stretches:
        for first, last, is_window in _windows(positions, lengths):
            total = int(lengths[first:last].sum())
            piece = data[done : done + total]
            done += total
            if is_window and may_read:
                _write_window(descriptor, piece, positions[first:last], lengths[first:last])
            else:
                _write_each(descriptor, piece, positions[first:last], lengths[first:last])


def _read_batch(descriptor: int, into: memoryview, positions: NDArray[Any], lengths: NDArray[Any]) -> int:
    done = 0
    for first, last, is_window in _windows(positions, lengths):
        total = int(lengths[first:last].sum())
        move = _read_window if is_window else _read_each
        got = move(descriptor, into[done : done + total], positions[first:last], lengths[first:last])
        done += got
        if got < total:
            break
    return done


def _windows(positions: NDArray[Any], lengths: NDArray[Any]) -> Iterator[tuple[int, int, bool]]:
    """Groups of stretches: index of the first, index after the last, and whether a window moves the group."""
    n, total = len(positions), int(lengths.sum())
    if n <= _FEW:
        yield 0, n, False
        return
    ends = positions + lengths
    span = int(ends[-1] - positions[0])
    is_ordered = bool((positions[1:] >= ends[:-1]).all())
    if not is_ordered or total >= n * _SHORT_BYTES or span > _GAPS_MAX * total:
        yield 0, n, False
        return
    first = 0
    while first < n:
        last = max(first + 1, int(ends.searchsorted(positions[first] + _WINDOW_BYTES, "right")))
        yield first, last, last > first + 1
        first = last


def _read_each(descriptor: int, into: memoryview, positions: NDArray[Any], lengths: NDArray[Any]) -> int:
    done = 0
    for position, length in zip(positions.tolist(), lengths.tolist(), strict=True):
        got = read_at(descriptor, into[done : done + length], position)
        done += got
        if got < length:
            break
    return done


def _write_each(descriptor: int, data: memoryview, positions: NDArray[Any], lengths: NDArray[Any]) -> None:
    done = 0
    for position, length in zip(positions.tolist(), lengths.tolist(), strict=True):
        write_at(descriptor, data[done : done + length], position)
        done += length


def _read_window(descriptor: int, into: memoryview, positions: NDArray[Any], lengths: NDArray[Any]) -> int:
    import numpy as np

    origin = int(positions[0])
    window = bytearray(int(positions[-1] + lengths[-1]) - origin)
    got = read_at(descriptor, memoryview(window), origin)
    lengths = np.clip(origin + got - positions, 0, lengths)
    _copy(window, positions - origin, into, lengths, is_gathering=True)
    return int(lengths.sum())


def _write_window(descriptor: int, data: memoryview, positions: NDArray[Any], lengths: NDArray[Any]) -> None:
    origin = int(positions[0])
    window = bytearray(int(positions[-1] + lengths[-1]) - origin)
    read_at(descriptor, memoryview(window), origin)
    _copy(window, positions - origin, data, lengths, is_gathering=False)
    write_at(descriptor, memoryview(window), origin)


def _copy(
    window: bytearray, offsets: NDArray[Any], packed: memoryview, lengths: NDArray[Any], *, is_gathering: bool
) -> None:
    """Copy stretches of a window to consecutive bytes of `packed`, or back."""
    import numpy as np

    starts = np.cumsum(lengths) - lengths
    for length in np.unique(lengths[lengths > 0]).tolist():
        chosen = lengths == length
        there, here = (
            np.ndarray((len(memory) - length + 1,), f"V{length}", memory, 0, (1,)) for memory in (window, packed)
        )
        if is_gathering:
            here[starts[chosen]] = there[offsets[chosen]]
        else:
            there[offsets[chosen]] = here[starts[chosen]]
