"""`File`: a real file that ranks open together; reading and writing it through MPI is not simulated yet.

Opening costs as much as in SMPI: the ranks make a window, then rank 0 broadcasts 8 bytes twice. Closing takes three
barriers. The file itself takes no time, and one descriptor for all ranks.
"""

from __future__ import annotations

import os
from typing import ClassVar, Final, Self

from smpy.engine.running import current, mpi_call, of_world
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.comms.collective_handles import CollectiveHandle, Membership, wait_for_all
from smpy.mpi.comms.comm import Intracomm
from smpy.mpi.comms.creation_messages import announce
from smpy.mpi.data.datatypes import Datatype
from smpy.mpi.io.open_files import OpenFile, Path, check_mode, remove, telling_of_failures
from smpy.mpi.state import constants
from smpy.mpi.state.comm_core import member_of
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import of_family
from smpy.mpi.state.info import INFO_NULL, Info
from smpy.mpi.state.own import Own
from smpy.mpi.state.unsimulated import unsimulated

__all__ = ["FILE_NULL", "File"]

_ADDRESS_BYTES: Final = 8
_END_BARRIERS: Final = 3


class _OwnOfNull(dict[int, Own]):
    """Error handlers that ranks have set on ``FILE_NULL``, by rank: new files inherit them."""


class _Opening(Membership):
    """One rank's membership in an open file."""

    __slots__ = ("file", "is_atomic")

    def __init__(self, file: OpenFile, rank: int, info: Info | None) -> None:
        super().__init__(file.communicator, rank, info)
        self.file = file
        self.is_atomic = False
        self.own.error_handler = _own_of_null().error_handler


