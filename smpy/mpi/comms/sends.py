"""Sends of buffers: standard, synchronous, ready and buffered, each blocking, started and persistent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from smpy.engine.messages import BUFFERED, STANDARD, SYNCHRONOUS, Load
from smpy.engine.running import current, mpi_call
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.message_specifications import check_dest, outgoing_of, to_send
from smpy.mpi.requests.attached import room_for
from smpy.mpi.requests.persistent import Prequest, new_prequest
from smpy.mpi.requests.request import Request, new_request, to_nobody
from smpy.mpi.state.comm_core import CommCore, number_of
from smpy.mpi.state.constants import PROC_NULL
from smpy.mpi.state.surface_bases import compiled_when_available

__all__ = ["Payload", "Sends", "send", "send_buffered", "start_send"]

Payload: TypeAlias = Callable[[Any, str], Load]
"""Function that makes the payload end of a send from a buffer or an object and the name of the call."""


@compiled_when_available("Send", "Isend")
class Sends(CommCore):
    """Send buffers."""

    __slots__ = ()

    # ---- standard ----

    @mpi_call
    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer; returns when it may be used again."""
        send(self, outgoing_of, buf, dest, tag, STANDARD, "Send")

    @mpi_call
    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send a buffer, which must not change until the request completes."""
        return start_send(self, outgoing_of, buf, dest, tag, STANDARD, "Isend")

    @mpi_call
    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A send of a buffer, to be started."""
        return _sending(self, buf, dest, tag, STANDARD, "Send_init")

    # ---- synchronous ----

    @mpi_call
    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer; returns when the receive has begun and the buffer may be used again."""
        send(self, outgoing_of, buf, dest, tag, SYNCHRONOUS, "Ssend")

    @mpi_call
    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send a buffer; the request completes when the receive has begun and the buffer may be used again."""
        return start_send(self, outgoing_of, buf, dest, tag, SYNCHRONOUS, "Issend")

    @mpi_call
    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A send of a buffer that completes when its receive has begun, to be started."""
        return _sending(self, buf, dest, tag, SYNCHRONOUS, "Ssend_init")

    # ---- ready ----

    @mpi_call
    def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer to a rank that has posted its receive; returns when the buffer may be used again."""
        send(self, outgoing_of, buf, dest, tag, STANDARD, "Rsend")

    @mpi_call
    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send a buffer to a rank that has posted its receive."""
        return start_send(self, outgoing_of, buf, dest, tag, STANDARD, "Irsend")

    @mpi_call
    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A send of a buffer whose receive will have been posted, to be started."""
        return _sending(self, buf, dest, tag, STANDARD, "Rsend_init")

    # ---- buffered ----

    @mpi_call
    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a copy of a buffer, which takes room in the attached one until it is delivered."""
        send_buffered(self, outgoing_of, buf, dest, tag, "Bsend", is_blocking=True)

    @mpi_call
    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send a copy of a buffer, which takes room in the attached one until it is delivered."""
        return send_buffered(self, outgoing_of, buf, dest, tag, "Ibsend", is_blocking=False)

    @mpi_call
    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A send of a buffer through the attached one, to be started."""

        def start(number: int, part: BufferSegment) -> Request:
            return _send_load_buffered(number, part.outgoing(), dest, tag, "Bsend_init", is_blocking=True)

        return _starting(self, buf, dest, tag, start, "Bsend_init")


def send(comm: CommCore, payload: Payload, content: Any, dest: int, tag: int, mode: int, call: str) -> None:
    """Send a content, converted by `payload`, and return when it may be used again."""
    number = comm._kernel_comm
    if number < 0 or current().has_added_ranks:
        number = number_of(comm, call)
    if dest != PROC_NULL:
        load = payload(content, call)
        dest, tag = check_dest(number, dest, tag, call)
        current().send(number, dest, tag, load, mode, call)


def start_send(comm: CommCore, payload: Payload, content: Any, dest: int, tag: int, mode: int, call: str) -> Request:
    """Start to send a content, converted by `payload`."""
    number = comm._kernel_comm
    if number < 0 or current().has_added_ranks:
        number = number_of(comm, call)
    if dest == PROC_NULL:
        return to_nobody()
    load = payload(content, call)
    dest, tag = check_dest(number, dest, tag, call)
    return new_request(current().isend(number, dest, tag, load, mode))


def send_buffered(
    comm: CommCore, payload: Payload, content: Any, dest: int, tag: int, call: str, *, is_blocking: bool
) -> Request:
    """Send a content through the attached buffer; returns a completed request."""
    number = number_of(comm, call)
    if dest == PROC_NULL:
        return to_nobody()
    load = payload(content, call)
    dest, tag = check_dest(number, dest, tag, call)
    return _send_load_buffered(number, load, dest, tag, call, is_blocking=is_blocking)


def _send_load_buffered(number: int, load: Load, dest: int, tag: int, call: str, *, is_blocking: bool) -> Request:
    room = room_for(number, load.nbytes, call)
    room.hold(current().isend(number, dest, tag, load, BUFFERED, is_blocking=is_blocking), load.nbytes)
    return new_request(0)


def _sending(comm: CommCore, buf: Any, dest: int, tag: int, mode: int, call: str) -> Prequest:
    """A send to be started, with the overhead of a blocking send, as in SMPI."""

    def start(number: int, part: BufferSegment) -> Request:
        return new_request(current().isend(number, dest, tag, part.outgoing(), mode, is_blocking=True))

    return _starting(comm, buf, dest, tag, start, call)


def _starting(
    comm: CommCore, buf: Any, dest: int, tag: int, start: Callable[[int, BufferSegment], Request], call: str
) -> Prequest:
    number = number_of(comm, call)
    if dest == PROC_NULL:
        return new_prequest(partial(to_nobody))
    part = to_send(buf, call, may_be_on_device=True)
    dest, tag = check_dest(number, dest, tag, call)
    return new_prequest(lambda: start(number, part))
