"""Receives into buffers, blocking, started and persistent, and probes."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NoReturn

from smpy.engine.messages import Envelope
from smpy.engine.running import current, mpi_call
from smpy.mpi.data.message_specifications import check_source, incoming_of, to_fill
from smpy.mpi.requests.compound_operations import report, truncated
from smpy.mpi.requests.matched import Message, probe_matched
from smpy.mpi.requests.persistent import Prequest, new_prequest
from smpy.mpi.requests.request import FROM_NOBODY, Request, from_nobody, new_request
from smpy.mpi.requests.status import Status, fill
from smpy.mpi.state.comm_core import CommCore, number_of
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.state.surface_bases import compiled_when_available

__all__ = ["Receives"]


@compiled_when_available("Recv", "Irecv", "Iprobe")
class Receives(CommCore):
    """Receive messages into buffers, and look for them."""

    __slots__ = ()

    @mpi_call
    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> None:
        """Receive a message into a buffer."""
        number = number_of(self, "Recv")
        envelope = FROM_NOBODY
        if source != PROC_NULL:
            load = incoming_of(buf, "Recv")
            source, tag = check_source(number, source, tag, "Recv")
            envelope = current().recv(number, source, tag, load, "Recv")
        report(envelope, status, "Recv")

    @mpi_call
    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Start to receive a message into a buffer."""
        number = number_of(self, "Irecv")
        if source == PROC_NULL:
            return from_nobody()
        load = incoming_of(buf, "Irecv")
        source, tag = check_source(number, source, tag, "Irecv")
        return new_request(current().irecv(number, source, tag, load))

    @mpi_call
    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        """A receive into a buffer, to be started."""
        number = number_of(self, "Recv_init")
        if source == PROC_NULL:
            return new_prequest(partial(from_nobody))
        part = to_fill(buf, "Recv_init", may_be_on_device=True)
        source, tag = check_source(number, source, tag, "Recv_init")
        return new_prequest(
            lambda: new_request(current().irecv(number, source, tag, part.incoming())),
        )

    # ---- looking for messages ----

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
        envelope = FROM_NOBODY if source == PROC_NULL else current().iprobe(number, source, tag)
        if envelope is not None:
            fill(status, envelope)
        return envelope is not None

    # ---- looking, and taking them out of matching ----

    @mpi_call
    def Mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message:
        """Wait for a message and take it."""
        return Message.Probe(self, source, tag, status)

    @mpi_call
    def Improbe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message | None:
        """Take a message if there is one."""
        return probe_matched(self, source, tag, status, "Improbe", is_waiting=False)

    def mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message:
        """Wait for a message and take it."""
        return self.Mprobe(source, tag, status)

    def improbe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message | None:
        """Take a message if there is one."""
        return self.Improbe(source, tag, status)

    # ---- inside ----

    def _truncated(self, call: str, envelope: Envelope) -> NoReturn:
        truncated(call, envelope)