@unsimulated(
    "reading and writing files through MPI",
    "Set_view Get_view Seek Get_position Get_byte_offset Seek_shared Get_position_shared "
    "Read Read_all Read_at Read_at_all Read_shared Read_ordered "
    "Write Write_all Write_at Write_at_all Write_shared Write_ordered "
    "Iread Iread_all Iread_at Iread_at_all Iread_shared "
    "Iwrite Iwrite_all Iwrite_at Iwrite_at_all Iwrite_shared "
    "Read_all_begin Read_all_end Read_at_all_begin Read_at_all_end Read_ordered_begin Read_ordered_end "
    "Write_all_begin Write_all_end Write_at_all_begin Write_at_all_end Write_ordered_begin Write_ordered_end",
)
class File(CollectiveHandle):
    """A file that ranks have opened together.

    Parameters
    ----------
    file : File, optional
        One to make another handle of; null without it.
    """

    __slots__ = ("__weakref__", "_membership")
    _family: ClassVar = "File"
    _error_class: ClassVar = "ERR_FILE"
    _giving_back: ClassVar = "Close"

    def __new__(cls, file: File | None = None) -> Self:
        return cls._on(None if file is None else of_family(file, File)._membership)

    def _own_part(self, call: str, *, to_change: bool = False) -> Own:
        return super()._own_part(call) if self else _own_of_null()

    # ---- start and end ----

    @classmethod
    @mpi_call
    def Open(cls, comm: Intracomm, filename: Path, amode: int = constants.MODE_RDONLY, info: Info = INFO_NULL) -> Self:
        """Open a file, together with the other ranks.

        Parameters
        ----------
        comm : Intracomm
            The ranks that open it.
        filename : path-like
            The same file for all of them.
        amode : int
            The same for all of them: ``MODE_RDONLY``, ``MODE_WRONLY`` or ``MODE_RDWR``, and others of the ``MODE_``
            constants, joined by ``|``.
        info : Info
            Its hints.
        """
        call = "File.Open"
        communicator, rank = member_of(of_family(comm, Intracomm), call)
        check_mode(amode)
        collective = enter(communicator, rank, Signature(call), OpenFile, filename, amode)
        file: OpenFile = collective.payload
        file.check_same(filename, amode)
        perform(collective, communicator, "allgather", 0, _ADDRESS_BYTES, call)
        collective.leave()
        file.open(communicator)
        for _ in range(2):
            announce(communicator, rank, 0, _ADDRESS_BYTES, call)
        return cls._on(_Opening(file, rank, info))

    @mpi_call
    def Close(self) -> None:
        """Close the file, together with the other ranks; the handle becomes null."""
        opening: _Opening = self._member("Close")
        opening.end(_END_BARRIERS, "File.Close")
        self._become_null()
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

    # ---- its size ----

    @mpi_call
    def Get_size(self) -> int:
        """Its length in bytes."""
        opening: _Opening = self._member("Get_size")
        return os.fstat(opening.file.descriptor).st_size

    @mpi_call
    def Set_size(self, size: int) -> None:
        """Cut it, or make it longer; all ranks do so together.

        Parameters
        ----------
        size : int
            Length in bytes.
        """
        opening = self._resizing(size, "Set_size")
        with telling_of_failures(f"File.Set_size({size})"):
            os.ftruncate(opening.file.descriptor, size)

    @mpi_call
    def Preallocate(self, size: int) -> None:
        """Make it at least so long; all ranks do so together.

        Parameters
        ----------
        size : int
            Length in bytes.
        """
        opening = self._resizing(size, "Preallocate")
        with telling_of_failures(f"File.Preallocate({size})"):
            if size > os.fstat(opening.file.descriptor).st_size:
                os.ftruncate(opening.file.descriptor, size)

    def _resizing(self, size: int, call: str) -> _Opening:
        """The file to resize, once all ranks have come, so that none of them still asks for the old size."""
        opening: _Opening = self._member(call)
        if size < 0:
            fail("ERR_ARG", f"File.{call}({size}): a size is not negative")
        if opening.file.amode & constants.MODE_RDONLY:
            fail("ERR_READ_ONLY", f"File.{call}: {opening.file.path} was opened with MODE_RDONLY")
        wait_for_all(opening.communicator, opening.rank, f"File.{call}")
        return opening

    @mpi_call
    def Sync(self) -> None:
        """Wait until all ranks have come; their writes can be read then."""
        opening: _Opening = self._member("Sync")
        wait_for_all(opening.communicator, opening.rank, "File.Sync")

    # ---- its properties ----

    def Get_amode(self) -> int:
        """Access mode of the file: ``MODE_`` constants."""
        opening: _Opening = self._member("Get_amode")
        return opening.file.amode

    def Get_atomicity(self) -> bool:
        """Whether other ranks see each write at once, and whole."""
        opening: _Opening = self._member("Get_atomicity")
        return opening.is_atomic

    def Set_atomicity(self, flag: bool) -> None:
        """Have other ranks see each write at once, and whole.

        Parameters
        ----------
        flag : bool
            Whether they do.
        """
        opening: _Opening = self._member("Set_atomicity")
        opening.is_atomic = bool(flag)

    def Get_type_extent(self, datatype: Datatype) -> int:
        """Bytes that an entry spans in the file.

        Parameters
        ----------
        datatype : Datatype
            Datatype of the entry.
        """
        self._member("Get_type_extent")
        return datatype.Get_extent()[1]

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return self.Get_size()

    @property
    def amode(self) -> int:
        """Access mode of the file: ``MODE_`` constants."""
        return self.Get_amode()

    @property
    def atomicity(self) -> bool:
        """Whether other ranks see each write at once, and whole."""
        return self.Get_atomicity()

    @atomicity.setter
    def atomicity(self, value: bool) -> None:
        self.Set_atomicity(value)


def _own_of_null() -> Own:
    return of_world(_OwnOfNull).setdefault(current().rank, Own())


FILE_NULL: Final = File()
File._know({"FILE_NULL": FILE_NULL})
File._in_place_of_none = FILE_NULL
