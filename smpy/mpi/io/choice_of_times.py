"""Choice of the model that times a rank's accesses to a file."""

from __future__ import annotations

from typing import Final

from smpy.engine.running import current
from smpy.mpi.io.access_times import FreeAccesses, RankOfFile, StorageAccesses
from smpy.mpi.io.simgrid_accesses import simgrid_accesses

__all__ = ["times_of"]

_FREE: Final = FreeAccesses()
_ON_STORAGE: Final = StorageAccesses()


def times_of(opening: RankOfFile, filename: str, amode: int) -> FreeAccesses:
    """Model of time for the running rank's accesses to a file that it opens by this name."""
    engine = current()
    places = engine.file_places()
    if places is None:
        return _FREE
    places.tell(engine.host())
    if engine.platform.file_places.storage is not None:
        return _ON_STORAGE
    return simgrid_accesses(places, opening, filename, amode) or _FREE
