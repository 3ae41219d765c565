"""Messages between the surface and the engine: the payload end of one, and the envelope that its receiver gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

ANY = -1
"""Any source, any tag."""

STANDARD, SYNCHRONOUS, BUFFERED, INNER = 0, 1, 2, 3
"""Send modes, as the kernel numbers them. `INNER` is standard, for the messages that a call consists of."""


@dataclass(frozen=True, slots=True)
class Load:
    """The payload end of one message.

    Parameters
    ----------
    nbytes : int
        Size of the message, or of the room for it, in bytes.
    address : int
        Where the contiguous bytes are; 0 for folded memory, which carries nothing.
    keep : object
        Kept alive until the transfer has ended.
    take : callable
        For a receive that wants the bytes handed over when the transfer ends; called with a view valid during the call.
    """

    nbytes: int
    address: int = 0
    keep: object = None
    take: Callable[[memoryview], None] | None = None


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
"""What a completed send says of itself."""

CANCELLED = Envelope(ANY, ANY, 0, 0, is_cancelled=True)
"""What a request that was cancelled in time says of itself."""


class WaitingRank(NamedTuple):
    """Why one rank does not go on; `kind` is one of the kernel's WAIT_* numbers."""

    rank: int
    kind: int
    comm: int
    peer: int
    tag: int
    nbytes: int
    n_requests: int
    call: str


class LeftOver(NamedTuple):
    """What a rank started and did not complete.

    `kind` is one of the kernel's LEFT_* numbers; `line` the program's file and line, an empty name where it is
    not known.
    """

    kind: int
    rank: int
    is_send: bool
    comm: int
    peer: int
    tag: int
    nbytes: int
    line: tuple[str, int]
