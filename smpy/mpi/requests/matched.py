"""`Message`: a message that a probe has taken out of matching, so that only its holder can receive it."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self

from smpy.engine.messages import Envelope, Load
from smpy.engine.running import current, mpi_call
from smpy.mpi.data.message_specifications import check_source, incoming_of
from smpy.mpi.requests.compound_operations import report
from smpy.mpi.requests.objects import ANY_SIZE, ObjectReceive
from smpy.mpi.requests.request import FROM_NOBODY, Request, from_nobody, new_request
from smpy.mpi.requests.status import Status, fill
from smpy.mpi.state.comm_core import CommCore, number_of
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import Handle, of_family

__all__ = ["MESSAGE_NO_PROC", "MESSAGE_NULL", "Message", "probe_matched"]

_NULL, _NO_PROC = 0, -1
_SHOWN_NO_PROC = 1 << 31  # beyond the kernel's numbers


class Message(Handle):
    """A message that a matched probe has found; receiving it makes the handle null.

    Parameters
    ----------
    message : Message, optional
        One to make another handle of.
    """

    __slots__ = ("__weakref__", "_held")
    _family: ClassVar = "Message"
    _null_identity: ClassVar = _NULL

    _held: int

    def __new__(cls, message: Message | None = None) -> Self:
        self = super().__new__(cls)
        self._held = _NULL if message is None else of_family(message, Message)._held
        return self

    def _identity(self) -> int:
        return self._held

    def _handle_number(self) -> int:
        return self._held if self._held >= 0 else _SHOWN_NO_PROC

    def _become_null(self) -> None:
        self._held = _NULL

    # ---- finding ----

    @classmethod
    @mpi_call
    def Probe(cls, comm: CommCore, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Self:
        """Wait for a message and take it."""
        return cls(probe_matched(comm, source, tag, status, "Mprobe", is_waiting=True))

    @classmethod
    @mpi_call
    def Iprobe(
        cls, comm: CommCore, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Self | None:
        """Take a message if there is one."""
        message = probe_matched(comm, source, tag, status, "Improbe", is_waiting=False)
        return None if message is None else cls(message)

    @classmethod
    def probe(cls, comm: CommCore, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Self:
        """Wait for a message and take it."""
        return cls.Probe(comm, source, tag, status)

    @classmethod
    def iprobe(
        cls, comm: CommCore, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Self | None:
        """Take a message if there is one."""
        return cls.Iprobe(comm, source, tag, status)

    # ---- receiving ----

    @mpi_call
    def Recv(self, buf: Any, status: Status | None = None) -> None:
        """Receive the message into a buffer."""
        number = self._start(self._room_in(buf, "Recv"), "Recv")
        report(_waited_for(number, "Recv"), status, "Recv")

    @mpi_call
    def Irecv(self, buf: Any) -> Request:
        """Start to receive the message into a buffer."""
        number = self._start(self._room_in(buf, "Irecv"), "Irecv")
        return new_request(number) if number else from_nobody()

    @mpi_call
    def recv(self, status: Status | None = None) -> Any:
        """Receive the object that the message carries."""
        arriving = ObjectReceive()
        number = self._start(arriving.load(ANY_SIZE), "recv")
        message = _waited_for(number, "recv")
        report(message, status, "recv")
        return arriving.open(message)

    @mpi_call
    def irecv(self) -> Request:
        """Start to receive the object that the message carries."""
        arriving = ObjectReceive()
        number = self._start(arriving.load(ANY_SIZE), "irecv")
        return new_request(number, finish=arriving.open) if number else from_nobody()

    # ---- inside ----

    def _room_in(self, buf: Any, call: str) -> Load:
        return Load(0) if self._held == _NO_PROC else incoming_of(buf, call)

    def _start(self, load: Load, call: str) -> int:
        """Start the receive: the kernel's request, 0 for the message from nobody."""
        held = self._held
        if held == _NULL:
            fail("ERR_REQUEST", f"{call}: the message is null: it has been received already")
        if self is not MESSAGE_NO_PROC:
            self._held = _NULL
        return 0 if held == _NO_PROC else current().imrecv(held, load)


MESSAGE_NULL: Final = Message()
MESSAGE_NO_PROC: Final = Message()
MESSAGE_NO_PROC._held = _NO_PROC
Message._know({"MESSAGE_NULL": MESSAGE_NULL, "MESSAGE_NO_PROC": MESSAGE_NO_PROC})


def _waited_for(number: int, call: str) -> Envelope:
    return current().wait(number, call) if number else FROM_NOBODY


def probe_matched(
    comm: CommCore, source: int, tag: int, status: Status | None, call: str, *, is_waiting: bool
) -> Message | None:
    """Take a message out of matching; None when there is none and nobody waits for one."""
    number = number_of(comm, call)
    source, tag = check_source(number, source, tag, call)
    if source == PROC_NULL:
        fill(status, FROM_NOBODY)
        return Message(MESSAGE_NO_PROC)
    engine = current()
    match = engine.mprobe(number, source, tag) if is_waiting else engine.improbe(number, source, tag)
    if match is None:
        return None
    message = Message()
    message._held, envelope = match
    fill(status, envelope)
    return message
