"""Matching of the messages of a real run.

The k-th send from a rank to another one, with one tag in one communicator, meets the k-th such receive that was posted.
"""

from __future__ import annotations

from collections import deque
from math import nan
from typing import TYPE_CHECKING, Final, TypeVar

from smpy.errors import UsageError
from smpy.importers.held_rows import Row
from smpy.importers.real_rank import RealMessage, RealRank, RealReceive
from smpy.importers.waiting_time import tell

if TYPE_CHECKING:
    from smpy.importers.trace_builder import TraceBuilder

Key = tuple[int, int, int, int]
"""Communicator, source, target and tag."""

T = TypeVar("T")

_RECEIVES_HELD: Final = 1 << 10
"""Complete receives of a rank that wait to be matched, behind one that was posted before them."""


class Matching:
    """Messages and receives that are not matched yet.

    Parameters
    ----------
    builder : TraceBuilder
        Counts remarks.

    Attributes
    ----------
    rows : list of tuple
        Rows of messages that are over, for the table.
    """

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._sent: dict[Key, deque[RealMessage]] = {}
        self._received: dict[Key, deque[RealReceive]] = {}
        self.rows: list[Row] = []

    def send(self, message: RealMessage, key: Key) -> None:
        """Send a message."""
        waiting = self._received.get(key)
        if waiting is None:
            self._sent.setdefault(key, deque()).append(message)
        else:
            self._match(message, _next_of(self._received, key, waiting))

    def complete(self, state: RealRank, receive: RealReceive, key: Key) -> None:
        """Complete a receive of a rank, which had been posted."""
        receive.key = key
        if receive.is_passed:
            self._look_for(receive, key)
        else:
            self.drain(state)

    def drain(self, state: RealRank) -> None:
        """Match receives of a rank in the order in which they were posted, as far as they are complete."""
        posted = state.posted
        while posted and (posted[0].is_over or posted[0].key is not None or len(posted) > _RECEIVES_HELD):
            receive = posted.popleft()
            if receive.key is not None:
                self._look_for(receive, receive.key)
            else:
                receive.is_passed = True

    def _look_for(self, receive: RealReceive, key: Key) -> None:
        waiting = self._sent.get(key)
        if waiting is None:
            self._received.setdefault(key, deque()).append(receive)
        else:
            self._match(_next_of(self._sent, key, waiting), receive)

    def _match(self, message: RealMessage, receive: RealReceive) -> None:
        receive.message, message.is_matched = message, True
        message.posted_s, message.receive_site = receive.posted_s, receive.site
        for call in message.calls:
            tell(call)
        message.calls.clear()  # no circle is left to the garbage collector
        if receive.call is not None:
            self.end(message, receive.call.left_s)
            tell(receive.call)

    def end(self, message: RealMessage, ended_s: float) -> None:
        """Add the row of a message that is matched and over; one that was sent later, by its clock, is sent then."""
        sent_s = message.sent_s
        if sent_s > ended_s:
            self._builder.remarks["messages arrive before they were sent: clocks run apart"] += 1
            sent_s = ended_s
        started_s = sent_s if message.done_s < message.posted_s else nan
        self.rows.append(
            (
                *(message.number, message.source, message.target, message.tag, message.nbytes),
                *(message.site, message.receive_site, sent_s, message.posted_s, started_s, ended_s),
            )
        )

    def check(self) -> None:
        """Check that each message has two sides.

        Raises
        ------
        UsageError
            Names the first one that has not.
        """
        for sent in self._sent.values():
            raise UsageError(
                f"rank {sent[0].source} sends {sent[0].nbytes:,} bytes to rank {sent[0].target} with tag {sent[0].tag} "
                f"at {sent[0].sent_s:.9g} s, and nobody receives them"
            )
        for (_, source, target, tag), received in self._received.items():
            raise UsageError(
                f"rank {target} receives from rank {source} with tag {tag} at {received[0].posted_s:.9g} s, "
                "and nobody sends that"
            )


def _next_of(waiting: dict[Key, deque[T]], key: Key, own: deque[T]) -> T:
    """Take the first of those that wait for a key; a key without any is forgotten."""
    first = own.popleft()
    if not own:
        del waiting[key]
    return first
