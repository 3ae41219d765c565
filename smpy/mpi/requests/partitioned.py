"""Partitioned communication: the program marks each part of a message as ready.

The message is sent as one when the last part is ready; the receiver has all parts when it has arrived.
"""

from __future__ import annotations

from collections.abc import Iterable

from smpy.engine.messages import Envelope
from smpy.engine.running import current
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.requests.compound_operations import OUT_OF_REACH, CompoundOperation, SeveralTransfers
from smpy.mpi.requests.request import Request, from_nobody, new_request
from smpy.mpi.state.exceptions import fail

__all__ = ["PartitionedReceive", "PartitionedSend"]

_TAGS = 1 << 30
"""Offset of the tags of partitioned messages, so that they match each other only, on a context of their own."""


class PartitionedReceive:
    """A receive in parts: called, it starts once more.

    Parameters
    ----------
    number : int
        The kernel's number of the communicator.
    source, tag : int
        Source and tag of the message.
    part : BufferSegment
        All of its entries; None from ``PROC_NULL``.
    n_partitions : int
        Number of parts.
    """

    def __init__(self, number: int, source: int, tag: int, part: BufferSegment | None, n_partitions: int) -> None:
        self._number, self._source, self._tag = number, source, tag | _TAGS
        self._part = part
        self.n_partitions = n_partitions

    def __call__(self) -> Request:
        if self._part is None:
            return from_nobody()
        number = current().irecv(self._number, self._source, self._tag, self._part.incoming())
        return new_request(0, finish=_Receiving([number]))


class PartitionedSend:
    """A send in parts: called, it starts once more.

    Parameters
    ----------
    number : int
        The kernel's number of the communicator.
    dest, tag : int
        Destination and tag of the message.
    part : BufferSegment
        All of its entries.
    n_partitions : int
        Number of parts.
    """

    def __init__(self, number: int, dest: int, tag: int, part: BufferSegment | None, n_partitions: int) -> None:
        self._number, self._dest, self._tag = number, dest, tag | _TAGS
        self._part = part
        self.n_partitions = n_partitions
        self.missing: set[int] = set()
        self.request = 0

    def __call__(self) -> Request:
        self.missing = set(range(self.n_partitions))
        self.request = 0
        return new_request(0, finish=_WhenReady(self))

    def ready(self, partitions: Iterable[int], call: str) -> None:
        """Mark parts as ready; the last one starts the send."""
        for partition in partitions:
            if partition not in self.missing:
                fail(
                    "ERR_ARG",
                    f"{call}: partition {partition} is ready already, or not one of 0 to {self.n_partitions - 1}",
                )
            self.missing.remove(partition)
            if not self.missing and self._part is not None:
                load = self._part.outgoing()
                self.request = current().isend(self._number, self._dest, self._tag, load)


class _Receiving(SeveralTransfers):
    """A partitioned receive under way."""

    __slots__ = ()

    def advance(self, envelope: Envelope) -> Envelope | None:
        return super().advance(envelope._replace(tag=envelope.tag & ~_TAGS))


class _WhenReady(CompoundOperation):
    """A partitioned send under way."""

    __slots__ = ("_send",)

    def __init__(self, send: PartitionedSend) -> None:
        self._send = send

    def next(self) -> int:
        return OUT_OF_REACH if self._send.missing else self._send.request

    def advance(self, envelope: Envelope) -> Envelope | None:
        return envelope

    def release(self) -> None:
        if self._send.request > 0:
            current().release(self._send.request)

    def explain(self, call: str) -> str:
        missing = ", ".join(map(str, sorted(self._send.missing)[:8]))
        return f"{call}: the send would never complete: partitions {missing} are not ready; call Pready for each"
