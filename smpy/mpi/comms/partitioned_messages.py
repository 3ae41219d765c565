"""Sends and receives in parts, to be started."""

from __future__ import annotations

from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.message_specifications import check_dest, check_source, part_of
from smpy.mpi.requests.partitioned import PartitionedReceive, PartitionedSend
from smpy.mpi.requests.persistent import Prequest, new_prequest
from smpy.mpi.state.comm_core import CommCore, number_of
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.world import world

__all__ = ["PartitionedMessages"]


class PartitionedMessages(CommCore):
    """Describe messages in parts."""

    __slots__ = ()

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
            Destination and tag of the message, which only a receive in parts can take.
        info : Info, optional
            Ignored.
        """
        number = number_of(self, "Psend_init")
        if dest != PROC_NULL:
            dest, tag = check_dest(number, dest, tag, "Psend_init")
        part = None if dest == PROC_NULL else _all_parts(buf, partitions, "Psend_init", is_written=False)
        internal_context = world().communicator(number).internal_context()
        return new_prequest(PartitionedSend(internal_context, dest, tag, part, partitions))

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
            Source and tag of the message.
        info : Info, optional
            Ignored.
        """
        number = number_of(self, "Precv_init")
        source, tag = check_source(number, source, tag, "Precv_init")
        if source == ANY_SOURCE or tag == ANY_TAG:
            fail("ERR_ARG", "Precv_init: a receive in parts names its source and its tag")
        part = None if source == PROC_NULL else _all_parts(buf, partitions, "Precv_init", is_written=True)
        internal_context = world().communicator(number).internal_context()
        return new_prequest(PartitionedReceive(internal_context, source, tag, part, partitions))


def _all_parts(buf: Any, n_partitions: int, call: str, *, is_written: bool) -> BufferSegment:
    if n_partitions < 1:
        fail("ERR_ARG", f"{call}(partitions={n_partitions}): there is at least one")
    one = part_of(buf, is_written=is_written, n_blocks=n_partitions, may_be_on_device=True)
    return BufferSegment(one.memory, one.start, n_partitions * one.count, one.datatype)
