"""Matched probes: a message that has been found can be received by the finder only."""

from __future__ import annotations

from smpy.engine.running import mpi_call
from smpy.mpi.requests.matched import Message, probe_matched
from smpy.mpi.requests.status import Status
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG

__all__ = ["MatchedProbes"]


class MatchedProbes(CommCore):
    """Find messages and take them out of matching."""

    __slots__ = ()

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
