"""Point-to-point communication of objects: pickled bytes under the same protocol.

A receive of an object takes any size, as mpi4py's matched probe does; `irecv` has room for ``mpi4py.rc.irecv_bufsz``
bytes, as there.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any, Final, Literal

from smpy.engine.kernel import ffi
from smpy.engine.messages import STANDARD, SYNCHRONOUS, Load, Message
from smpy.engine.running import current, mpi_call
from smpy.mpi.comm_core import check_source, number_of
from smpy.mpi.comm_point_to_point import PointToPoint
from smpy.mpi.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.environment import option
from smpy.mpi.handles import RECEIVING
from smpy.mpi.pickling import pickle
from smpy.mpi.requests import FROM_NOBODY, Request, new_request
from smpy.mpi.sending import send, start_send
from smpy.mpi.status import Status

__all__ = ["ANY_SIZE", "Inbox", "ObjectPointToPoint", "load_of"]

ANY_SIZE: Final = 1 << 62
"""Room that every message fits into."""


def load_of(obj: Any) -> Load:
    """The payload end of a send of an object."""
    lent = ffi.from_buffer(pickle.dumps(obj))
    return Load(len(lent), int(ffi.cast("uintptr_t", lent)), lent)


class Inbox:
    """Where the bytes of a pickled object arrive."""

    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data = b""

    def load(self, capacity: int) -> Load:
        """The payload end of the receive."""
        return Load(capacity, take=self._take)

    def _take(self, view: memoryview) -> None:
        self._data = bytes(view)

    def open(self, message: Message | None = None) -> Any:
        """The object; None when nothing came."""
        data, self._data = self._data, b""
        return pickle.loads(data) if data else None


class ObjectPointToPoint(PointToPoint):
    """Send and receive objects."""

    __slots__ = ()

    @mpi_call
    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object."""
        send(self, load_of, obj, dest, tag, STANDARD, "send")

    @mpi_call
    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object; returns when the receive has begun."""
        send(self, load_of, obj, dest, tag, SYNCHRONOUS, "ssend")

    @mpi_call
    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Start to send an object."""
        return start_send(self, load_of, obj, dest, tag, STANDARD, "isend")

    @mpi_call
    def issend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Start to send an object; the request completes when the receive has begun."""
        return start_send(self, load_of, obj, dest, tag, SYNCHRONOUS, "issend")

    @mpi_call
    def recv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Any:
        """Receive an object.

        Parameters
        ----------
        buf : int or buffer, optional
            Room for the pickled object, or its size in bytes; mpi4py has deprecated it.
        source, tag : int
            Of the message.
        status : Status, optional
            Told about the message.
        """
        return self._receive_object(buf, source, tag, status, "recv")

    @mpi_call
    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Start to receive an object.

        Parameters
        ----------
        buf : int or buffer, optional
            Room for the pickled object, or its size in bytes.
        source, tag : int
            Of the message.
        """
        number = number_of(self, "irecv")
        if source == PROC_NULL:
            return new_request(0, RECEIVING, message=FROM_NOBODY)
        check_source(number, source, tag, "irecv")
        inbox = Inbox()
        capacity = _room(option("irecv_bufsz", 32768) if buf is None else buf)
        return new_request(current().irecv(number, source, tag, inbox.load(capacity)), RECEIVING, finish=inbox.open)

    @mpi_call
    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Send one object and receive another at the same time."""
        request = start_send(self, load_of, sendobj, dest, sendtag, STANDARD, "sendrecv")
        received = self._receive_object(recvbuf, source, recvtag, status, "sendrecv")
        current().wait(request.number, "sendrecv")
        return received

    @mpi_call
    def probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Literal[True]:
        """Wait for a message without receiving it."""
        return self.Probe(source, tag, status)

    @mpi_call
    def iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Whether there is a message to receive."""
        return self.Iprobe(source, tag, status)

    # ---- inside ----

    def _receive_object(self, buf: Any, source: int, tag: int, status: Status | None, call: str) -> Any:
        number = number_of(self, call)
        if buf is not None:
            warnings.warn("the 'buf' argument is deprecated", UserWarning, stacklevel=4)
        message, inbox = FROM_NOBODY, Inbox()
        if source != PROC_NULL:
            check_source(number, source, tag, call)
            load = inbox.load(ANY_SIZE if buf is None else _room(buf))
            message = current().recv(number, source, tag, load, call)
        self._received(message, status, call)
        return inbox.open()


def _room(buf: Any) -> int:
    """Bytes that a `buf` argument has room for."""
    try:
        return operator.index(buf)
    except TypeError:
        return memoryview(buf).nbytes
