"""The buffers that programs attach for buffered sends: their size, and the undelivered messages that take room.

A rank has one for all its communicators, and each communicator may have one of its own. The kernel copies the messages
themselves: only the size of the program's memory counts.
"""

from __future__ import annotations

from typing import Any, Final

from smpy.engine.messages import NO_MESSAGE, Envelope
from smpy.engine.running import current, per_world
from smpy.mpi.data.buffers import memory_of
from smpy.mpi.data.special_buffers import BUFFER_AUTOMATIC, BufferAutomaticType
from smpy.mpi.requests.compound_operations import CompoundOperation
from smpy.mpi.state.constants import BSEND_OVERHEAD
from smpy.mpi.state.exceptions import fail

__all__ = [
    "ALL_COMMUNICATORS",
    "AttachedBuffer",
    "Flush",
    "attach",
    "attached",
    "detach",
    "room_for",
]

ALL_COMMUNICATORS: Final = -1
"""Key of the rank's buffer for communicators without a buffer of their own."""

_FEW_MESSAGES = 64


class AttachedBuffer:
    """Room for messages on their way.

    Parameters
    ----------
    memory : buffer-like or BUFFER_AUTOMATIC
        Memory that the program attached; with `BUFFER_AUTOMATIC` there is always room.

    Attributes
    ----------
    memory : buffer-like or BUFFER_AUTOMATIC
        Memory that the program attached.
    """

    __slots__ = ("_look_at", "_n_sent", "_on_the_way", "_room_bytes", "_taken_bytes", "memory")

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        is_automatic = isinstance(memory, BufferAutomaticType)
        self._room_bytes = None if is_automatic else memory_of(memory, is_written=True).nbytes
        self._on_the_way: dict[int, tuple[int, int]] = {}
        self._taken_bytes = 0
        self._n_sent = 0
        self._look_at = _FEW_MESSAGES

    def reserve(self, nbytes: int, call: str) -> None:
        """Raise ``ERR_BUFFER`` unless a message of `nbytes` bytes fits."""
        if len(self._on_the_way) >= self._look_at:
            self._drop_delivered()
            self._look_at = max(_FEW_MESSAGES, 2 * len(self._on_the_way))
        if self._fits(nbytes):
            return
        current().block(call)
        self._drop_delivered()
        if not self._fits(nbytes):
            fail(
                "ERR_BUFFER",
                f"{call}: a message of {nbytes} bytes and BSEND_OVERHEAD, {BSEND_OVERHEAD} bytes, do not fit into the "
                f"attached buffer of {self._room_bytes} bytes, of which messages on their way take "
                f"{self._taken_bytes}: attach a larger one",
            )

    def hold(self, number: int, nbytes: int) -> None:
        """Count a message that has just been sent, by the kernel's request for it."""
        self._n_sent += 1
        self._on_the_way[self._n_sent] = number, nbytes + BSEND_OVERHEAD
        self._taken_bytes += nbytes + BSEND_OVERHEAD

    def flush(self, call: str) -> None:
        """Wait until every message has been delivered."""
        current().wait_all([number for number, _ in self._on_the_way.values()], call)
        for message in list(self._on_the_way):
            self._forget(message)

    def oldest(self, sent_before: int) -> tuple[int, int]:
        """Number and kernel request of the oldest undelivered one of the first `sent_before` messages; else zeros."""
        for message, (number, _) in self._on_the_way.items():
            return (message, number) if message <= sent_before else (0, 0)
        return 0, 0

    def delivered(self, message: int) -> None:
        """Free the room of a message that has been delivered and whose request is released."""
        self._forget(message)

    @property
    def n_sent(self) -> int:
        """Number of messages that have been sent through the buffer."""
        return self._n_sent

    def _fits(self, nbytes: int) -> bool:
        return self._room_bytes is None or self._taken_bytes + nbytes + BSEND_OVERHEAD <= self._room_bytes

    def _forget(self, message: int) -> None:
        self._taken_bytes -= self._on_the_way.pop(message)[1]

    def _drop_delivered(self) -> None:
        engine = current()
        ended = [(message, number) for message, (number, _) in self._on_the_way.items() if engine.is_done(number)]
        for message, number in ended:
            engine.release(number)
            self._forget(message)


class Flush(CompoundOperation):
    """The delivery of all messages sent so far.

    Parameters
    ----------
    buffer : AttachedBuffer
        Buffer through which they were sent.
    """

    __slots__ = ("_buffer", "_sent_before")

    def __init__(self, buffer: AttachedBuffer) -> None:
        self._buffer = buffer
        self._sent_before = buffer.n_sent

    def next(self) -> int:
        return self._buffer.oldest(self._sent_before)[1]

    def advance(self, envelope: Envelope) -> Envelope | None:
        sent, _ = self._buffer.oldest(self._sent_before)
        if sent:
            self._buffer.delivered(sent)
        return None if self.next() else NO_MESSAGE


class _AttachedBuffers(dict[tuple[int, int], AttachedBuffer]):
    """The attached buffers of a world, by rank and communicator."""


def attach(communicator: int, memory: Any) -> None:
    """Give the running rank a buffer, for one communicator or for `ALL_COMMUNICATORS`."""
    known, key = per_world(_AttachedBuffers), (current().rank, communicator)
    if key in known:
        fail("ERR_BUFFER", "Attach_buffer: a buffer is attached already: call Detach_buffer first")
    known[key] = AttachedBuffer(BUFFER_AUTOMATIC if memory is None else memory)


def attached(communicator: int, call: str) -> AttachedBuffer:
    """The running rank's buffer, for one communicator or for `ALL_COMMUNICATORS`."""
    buffer = _find(communicator)
    return fail("ERR_BUFFER", f"{call}: no buffer is attached") if buffer is None else buffer


def detach(communicator: int) -> Any:
    """Wait until the messages have been delivered, detach the buffer and return the program's memory."""
    buffer = attached(communicator, "Detach_buffer")
    buffer.flush("Detach_buffer")
    del per_world(_AttachedBuffers)[current().rank, communicator]
    return buffer.memory


def room_for(communicator: int, nbytes: int, call: str) -> AttachedBuffer:
    """The buffer that a message of `nbytes` bytes fits into: the communicator's, else the rank's."""
    buffer = _find(communicator) or _find(ALL_COMMUNICATORS)
    if buffer is None:
        return fail(
            "ERR_BUFFER",
            f"{call}: no buffer is attached: MPI.Attach_buffer(bytearray(n)) with room for every message on its way, "
            "each with MPI.BSEND_OVERHEAD bytes more",
        )
    buffer.reserve(nbytes, call)
    return buffer


def _find(communicator: int) -> AttachedBuffer | None:
    return per_world(_AttachedBuffers).get((current().rank, communicator))
