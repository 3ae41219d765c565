"""Handles on open files: the base of each family of their methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from smpy.mpi.comms.collective_handles import CollectiveHandle

if TYPE_CHECKING:
    from smpy.mpi.io.openings import Opening

__all__ = ["FileCore"]


class FileCore(CollectiveHandle):
    """A handle on an open file, or null; what it needs beyond opening is imported when a file is opened."""

    __slots__ = ()
    _family: ClassVar = "File"
    _error_class: ClassVar = "ERR_FILE"
    _giving_back: ClassVar = "Close"

    def _member(self, call: str) -> Opening:
        opening: Opening = super()._member(call)
        return opening
