"""One send, of anything that has a payload: a buffer's memory or a pickled object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smpy.engine.kernel import ffi
from smpy.engine.messages import BUFFERED, Load
from smpy.engine.running import current
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.data.pickling import pickle
from smpy.mpi.requests.argument_checks import blame, check_dest
from smpy.mpi.requests.attached import room_for
from smpy.mpi.requests.request import Request, new_request
from smpy.mpi.state.comm_core import CommCore, number_of
from smpy.mpi.state.constants import PROC_NULL

__all__ = [
    "Payload",
    "lent",
    "load_of",
    "outgoing_of",
    "send",
    "send_buffered",
    "send_load_buffered",
    "start_send",
    "to_nobody",
]

Payload = Callable[[Any], Load]
"""Makes the payload end of what the program wants sent."""


def lent(data: bytes) -> Load:
    """The payload end of bytes."""
    keep = ffi.from_buffer(data)
    return Load(len(data), int(ffi.cast("uintptr_t", keep)), keep)


def outgoing_of(buf: Any) -> Load:
    """The payload end of what a program passes as a message."""
    return part_of(buf, is_written=False).outgoing()


def load_of(obj: Any) -> Load:
    """The payload end of a send of an object."""
    return lent(pickle.dumps(obj))


def to_nobody() -> Request:
    """A send to ``PROC_NULL``: it is complete, as one is that needs no receive."""
    return new_request(0)


def send(comm: CommCore, payload: Payload, what: Any, dest: int, tag: int, mode: int, call: str) -> None:
    """Send `what`, whose payload end `payload` makes, and return when it may be used again."""
    number = number_of(comm, call)
    if dest != PROC_NULL:
        load = _load_of(payload, what, call)
        dest, tag = check_dest(number, dest, tag, call)
        current().send(number, dest, tag, load, mode, call)


def start_send(comm: CommCore, payload: Payload, what: Any, dest: int, tag: int, mode: int, call: str) -> Request:
    """Start to send `what`, whose payload end `payload` makes."""
    number = number_of(comm, call)
    if dest == PROC_NULL:
        return to_nobody()
    load = _load_of(payload, what, call)
    dest, tag = check_dest(number, dest, tag, call)
    return new_request(current().isend(number, dest, tag, load, mode))


def send_buffered(
    comm: CommCore, payload: Payload, what: Any, dest: int, tag: int, call: str, *, is_blocking: bool
) -> Request:
    """Send `what` through the attached buffer: the request has completed."""
    number = number_of(comm, call)
    if dest == PROC_NULL:
        return to_nobody()
    load = _load_of(payload, what, call)
    dest, tag = check_dest(number, dest, tag, call)
    return send_load_buffered(number, load, dest, tag, call, is_blocking=is_blocking)


def send_load_buffered(number: int, load: Load, dest: int, tag: int, call: str, *, is_blocking: bool) -> Request:
    """Send a payload through the attached buffer."""
    room = room_for(number, load.nbytes, call)
    room.hold(current().isend(number, dest, tag, load, BUFFERED, is_blocking=is_blocking), load.nbytes)
    return new_request(0)


def _load_of(payload: Payload, what: Any, call: str) -> Load:
    try:
        return payload(what)
    except Exception as error:  # noqa: BLE001  # pickling runs the program's own code
        blame(error, call, "the message to send")
