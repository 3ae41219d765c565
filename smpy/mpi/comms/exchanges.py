"""A send and a receive in one call."""

from __future__ import annotations

from typing import Any

from smpy.engine.messages import STANDARD, Envelope, Load, PartialBytes, copied, piece_of
from smpy.engine.running import current, mpi_call
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.message_specifications import check_dest, check_source, lent, to_fill, to_send
from smpy.mpi.requests.compound_operations import SeveralTransfers, report
from smpy.mpi.requests.request import FROM_NOBODY, Request, new_request
from smpy.mpi.requests.status import Status
from smpy.mpi.state.comm_core import CommCore, number_of
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.state.surface_bases import compiled_when_available
from smpy.mpi.state.world import world

__all__ = ["Exchanges"]


@compiled_when_available("Sendrecv", "Sendrecv_replace")
class Exchanges(CommCore):
    """Send one message and receive another."""

    __slots__ = ()

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
        out = None if dest == PROC_NULL else to_send(sendbuf, "Sendrecv", may_be_on_device=True)
        into = None if source == PROC_NULL else to_fill(recvbuf, "Sendrecv", may_be_on_device=True)
        dest, sendtag, source, recvtag = _checked(number, dest, sendtag, source, recvtag, "Sendrecv")
        is_on_device = any(part is not None and part.memory.is_on_device for part in (out, into))
        if (
            out is not None
            and into is not None
            and not is_on_device
            and _is_with_itself(number, dest, sendtag, source, recvtag, "Sendrecv")
        ):
            envelope = _copied(out, into, source, sendtag)
        else:
            load = None if out is None else out.outgoing()
            envelope = _exchanged(number, load, dest, sendtag, into, source, recvtag, "Sendrecv")
        report(envelope, status, "Sendrecv")

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
        out = None if dest == PROC_NULL else to_send(sendbuf, "Isendrecv", may_be_on_device=True)
        into = None if source == PROC_NULL else to_fill(recvbuf, "Isendrecv", may_be_on_device=True)
        dest, sendtag, source, recvtag = _checked(number, dest, sendtag, source, recvtag, "Isendrecv")
        return _exchange_of(number, None if out is None else out.outgoing(), dest, sendtag, into, source, recvtag)

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
        """Send the contents of a buffer and receive another message into it."""
        number, call = number_of(self, "Sendrecv_replace"), "Sendrecv_replace"
        part = _replaced(buf, dest, source, "Sendrecv_replace")
        dest, sendtag, source, recvtag = _checked(number, dest, sendtag, source, recvtag, call)
        if part is not None and _is_with_itself(number, dest, sendtag, source, recvtag, call):
            envelope = Envelope(source, sendtag, part.nbytes, part.nbytes)
        else:
            load = None if part is None or dest == PROC_NULL else _copy_of(part)
            into = None if source == PROC_NULL else part
            envelope = _exchanged(number, load, dest, sendtag, into, source, recvtag, call)
        report(envelope, status, call)

    @mpi_call
    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> Request:
        """Start to send the contents of a buffer and to receive another message into it."""
        number = number_of(self, "Isendrecv_replace")
        part = _replaced(buf, dest, source, "Isendrecv_replace")
        dest, sendtag, source, recvtag = _checked(number, dest, sendtag, source, recvtag, "Isendrecv_replace")
        load = None if part is None or dest == PROC_NULL else _copy_of(part)
        return _exchange_of(number, load, dest, sendtag, None if source == PROC_NULL else part, source, recvtag)


def _replaced(buf: Any, dest: int, source: int, call: str) -> BufferSegment | None:
    """The buffer that is sent and overwritten, read-only without a source; None without either peer."""
    if source != PROC_NULL:
        return to_fill(buf, call, may_be_on_device=True)
    return None if dest == PROC_NULL else to_send(buf, call, may_be_on_device=True)


def _copy_of(part: BufferSegment) -> Load:
    """The payload end of a send whose memory a receive may overwrite meanwhile."""
    carried = part.carried_in_time()
    if carried is None:
        return part.outgoing()
    if isinstance(carried, PartialBytes):
        return lent(bytes(carried.data))._replace(private=carried.private)
    return lent(bytes(carried))


def _is_with_itself(number: int, dest: int, sendtag: int, source: int, recvtag: int, call: str) -> bool:
    """Whether both peers are the rank itself, and no earlier send or receive matches either side."""
    engine = current()
    if not dest == source == engine.comm_rank(number) or world().communicator(number).is_inter:
        return False
    engine.catch_up(call)
    return engine.matches_itself(number, sendtag, recvtag)


def _checked(number: int, dest: int, sendtag: int, source: int, recvtag: int, call: str) -> tuple[int, int, int, int]:
    """Both peers and tags as integers; raises unless messages can be exchanged with them."""
    if dest != PROC_NULL:
        dest, sendtag = check_dest(number, dest, sendtag, call)
    return dest, sendtag, *check_source(number, source, recvtag, call)


def _exchanged(
    number: int,
    load: Load | None,
    dest: int,
    sendtag: int,
    into: BufferSegment | None,
    source: int,
    recvtag: int,
    call: str,
) -> Envelope:
    """Send and receive at once; returns the received envelope. Without one peer, only the other call is made."""
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
    number: int, load: Load | None, dest: int, sendtag: int, into: BufferSegment | None, source: int, recvtag: int
) -> Request:
    """A request for a send and a receive that have been started."""
    engine = current()
    sending = 0 if load is None else engine.isend(number, dest, sendtag, load, STANDARD)
    if into is None:
        return new_request(0, finish=SeveralTransfers([sending], whole=FROM_NOBODY))
    receiving = engine.irecv(number, source, recvtag, into.incoming())
    return new_request(0, finish=SeveralTransfers([sending, receiving]))


def _copied(out: BufferSegment, into: BufferSegment, rank: int, sendtag: int) -> Envelope:
    """A message to oneself in one call is a copy."""
    carried = out.carried_in_time()
    kept = copied(carried)
    current().spend_on_copy(0 if kept is None else min(len(kept), into.nbytes))
    into.put_in_time(None if kept is None else piece_of(kept, 0, min(len(kept), into.nbytes)))
    return Envelope(rank, sendtag, out.nbytes, into.nbytes)
