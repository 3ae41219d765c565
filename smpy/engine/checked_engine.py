"""A world whose posted messages are reported to checks, and compared by the kernel when they match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from smpy.engine.engine import Engine
from smpy.engine.kernel import ffi, lib
from smpy.engine.messages import ANY, Load
from smpy.engine.surface import surface

if TYPE_CHECKING:
    from smpy.engine.platform import Platform
    from smpy.platforms.models.machine_models import Models

__all__ = ["CheckedEngine", "CheckedMessages", "ChosenMessage", "MessageKind", "MessageObserver", "PostedMessage"]


class PostedMessage(NamedTuple):
    """A message as its request describes it.

    `line` is the number of the program's line (`Engine.place_of_line`); a receive from any source `is_wild`.
    """

    is_send: bool
    is_wild: bool
    line: int


class MessageKind(IntEnum):
    """Kind of mistake about messages, as the kernel numbers it."""

    TYPES = lib.CHECK_TYPES
    RACE = lib.CHECK_RACE
    WRITTEN = lib.CHECK_WRITTEN
    """A receive's buffer was written before its message came."""
    PROBED = lib.CHECK_PROBED
    """A probe from any source could have found another message."""


class ChosenMessage(NamedTuple):
    """A message that a receive from any source took.

    Parameters
    ----------
    rank, nth : int
        World rank of the receiver, and the number of the receive, from 1, of all that the rank posts from any source.
    source, tag : int
        The message's; the source as a rank of the communicator.
    """

    rank: int
    nth: int
    source: int
    tag: int


class CheckedMessages(NamedTuple):
    """Messages between the same lines that do not match, or that a receive from any source could have taken.

    Parameters
    ----------
    kind : MessageKind
        Kind of mistake.
    types : (int, int)
        Keys of the types: sent, received.
    nbytes : int
        Bytes of the largest of them.
    n : int
        Number of them.
    ranks, lines : tuple of int
        World rank and line of the receive, of the send, and of the other send of a race.
    asks : bool
        Whether the receive, as it was posted, asks for its source.
    other : ChosenMessage or None
        The receive of a race, with the other message.
    """

    kind: MessageKind
    types: tuple[int, int]
    nbytes: int
    n: int
    ranks: tuple[int, int, int]
    lines: tuple[int, int, int]
    asks: bool
    other: ChosenMessage | None


class MessageObserver(Protocol):
    """Observer of the messages that ranks post through `smpy.mpi`."""

    def posted(self, message: PostedMessage, load: Load) -> tuple[int, Load]:
        """Key of the type of the entries, 0 when it is unknown, and the payload end to post in place of `load`."""


class CheckedEngine(Engine):
    """One simulated world whose messages are checked.

    Parameters
    ----------
    platform : Platform
        The machine.
    models : Models
        Times of messages and calls on it.
    host_of_rank : sequence of int
        Host number of each rank.

    Attributes
    ----------
    observer : MessageObserver or None
        Hears of each message that is posted by `smpy.mpi`; the compiled surface tells the kernel of its own.
    before_run : callable
        Called when the world is the compiled surface's, before any rank runs.
    """

    def __init__(self, platform: Platform, models: Models, host_of_rank: Sequence[int]) -> None:
        super().__init__(platform, models, host_of_rank)
        self.observer: MessageObserver | None = None
        self.before_run: Callable[[], object] = list
        taken = ffi.NULL if surface is None else ffi.cast("uint64_t *", surface.taken())
        if lib.sim_check_messages(self._sim, taken) < 0:
            raise MemoryError("no memory for checks of messages")

    def _post(self, number: int, load: Load) -> bool:
        if number > 0:
            key, observer = 0, self.observer
            if observer is not None:
                request = lib.sim_request(self._sim, number)
                is_send = bool(request.is_send)
                message = PostedMessage(is_send, not is_send and request.peer == ANY, request.line)
                key, load = observer.posted(message, load)
            lib.sim_check_message(self._sim, number, key)
        return super()._post(number, load)

    def _loop(self, on_yield: Callable[[], None]) -> object:
        self.before_run()
        return super()._loop(on_yield)

    def checked_messages(self) -> Iterator[CheckedMessages]:
        """Messages about which the kernel has found something, by lines."""
        listed = ffi.new("const checked_messages **")
        for i in range(lib.sim_checked_messages(self._sim, listed)):
            row = listed[0][i]
            yield CheckedMessages(
                MessageKind(row.kind),
                (row.type[0], row.type[1]),
                row.bytes,
                row.n,
                tuple(row.rank),
                tuple(row.line),
                bool(row.asks),
                ChosenMessage(row.rank[0], row.nth, row.source, row.tag) if row.kind == lib.CHECK_RACE else None,
            )

    def choose(self, chosen: ChosenMessage) -> None:
        """Make a receive from any source take this message; called before any rank runs."""
        lib.sim_choose_message(self._sim, *chosen)
