"""Persistent point-to-point communication: described once, checked once, started many times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from smpy.engine.messages import STANDARD, SYNCHRONOUS
from smpy.engine.running import current, mpi_call
from smpy.mpi.data.message_specifications import Part, part_of
from smpy.mpi.requests.argument_checks import check_dest, check_source, to_fill, to_send
from smpy.mpi.requests.partitioned import PartitionedReceive, PartitionedSend
from smpy.mpi.requests.persistent import Prequest, new_prequest
from smpy.mpi.requests.request import Request, from_nobody, new_request
from smpy.mpi.requests.sending import send_load_buffered, to_nobody
from smpy.mpi.state.comm_core import CommCore, number_of
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.world import world

__all__ = ["PersistentPointToPoint"]


class PersistentPointToPoint(CommCore):
    """Describe sends and receives of buffers."""

    __slots__ = ()

    @mpi_call
    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A send of a buffer, to be started."""
        return _sending(self, buf, dest, tag, STANDARD, "Send_init")

    @mpi_call
    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A send of a buffer through the attached one, to be started."""

        def start(number: int, part: Part) -> Request:
            return send_load_buffered(number, part.outgoing(), dest, tag, "Bsend_init", is_blocking=True)

        return _starting(self, buf, dest, tag, start, "Bsend_init")

    @mpi_call
    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A send of a buffer that completes when its receive has begun, to be started."""
        return _sending(self, buf, dest, tag, SYNCHRONOUS, "Ssend_init")

    @mpi_call
    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A send of a buffer whose receive will have been posted, to be started."""
        return _sending(self, buf, dest, tag, STANDARD, "Rsend_init")

    @mpi_call
    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        """A receive into a buffer, to be started."""
        number = number_of(self, "Recv_init")
        if source == PROC_NULL:
            return new_prequest(partial(from_nobody))
        part = to_fill(buf, "Recv_init")
        source, tag = check_source(number, source, tag, "Recv_init")
        return new_prequest(
            lambda: new_request(current().irecv(number, source, tag, part.incoming())),
        )

    @mpi_call
    def Psend_init(self, buf: Any, partitions: int, dest: int, tag: int = 0, info: Any = None) -> Prequest:
        """A send of a buffer in parts, to be started.

        Parameters
        ----------
        buf : buffer specification
            All parts, one behind the other; a count in it is that of one part.
        partitions : int
            Number of parts.
        dest, tag : int
            Of the message, which only a receive in parts can take.
        info : Info, optional
            Ignored.
        """
        number = number_of(self, "Psend_init")
        if dest != PROC_NULL:
            dest, tag = check_dest(number, dest, tag, "Psend_init")
        part = None if dest == PROC_NULL else _all_parts(buf, partitions, "Psend_init", is_written=False)
        shadow = world().communicator(number).shadow()
        return new_prequest(PartitionedSend(shadow, dest, tag, part, partitions))

    @mpi_call
    def Precv_init(
        self, buf: Any, partitions: int, source: int = ANY_SOURCE, tag: int = ANY_TAG, info: Any = None
    ) -> Prequest:
        """A receive into a buffer in parts, to be started.

        Parameters
        ----------
        buf : buffer specification
            All parts, one behind the other; a count in it is that of one part.
        partitions : int
            Number of parts.
        source, tag : int
            Of the message.
        info : Info, optional
            Ignored.
        """
        number = number_of(self, "Precv_init")
        source, tag = check_source(number, source, tag, "Precv_init")
        if source == ANY_SOURCE or tag == ANY_TAG:
            fail("ERR_ARG", "Precv_init: a receive in parts names its source and its tag")
        part = None if source == PROC_NULL else _all_parts(buf, partitions, "Precv_init", is_written=True)
        shadow = world().communicator(number).shadow()
        return new_prequest(PartitionedReceive(shadow, source, tag, part, partitions))


def _all_parts(buf: Any, n_partitions: int, call: str, *, is_written: bool) -> Part:
    if n_partitions < 1:
        fail("ERR_ARG", f"{call}(partitions={n_partitions}): there is at least one")
    one = part_of(buf, is_written=is_written, n_blocks=n_partitions)
    return Part(one.memory, one.start, n_partitions * one.count, one.datatype)


def _sending(comm: CommCore, buf: Any, dest: int, tag: int, mode: int, call: str) -> Prequest:
    """A send to be started. It pays what a blocking send pays, as SMPI's do."""

    def start(number: int, part: Part) -> Request:
        return new_request(current().isend(number, dest, tag, part.outgoing(), mode, is_blocking=True))

    return _starting(comm, buf, dest, tag, start, call)


def _starting(
    comm: CommCore, buf: Any, dest: int, tag: int, start: Callable[[int, Part], Request], call: str
) -> Prequest:
    number = number_of(comm, call)
    if dest == PROC_NULL:
        return new_prequest(partial(to_nobody))
    part = to_send(buf, call)
    dest, tag = check_dest(number, dest, tag, call)
    return new_prequest(lambda: start(number, part))
