"""The buffers of buffered sends: attached, flushed and detached by a communicator, or for all of a rank's."""

from __future__ import annotations

from typing import Any

from smpy.engine.running import mpi_call
from smpy.mpi.requests.attached import ALL_COMMUNICATORS, Flush, attach, attached, detach
from smpy.mpi.requests.request import Request, new_request
from smpy.mpi.state.comm_core import CommCore, number_of

__all__ = ["Attach_buffer", "AttachedBuffers", "Detach_buffer", "Flush_buffer", "Iflush_buffer"]


class AttachedBuffers(CommCore):
    """Attach buffers."""

    __slots__ = ()

    @mpi_call
    def Attach_buffer(self, buf: Any) -> None:
        """Give the running rank room for its buffered sends on this communicator.

        Parameters
        ----------
        buf : buffer-like or None
            The room; None, or ``BUFFER_AUTOMATIC``: as much as needed.
        """
        attach(number_of(self, "Attach_buffer"), buf)

    @mpi_call
    def Detach_buffer(self) -> Any:
        """Wait until all buffered messages of this communicator have been delivered; returns the attached memory."""
        return detach(number_of(self, "Detach_buffer"))

    @mpi_call
    def Flush_buffer(self) -> None:
        """Wait until all buffered messages of this communicator have been delivered."""
        attached(number_of(self, "Flush_buffer"), "Flush_buffer").flush("Flush_buffer")

    @mpi_call
    def Iflush_buffer(self) -> Request:
        """A request that completes when the buffered messages sent so far have been delivered."""
        return _flushing(number_of(self, "Iflush_buffer"))


@mpi_call
def Attach_buffer(buf: Any) -> None:
    """Give the running rank room for its buffered sends.

    Parameters
    ----------
    buf : buffer-like or None
        The room; None, or ``BUFFER_AUTOMATIC``: as much as needed.
    """
    attach(ALL_COMMUNICATORS, buf)


@mpi_call
def Detach_buffer() -> Any:
    """Wait until all buffered messages have been delivered; returns the attached memory."""
    return detach(ALL_COMMUNICATORS)


@mpi_call
def Flush_buffer() -> None:
    """Wait until all buffered messages have been delivered."""
    attached(ALL_COMMUNICATORS, "Flush_buffer").flush("Flush_buffer")


@mpi_call
def Iflush_buffer() -> Request:
    """A request that completes when the buffered messages sent so far have been delivered."""
    return _flushing(ALL_COMMUNICATORS)


def _flushing(communicator: int) -> Request:
    return new_request(0, finish=Flush(attached(communicator, "Iflush_buffer")))
