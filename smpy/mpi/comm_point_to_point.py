"""Point-to-point communication of buffers: the general versions of the hot calls, and the rest of the family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn

from smpy.engine.messages import STANDARD, SYNCHRONOUS, Load, Message
from smpy.engine.running import current, mpi_call
from smpy.mpi.comm_core import CommCore, check_dest, check_source, number_of
from smpy.mpi.completion import truncated
from smpy.mpi.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.handles import RECEIVING
from smpy.mpi.messages import message_of
from smpy.mpi.requests import FROM_NOBODY, Request, new_request
from smpy.mpi.sending import send, start_send
from smpy.mpi.status import Status, fill

if TYPE_CHECKING:
    from smpy.mpi.messages import Part

__all__ = ["PointToPoint"]


class PointToPoint(CommCore):
    """Send and receive buffers."""

    __slots__ = ()

    @mpi_call
    def _Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        send(self, _outgoing, buf, dest, tag, STANDARD, "Send")

    @mpi_call
    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer; returns when the receive has begun and the buffer may be used again."""
        send(self, _outgoing, buf, dest, tag, SYNCHRONOUS, "Ssend")

    @mpi_call
    def _Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        return start_send(self, _outgoing, buf, dest, tag, STANDARD, "Isend")

    @mpi_call
    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send a buffer; the request completes when the receive has begun and the buffer may be used again."""
        return start_send(self, _outgoing, buf, dest, tag, SYNCHRONOUS, "Issend")

    @mpi_call
    def _Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> None:
        number = number_of(self, "Recv")
        message = FROM_NOBODY
        if source != PROC_NULL:
            load = message_of(buf, is_written=True).incoming()
            check_source(number, source, tag, "Recv")
            message = current().recv(number, source, tag, load, "Recv")
        self._received(message, status, "Recv")

    @mpi_call
    def _Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        number = number_of(self, "Irecv")
        if source == PROC_NULL:
            return new_request(0, RECEIVING, message=FROM_NOBODY)
        load = message_of(buf, is_written=True).incoming()
        check_source(number, source, tag, "Irecv")
        return new_request(current().irecv(number, source, tag, load), RECEIVING)

    @mpi_call
    def _Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        number = number_of(self, "Sendrecv")
        out = None if dest == PROC_NULL else message_of(sendbuf, is_written=False)
        into = None if source == PROC_NULL else message_of(recvbuf, is_written=True)
        if out is not None:
            check_dest(number, dest, sendtag, "Sendrecv")
        check_source(number, source, recvtag, "Sendrecv")
        if out is not None and into is not None and dest == source == current().comm_rank(number):
            message = _copied(out, into, source, sendtag, recvtag)
        else:
            message = _exchanged(number, out, dest, sendtag, into, source, recvtag)
        self._received(message, status, "Sendrecv")

    @mpi_call
    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Literal[True]:
        """Wait for a message without receiving it."""
        number = number_of(self, "Probe")
        check_source(number, source, tag, "Probe")
        fill(status, FROM_NOBODY if source == PROC_NULL else current().probe(number, source, tag))
        return True

    @mpi_call
    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Whether there is a message to receive."""
        number = number_of(self, "Iprobe")
        check_source(number, source, tag, "Iprobe")
        message = FROM_NOBODY if source == PROC_NULL else current().iprobe(number, source, tag)
        if message is not None:
            fill(status, message)
        return message is not None

    # ---- inside ----

    def _received(self, message: Message, status: Status | None, call: str) -> None:
        fill(status, message)
        if message.nbytes > message.capacity:
            truncated(call, message)

    def _truncated(self, call: str, message: Message) -> NoReturn:
        truncated(call, message)


def _outgoing(buf: Any) -> Load:
    return message_of(buf, is_written=False).outgoing()


def _exchanged(
    number: int, out: Part | None, dest: int, sendtag: int, into: Part | None, source: int, recvtag: int
) -> Message:
    """Both at once: what was received. With nobody on one side it is a blocking call of the other."""
    engine = current()
    if into is None:
        if out is not None:
            engine.send(number, dest, sendtag, out.outgoing(), STANDARD, "Sendrecv")
        return FROM_NOBODY
    if out is None:
        return engine.recv(number, source, recvtag, into.incoming(), "Sendrecv")
    sending = engine.isend(number, dest, sendtag, out.outgoing(), STANDARD)
    receiving = engine.irecv(number, source, recvtag, into.incoming())
    return engine.wait_all([sending, receiving], "Sendrecv")[1]


def _copied(out: Part, into: Part, rank: int, sendtag: int, recvtag: int) -> Message:
    """A message to oneself in one call is a copy, and takes no time."""
    message = Message(rank, sendtag, out.nbytes, into.nbytes)
    carried = out.carried()
    into.put(None if carried is None else bytes(carried)[: into.nbytes])
    return message
