"""Operations behind a request that are not one transfer: several transfers, or something the kernel does not know.

A compound operation is the ``finish`` of its request. Code that completes the request takes the next kernel request
from it, waits for this, passes its message back, and repeats until nothing is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NoReturn

from smpy.engine.messages import NO_MESSAGE, Envelope
from smpy.engine.running import current
from smpy.mpi.requests.status import Status, fill
from smpy.mpi.state.exceptions import fail

__all__ = ["OUT_OF_REACH", "CompoundOperation", "SeveralTransfers", "report", "truncated"]

OUT_OF_REACH = -1
"""Number of an operation that no message completes, but another call of the program."""


def truncated(call: str, envelope: Envelope) -> NoReturn:
    """Raise ``ERR_TRUNCATE`` for a message that did not fit."""
    fail(
        "ERR_TRUNCATE",
        f"{call}: the message from rank {envelope.source} with tag {envelope.tag} has {envelope.nbytes} bytes, "
        f"the buffer has room for {envelope.capacity}: receive into a larger one",
    )


def report(envelope: Envelope, status: Status | None, call: str) -> None:
    """Write a completed operation's message into `status`; raise if it was truncated."""
    fill(status, envelope)
    if envelope.nbytes > envelope.capacity:
        truncated(call, envelope)


class CompoundOperation:
    """The operation of a request that is not one transfer."""

    __slots__ = ()

    def next(self) -> int:
        """The kernel's request to wait for now; 0 when nothing is left, `OUT_OF_REACH` when it has none."""
        raise NotImplementedError

    def advance(self, envelope: Envelope) -> Envelope | None:
        """Take the message of the request that `next` named; the whole message if nothing is left, else None."""
        raise NotImplementedError

    def complete(self, envelope: Envelope, status: Status | None, call: str) -> Any:
        """Complete the operation: fill the status; returns the object received, if any."""
        report(envelope, status, call)

    def fill_status(self, envelope: Envelope, status: Status | None, call: str) -> None:
        """Fill the status without completing."""
        fill(status, envelope)

    def cancel(self, call: str) -> None:
        """Try to cancel the operation."""
        fail("ERR_REQUEST", f"{call}: this operation cannot be cancelled")

    def release(self) -> None:
        """Let the operation go on by itself: no call will wait for it."""

    def explain(self, call: str) -> str:
        """Error message: the reason that waiting for it, when it is out of reach, would never end."""
        raise NotImplementedError


class SeveralTransfers(CompoundOperation):
    """Transfers that make one operation.

    Parameters
    ----------
    numbers : iterable of int
        The kernel's requests; those that are 0 are complete.
    whole : Envelope
        Envelope to which the received ones are added.
    """

    __slots__ = ("_left", "_whole")

    def __init__(self, numbers: Iterable[int], whole: Envelope = NO_MESSAGE) -> None:
        self._left = deque(number for number in numbers if number > 0)
        self._whole = whole

    def next(self) -> int:
        return self._left[0] if self._left else 0

    def advance(self, envelope: Envelope) -> Envelope | None:
        if self._left:
            self._left.popleft()
            self._add(envelope)
        return None if self._left else self._whole

    def _add(self, part: Envelope) -> None:
        whole = self._whole
        if part != NO_MESSAGE:
            self._whole = part._replace(nbytes=whole.nbytes + part.nbytes, capacity=whole.capacity + part.capacity)

    def cancel(self, call: str) -> None:
        for number in self._left:
            current().cancel(number)

    def release(self) -> None:
        while self._left:
            current().release(self._left.popleft())
