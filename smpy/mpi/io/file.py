"""`File`: a real file that ranks open together.

Opening costs as much as in SMPI: the ranks make a window, then rank 0 broadcasts 8 bytes twice. Closing takes three
barriers. The file itself takes no time, and uses one descriptor for all ranks.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Self

from smpy.engine.running import current, mpi_call, per_world
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.comms.collective_handles import wait_for_all
from smpy.mpi.comms.comm import Intracomm
from smpy.mpi.comms.creation_messages import announce
from smpy.mpi.data.datatypes import BYTE, Datatype
from smpy.mpi.io.explicit_offsets import ExplicitOffsets
from smpy.mpi.io.individual_pointer import IndividualPointer
from smpy.mpi.io.open_files import OpenFile, Path, remove, telling_of_failures
from smpy.mpi.io.shared_pointer import SharedPointer
from smpy.mpi.state import constants
from smpy.mpi.state.comm_core import member_of
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import of_family
from smpy.mpi.state.info import INFO_NULL, Info, pairs_of
from smpy.mpi.state.per_rank_attributes import PerRankAttributes

if TYPE_CHECKING:
    from smpy.mpi.io.openings import Opening

__all__ = ["FILE_NULL", "File"]

_ADDRESS_BYTES: Final = 8
_END_BARRIERS: Final = 3


class _OwnOfNull(dict[int, PerRankAttributes]):
    """Attributes of ``FILE_NULL`` by rank."""


class File(ExplicitOffsets, IndividualPointer, SharedPointer):
    """A file that ranks have opened together.

    Parameters
    ----------
    file : File, optional
        File to make another handle of; without it, the handle is null.
    """

    __slots__ = ("__weakref__", "_membership")

    def __new__(cls, file: File | None = None) -> Self:
        return cls._on(None if file is None else of_family(file, File)._membership)

    def _own_part(self, call: str, *, to_change: bool = False) -> PerRankAttributes:
        return super()._own_part(call) if self else _own_of_null()

    # ---- start and end ----

    @classmethod
    @mpi_call
    def Open(cls, comm: Intracomm, filename: Path, amode: int = constants.MODE_RDONLY, info: Info = INFO_NULL) -> Self:
        """Open a file, together with the other ranks.

        Parameters
        ----------
        comm : Intracomm
            Ranks that open the file.
        filename : path-like
            Path of the file, the same on all ranks.
        amode : int
            The same for all of them: ``MODE_RDONLY``, ``MODE_WRONLY`` or ``MODE_RDWR``, and others of the ``MODE_``
            constants, joined by ``|``.
        info : Info
            Hints of the file.
        """
        call = "File.Open"
        communicator, rank = member_of(of_family(comm, Intracomm), call)
        collective = enter(communicator, rank, Signature(call), OpenFile, filename, amode)
        file: OpenFile = collective.payload
        file.compare(filename, amode)
        perform(collective, communicator, "allgather", 0, _ADDRESS_BYTES, call)
        collective.leave()
        file.open(communicator)
        for _ in range(2):
            announce(communicator, rank, 0, _ADDRESS_BYTES, call)
        from smpy.mpi.io.openings import Opening

        opening = Opening(file, rank, info, os.fsdecode(filename))
        return cls._on(opening)

    @mpi_call
    def Close(self) -> None:
        """Close the file, together with the other ranks; the handle becomes null."""
        opening = self._member("Close")
        opening.end(_END_BARRIERS, "File.Close")
        self._become_null()
        if opening.file.amode & constants.MODE_DELETE_ON_CLOSE:
            opening.times.delete()
        opening.file.close()

    @classmethod
    @mpi_call
    def Delete(cls, filename: Path, info: Info = INFO_NULL) -> None:
        """Delete a file.

        Parameters
        ----------
        filename : path-like
            Path of the file.
        info : Info
            Ignored.
        """
        remove(filename)

    # ---- size ----

    @mpi_call
    def Get_size(self) -> int:
        """Length of the file in bytes."""
        opening = self._member("Get_size")
        current().block("File.Get_size")
        with telling_of_failures(f"File.Get_size of {opening.file.path}"):
            return opening.file.size()

    @mpi_call
    def Set_size(self, size: int) -> None:
        """Shorten or extend the file; all ranks do so together.

        Parameters
        ----------
        size : int
            Length in bytes.
        """
        opening, is_first = self._resizing(size, "Set_size")
        if is_first:
            with telling_of_failures(f"File.Set_size({size})"):
                os.ftruncate(opening.file.descriptor, size)
        current().wait(opening.times.resize(size), "File.Set_size")

    @mpi_call
    def Preallocate(self, size: int) -> None:
        """Extend the file to at least this length; all ranks do so together.

        Parameters
        ----------
        size : int
            Length in bytes.
        """
        opening, _ = self._resizing(size, "Preallocate")
        with telling_of_failures(f"File.Preallocate({size})"):
            opening.file.reach(size)

    def _resizing(self, size: int, call: str) -> tuple[Opening, bool]:
        """File to resize, after all ranks have made the call, and whether this rank is the first to go on."""
        opening = self._member(call)

        def take() -> tuple[int, None]:
            if size < 0:
                fail("ERR_ARG", f"File.{call}({size}): a size is not negative")
            if opening.file.amode & constants.MODE_RDONLY:
                fail("ERR_READ_ONLY", f"File.{call}: {opening.file.path} was opened with MODE_RDONLY")
            return size, None

        return opening, opening.agree(call, take, waits=opening.times.waits_to_resize)[1]

    @mpi_call
    def Sync(self) -> None:
        """Wait for all ranks, whose writes can be read from then on."""
        opening = self._member("Sync")
        wait_for_all(opening.communicator, opening.rank, "File.Sync")

    # ---- properties ----

    def Get_amode(self) -> int:
        """Access mode of the file: ``MODE_`` constants."""
        opening = self._member("Get_amode")
        return opening.file.amode

    def Get_atomicity(self) -> bool:
        """Whether other ranks see each write at once and as a whole."""
        opening = self._member("Get_atomicity")
        return opening.is_atomic

    def Set_atomicity(self, flag: bool) -> None:
        """Set whether other ranks see each write at once and as a whole (they always do); all ranks do so together.

        Parameters
        ----------
        flag : bool
            Value that ``Get_atomicity`` returns from now on.
        """
        opening = self._member("Set_atomicity")
        waits = opening.times.waits_to_resize
        opening.is_atomic, _ = opening.agree("Set_atomicity", lambda: (bool(flag), bool(flag)), waits=waits)

    def Get_type_extent(self, datatype: Datatype) -> int:
        """Bytes that an entry spans in the file.

        Parameters
        ----------
        datatype : Datatype
            Datatype of the entry.
        """
        representation = self._member("Get_type_extent").view.representation
        return representation.typemap(datatype._layout).extent

    # ---- view ----

    @mpi_call
    def Set_view(
        self,
        disp: int = 0,
        etype: Datatype = BYTE,
        filetype: Datatype | None = None,
        datarep: str = "native",
        info: Info = INFO_NULL,
    ) -> None:
        """Select a part of the file, and move all pointers to its beginning; all ranks do so together.

        Parameters
        ----------
        disp : int
            Byte at which the view begins.
        etype : Datatype
            Unit of offsets and pointers.
        filetype : Datatype, optional
            Datatype of a tile, repeated to the end of the file; its gaps are not seen. The etype without it.
        datarep : str
            Representation of the data: ``"native"``, ``"internal"``, ``"external32"`` or one that is registered.
        info : Info
            Further hints.
        """
        opening = self._member("Set_view")
        opening.set_view(disp, etype, etype if filetype is None else filetype, datarep or "native")
        opening.own.info.update(pairs_of(info))

    @mpi_call
    def Get_view(self) -> tuple[int, Datatype, Datatype, str]:
        """Byte at which the view begins, etype, filetype and representation of the data."""
        view = self._member("Get_view").view
        types = Datatype._of(view.etype), Datatype._of(view.filetype)
        return view.displacement, *types, view.representation.name

    @property
    def size(self) -> int:
        """Length of the file in bytes."""
        return self.Get_size()

    @property
    def amode(self) -> int:
        """Access mode of the file: ``MODE_`` constants."""
        return self.Get_amode()

    @property
    def atomicity(self) -> bool:
        """Whether other ranks see each write at once and as a whole."""
        return self.Get_atomicity()

    @atomicity.setter
    def atomicity(self, value: bool) -> None:
        self.Set_atomicity(value)


def _own_of_null() -> PerRankAttributes:
    return per_world(_OwnOfNull).setdefault(current().rank, PerRankAttributes())


FILE_NULL: Final = File()
File._know({"FILE_NULL": FILE_NULL})
File._in_place_of_none = FILE_NULL
