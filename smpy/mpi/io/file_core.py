"""Handles of open files: the base class of all their methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from smpy.engine.messages import Envelope
from smpy.engine.running import current
from smpy.mpi.comms.collective_handles import CollectiveHandle
from smpy.mpi.requests.compound_operations import CompoundOperation
from smpy.mpi.requests.request import Request, new_request

if TYPE_CHECKING:
    from smpy.mpi.io.openings import Opening

__all__ = ["FileCore"]


class FileCore(CollectiveHandle):
    """Handle of an open file, or null; modules for accesses are imported only when a file is opened."""

    __slots__ = ()
    _family: ClassVar = "File"
    _error_class: ClassVar = "ERR_FILE"
    _giving_back: ClassVar = "Close"

    def _member(self, call: str) -> Opening:
        opening: Opening = super()._member(call)
        return opening

    def _started(self, access: tuple[Envelope, int]) -> Request:
        """Request of an access that has been started."""
        envelope, number = access
        if not number:
            return new_request(0, envelope=envelope)
        return new_request(number, finish=AccessUnderWay(number, envelope))


class AccessUnderWay(CompoundOperation):
    """Access to a file that the kernel's request `number` completes; its entries are known from the start."""

    __slots__ = ("_entries", "_number")

    def __init__(self, number: int, entries: Envelope) -> None:
        self._number = number
        self._entries = entries

    def next(self) -> int:
        return self._number

    def advance(self, envelope: Envelope) -> Envelope | None:  # an access has no message
        self._number = 0
        return self._entries

    def release(self) -> None:
        if self._number:
            current().release(self._number)
