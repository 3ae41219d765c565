"""One send, of anything that has a payload: a buffer's memory or a pickled object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smpy.engine.messages import NO_MESSAGE, Load
from smpy.engine.running import current
from smpy.mpi.comm_core import CommCore, check_dest, number_of
from smpy.mpi.constants import PROC_NULL
from smpy.mpi.handles import SENDING
from smpy.mpi.requests import Request, new_request

__all__ = ["send", "start_send"]

Payload = Callable[[Any], Load]


def send(comm: CommCore, payload: Payload, what: Any, dest: int, tag: int, mode: int, call: str) -> None:
    """Send `what`, whose payload end `payload` makes, and return when it may be used again."""
    number = number_of(comm, call)
    if dest != PROC_NULL:
        load = payload(what)
        check_dest(number, dest, tag, call)
        current().send(number, dest, tag, load, mode, call)


def start_send(comm: CommCore, payload: Payload, what: Any, dest: int, tag: int, mode: int, call: str) -> Request:
    """Start to send `what`, whose payload end `payload` makes."""
    number = number_of(comm, call)
    if dest == PROC_NULL:
        return new_request(0, SENDING, message=NO_MESSAGE)
    load = payload(what)
    check_dest(number, dest, tag, call)
    return new_request(current().isend(number, dest, tag, load, mode), SENDING)
