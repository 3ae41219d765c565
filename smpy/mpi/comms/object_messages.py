"""Point-to-point communication of objects: pickled bytes under the same protocol.

A receive of an object takes any size, as mpi4py's matched probe does; `irecv` has room for ``mpi4py.rc.irecv_bufsz``
bytes, as there.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any, Literal

from smpy.engine.messages import STANDARD, SYNCHRONOUS
from smpy.engine.running import current, mpi_call
from smpy.mpi.comms.receives import Receives
from smpy.mpi.comms.sends import send, send_buffered, start_send
from smpy.mpi.data.message_specifications import check_source
from smpy.mpi.requests.compound_operations import report
from smpy.mpi.requests.objects import ANY_SIZE, ObjectReceive, load_of
from smpy.mpi.requests.request import FROM_NOBODY, Request, from_nobody, new_request
from smpy.mpi.requests.status import Status
from smpy.mpi.state.comm_core import number_of
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.state.environment import option

__all__ = ["ObjectMessages"]


class ObjectMessages(Receives):
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
    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object through the attached buffer, in which it takes room until it is delivered."""
        send_buffered(self, load_of, obj, dest, tag, "bsend", is_blocking=True)

    @mpi_call
    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Start to send an object."""
        return start_send(self, load_of, obj, dest, tag, STANDARD, "isend")

    @mpi_call
    def issend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Start to send an object; the request completes when the receive has begun."""
        return start_send(self, load_of, obj, dest, tag, SYNCHRONOUS, "issend")

    @mpi_call
    def ibsend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Start to send an object through the attached buffer, in which it takes room until it is delivered."""
        return send_buffered(self, load_of, obj, dest, tag, "ibsend", is_blocking=False)

    @mpi_call
    def recv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Any:
        """Receive an object.

        Parameters
        ----------
        buf : int or buffer, optional
            Room for the pickled object, or its size in bytes; mpi4py has deprecated it.
        source, tag : int
            Source and tag of the message.
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
            Source and tag of the message.
        """
        number = number_of(self, "irecv")
        if source == PROC_NULL:
            return from_nobody()
        source, tag = check_source(number, source, tag, "irecv")
        arriving = ObjectReceive()
        capacity = _room(option("irecv_bufsz", 32768) if buf is None else buf, "irecv")
        return new_request(current().irecv(number, source, tag, arriving.load(capacity)), finish=arriving.open)

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
        current().wait(request._kernel_request, "sendrecv")
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
        envelope, arriving = FROM_NOBODY, ObjectReceive()
        if source != PROC_NULL:
            source, tag = check_source(number, source, tag, call)
            load = arriving.load(ANY_SIZE if buf is None else _room(buf, call))
            envelope = current().recv(number, source, tag, load, call)
        report(envelope, status, call)
        return arriving.open(envelope)


def _room(buf: Any, call: str) -> int:
    """Bytes that a `buf` argument has room for."""
    try:
        return operator.index(buf) if hasattr(buf, "__index__") else memoryview(buf).nbytes
    except TypeError:
        raise TypeError(f"{call}: buf is of type {type(buf).__name__}, neither a buffer nor its size") from None
