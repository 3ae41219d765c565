"""Messages between the surface and the engine: their payload ends, and the envelopes that receivers get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

from smpy.engine.kernel import lib

Ranges: TypeAlias = Sequence[tuple[int, int]]
"""Sorted, disjoint ranges of bytes: the first byte, and the one after the last."""

ANY = -1
"""Any source, any tag."""

STANDARD, SYNCHRONOUS, BUFFERED, INNER = 0, 1, 2, 3
"""Send modes, as the kernel numbers them. `INNER` is standard, for the messages that a call consists of."""


@dataclass(frozen=True, slots=True)
class PartialBytes:
    """Bytes of a message of which only some have a content: its memory was shared in part.

    Parameters
    ----------
    data : bytes or memoryview
        All bytes of the message.
    private : sequence of (int, int)
        Ranges of the bytes that have a content.
    """

    data: bytes | memoryview
    private: Ranges

    def __len__(self) -> int:
        return len(self.data)

    def piece(self, first: int, last: int) -> PartialBytes:
        """The bytes from `first` to `last`."""
        cut = ((max(start, first) - first, min(end, last) - first) for start, end in self.private)
        return PartialBytes(memoryview(self.data)[first:last], [(start, end) for start, end in cut if start < end])


Carried: TypeAlias = bytes | memoryview | PartialBytes
"""Content of a message; the format of a view is free, except in partial bytes."""


def copied(carried: Carried | None) -> bytes | PartialBytes | None:
    """A copy that stays valid when the program's memory changes; None, for folded memory, stays None."""
    if isinstance(carried, PartialBytes):
        return PartialBytes(bytes(carried.data), carried.private)
    return None if carried is None else bytes(carried)


def piece_of(carried: Carried, first: int, last: int) -> Carried:
    """The bytes of some ranges, concatenated."""
    if isinstance(carried, PartialBytes):
        return carried.piece(first, last)
    return memoryview(carried).cast("B")[first:last]


class Entries(NamedTuple):
    """Entries of a layout (`smpy.mpi.data.layout`) in a program's memory: address of the first one, and number.

    `keep` keeps the memory alive.
    """

    address: int
    n: int
    layout: Any
    keep: object


class Load(NamedTuple):
    """Payload end of one message.

    Parameters
    ----------
    nbytes : int
        Size of the message, or of the room for it, in bytes.
    address : int
        Address of the contiguous bytes; 0 for folded memory, which carries nothing.
    keep : object
        Kept alive until the transfer has ended.
    take : callable
        For a receive that wants the bytes handed over when the transfer ends; called with a view valid during the call,
        or with partial bytes.
    private : sequence of (int, int), optional
        Ranges of a send's bytes that have a content; None: those at the address that are not folded.
    entries : Entries, optional
        The entries in the program's memory that it consists of; None: it is smpy's own, or folded.
    n_blocks : int
        Contiguous blocks that bytes which are handed over go to; 0: they are one stretch.
    span_bytes : int
        Memory from the first to the last of these blocks.
    is_on_device : bool
        Whether it lies in the memory of the rank's device.
    """

    nbytes: int
    address: int = 0
    keep: object = None
    take: Callable[[memoryview | PartialBytes], None] | None = None
    private: Ranges | None = None
    entries: Entries | None = None
    n_blocks: int = 0
    span_bytes: int = 0
    is_on_device: bool = False


class Envelope(NamedTuple):
    """A message as its receiver sees it.

    `nbytes` above `capacity` means that it was truncated; `is_cancelled`, that there was none, because the request was
    taken back in time.
    """

    source: int
    tag: int
    nbytes: int
    capacity: int
    is_cancelled: bool = False


NO_MESSAGE = Envelope(ANY, ANY, 0, 0)
"""Envelope of a completed send."""

CANCELLED = Envelope(ANY, ANY, 0, 0, is_cancelled=True)
"""Envelope of a cancelled request."""


class WaitKind(IntEnum):
    """Kind of object that a rank waits for, as the kernel numbers it."""

    SEND = lib.WAIT_SEND
    RECV = lib.WAIT_RECV
    SEVERAL = lib.WAIT_SEVERAL
    PROBE = lib.WAIT_PROBE
    COLLECTIVE = lib.WAIT_COLLECTIVE
    TIME = lib.WAIT_TIME
    WINDOW = lib.WAIT_WINDOW
    STORAGE = lib.WAIT_STORAGE
    PARKED = lib.WAIT_PARKED
    DEVICE = lib.WAIT_DEVICE


class WaitingRank(NamedTuple):
    """Wait of one rank, or of a thread of it.

    `step` is the number of the step that it waits for in a `MessageProgram`, elsewhere -1; `thread` the name of the
    thread, empty for the rank itself.
    """

    rank: int
    timeline: int
    kind: WaitKind
    comm: int
    peer: int
    tag: int
    nbytes: int
    n_requests: int
    call: str
    step: int = -1
    thread: str = ""


class LeftKind(IntEnum):
    """Kind of an uncompleted operation, as the kernel numbers it."""

    SEND = lib.LEFT_SEND
    RECV = lib.LEFT_RECV
    REQUEST = lib.LEFT_REQUEST
    COLLECTIVE = lib.LEFT_COLLECTIVE


class LeftOver(NamedTuple):
    """Operation that a rank started and did not complete.

    `line` is the program's file and line, an empty name where it is
    not known; `date_s` that of its posting or, once it `is_done`, of
    its completion.
    """

    kind: LeftKind
    rank: int
    is_send: bool
    comm: int
    peer: int
    tag: int
    nbytes: int
    line: tuple[str, int]
    date_s: float
    is_done: bool
