"""Point-to-point communication of buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn

from smpy.engine.messages import STANDARD, SYNCHRONOUS, Envelope, Load
from smpy.engine.running import current, mpi_call
from smpy.mpi.requests.argument_checks import check_dest, check_source, to_fill, to_send
from smpy.mpi.requests.compound_operations import SeveralTransfers, report, truncated
from smpy.mpi.requests.request import FROM_NOBODY, Request, from_nobody, new_request
from smpy.mpi.requests.sending import lent, outgoing_of, send, start_send
from smpy.mpi.requests.status import Status, fill
from smpy.mpi.state.bases import taken_over
from smpy.mpi.state.comm_core import CommCore, number_of
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.state.world import world

if TYPE_CHECKING:
    from smpy.mpi.data.message_specifications import Part

__all__ = ["PointToPoint"]


@taken_over("Send", "Recv", "Isend", "Irecv", "Sendrecv", "Sendrecv_replace", "Iprobe")
class PointToPoint(CommCore):
    """Send and receive buffers."""

    __slots__ = ()

    @mpi_call
    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer; returns when it may be used again."""
        send(self, outgoing_of, buf, dest, tag, STANDARD, "Send")

    @mpi_call
    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer; returns when the receive has begun and the buffer may be used again."""
        send(self, outgoing_of, buf, dest, tag, SYNCHRONOUS, "Ssend")

    @mpi_call
    def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer to a rank that has posted its receive; returns when the buffer may be used again."""
        send(self, outgoing_of, buf, dest, tag, STANDARD, "Rsend")

    @mpi_call
    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send a buffer, which must not change until the request completes."""
        return start_send(self, outgoing_of, buf, dest, tag, STANDARD, "Isend")

    @mpi_call
    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send a buffer; the request completes when the receive has begun and the buffer may be used again."""
        return start_send(self, outgoing_of, buf, dest, tag, SYNCHRONOUS, "Issend")

    @mpi_call
    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send a buffer to a rank that has posted its receive."""
        return start_send(self, outgoing_of, buf, dest, tag, STANDARD, "Irsend")

    @mpi_call
    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> None:
        """Receive a message into a buffer."""
        number = number_of(self, "Recv")
        message = FROM_NOBODY
        if source != PROC_NULL:
            load = to_fill(buf, "Recv").incoming()
            source, tag = check_source(number, source, tag, "Recv")
            message = current().recv(number, source, tag, load, "Recv")
        report(message, status, "Recv")

    @mpi_call
    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Start to receive a message into a buffer."""
        number = number_of(self, "Irecv")
        if source == PROC_NULL:
            return from_nobody()
        load = to_fill(buf, "Irecv").incoming()
        source, tag = check_source(number, source, tag, "Irecv")
        return new_request(current().irecv(number, source, tag, load))

    @mpi_call
    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send one buffer and receive into another at the same time."""
        number = number_of(self, "Sendrecv")
        out = None if dest == PROC_NULL else to_send(sendbuf, "Sendrecv")
        into = None if source == PROC_NULL else to_fill(recvbuf, "Sendrecv")
        _check_both(number, dest, sendtag, source, recvtag, "Sendrecv")
        if out is not None and into is not None and _is_oneself(number, dest, source):
            message = _copied(out, into, source, sendtag)
        else:
            load = None if out is None else out.outgoing()
            message = _exchanged(number, load, dest, sendtag, into, source, recvtag, "Sendrecv")
        report(message, status, "Sendrecv")

    @mpi_call
    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send what is in a buffer and receive another message into it."""
        number, call = number_of(self, "Sendrecv_replace"), "Sendrecv_replace"
        part = _replaced(buf, dest, source, "Sendrecv_replace")
        _check_both(number, dest, sendtag, source, recvtag, call)
        if part is not None and _is_oneself(number, dest, source):
            message = Envelope(source, sendtag, part.nbytes, part.nbytes)
        else:
            load = None if part is None or dest == PROC_NULL else _copy_of(part)
            into = None if source == PROC_NULL else part
            message = _exchanged(number, load, dest, sendtag, into, source, recvtag, call)
        report(message, status, call)

    @mpi_call
    def Isendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> Request:
        """Start to send one buffer and to receive into another."""
        number = number_of(self, "Isendrecv")
        out = None if dest == PROC_NULL else to_send(sendbuf, "Isendrecv")
        into = None if source == PROC_NULL else to_fill(recvbuf, "Isendrecv")
        _check_both(number, dest, sendtag, source, recvtag, "Isendrecv")
        return _exchange_of(number, None if out is None else out.outgoing(), dest, sendtag, into, source, recvtag)

    @mpi_call
    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> Request:
        """Start to send what is in a buffer and to receive another message into it."""
        number = number_of(self, "Isendrecv_replace")
        part = _replaced(buf, dest, source, "Isendrecv_replace")
        _check_both(number, dest, sendtag, source, recvtag, "Isendrecv_replace")
        load = None if part is None or dest == PROC_NULL else _copy_of(part)
        return _exchange_of(number, load, dest, sendtag, None if source == PROC_NULL else part, source, recvtag)

    @mpi_call
    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Literal[True]:
        """Wait for a message without receiving it."""
        number = number_of(self, "Probe")
        source, tag = check_source(number, source, tag, "Probe")
        fill(status, FROM_NOBODY if source == PROC_NULL else current().probe(number, source, tag))
        return True

    @mpi_call
    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Whether there is a message to receive; looking takes simulated time."""
        number = number_of(self, "Iprobe")
        source, tag = check_source(number, source, tag, "Iprobe")
        message = FROM_NOBODY if source == PROC_NULL else current().iprobe(number, source, tag)
        if message is not None:
            fill(status, message)
        return message is not None

    # ---- inside ----

    def _truncated(self, call: str, message: Envelope) -> NoReturn:
        truncated(call, message)


def _replaced(buf: Any, dest: int, source: int, call: str) -> Part | None:
    """What is sent and then overwritten, as far as it is."""
    if source != PROC_NULL:
        return to_fill(buf, call)
    return None if dest == PROC_NULL else to_send(buf, call)


def _copy_of(part: Part) -> Load:
    """The payload end of a send whose memory a receive may overwrite meanwhile."""
    carried = part.carried()
    return part.outgoing() if carried is None else lent(bytes(carried))


def _is_oneself(number: int, dest: int, source: int) -> bool:
    return dest == source == current().comm_rank(number) and not world().communicator(number).is_inter


def _check_both(number: int, dest: int, sendtag: int, source: int, recvtag: int, call: str) -> None:
    if dest != PROC_NULL:
        dest, sendtag = check_dest(number, dest, sendtag, call)
    source, recvtag = check_source(number, source, recvtag, call)


def _exchanged(
    number: int, load: Load | None, dest: int, sendtag: int, into: Part | None, source: int, recvtag: int, call: str
) -> Envelope:
    """Both at once: what was received. With nobody on one side it is a blocking call of the other."""
    engine = current()
    if into is None:
        if load is not None:
            engine.send(number, dest, sendtag, load, STANDARD, call)
        return FROM_NOBODY
    if load is None:
        return engine.recv(number, source, recvtag, into.incoming(), call)
    sending = engine.isend(number, dest, sendtag, load, STANDARD)
    receiving = engine.irecv(number, source, recvtag, into.incoming())
    return engine.wait_all([sending, receiving], call)[1]


def _exchange_of(
    number: int, load: Load | None, dest: int, sendtag: int, into: Part | None, source: int, recvtag: int
) -> Request:
    """Both at once, under way."""
    engine = current()
    sending = 0 if load is None else engine.isend(number, dest, sendtag, load, STANDARD)
    if into is None:
        return new_request(0, finish=SeveralTransfers([sending], whole=FROM_NOBODY))
    receiving = engine.irecv(number, source, recvtag, into.incoming())
    return new_request(0, finish=SeveralTransfers([sending, receiving]))


def _copied(out: Part, into: Part, rank: int, sendtag: int) -> Envelope:
    """A message to oneself in one call is a copy, and takes no time."""
    carried = out.carried()
    into.put(None if carried is None else bytes(carried)[: into.nbytes])
    return Envelope(rank, sendtag, out.nbytes, into.nbytes)
