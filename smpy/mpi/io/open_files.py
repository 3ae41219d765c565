"""Files of the machine that smpy runs on, as an opened `File` needs them: modes, descriptors, failures."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn, TypeAlias
from weakref import finalize

from smpy.mpi.state.constants import (
    MODE_CREATE,
    MODE_DELETE_ON_CLOSE,
    MODE_EXCL,
    MODE_RDONLY,
    MODE_RDWR,
    MODE_SEQUENTIAL,
    MODE_WRONLY,
)
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.world import Communicator, world

__all__ = ["OpenFile", "Path", "check_mode", "remove", "telling_of_failures"]

Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_ACCESS: Final = {MODE_RDONLY: os.O_RDONLY, MODE_WRONLY: os.O_WRONLY, MODE_RDWR: os.O_RDWR}
_ERROR_CLASSES: Final = {
    errno.ENOENT: "ERR_NO_SUCH_FILE",
    errno.EEXIST: "ERR_FILE_EXISTS",
    errno.EACCES: "ERR_ACCESS",
    errno.EPERM: "ERR_ACCESS",
    errno.EROFS: "ERR_READ_ONLY",
    errno.ENOSPC: "ERR_NO_SPACE",
    errno.EDQUOT: "ERR_QUOTA",
    errno.EISDIR: "ERR_BAD_FILE",
    errno.ENOTDIR: "ERR_BAD_FILE",
    errno.ENAMETOOLONG: "ERR_BAD_FILE",
}


class OpenFile:
    """A file as the ranks that open it share it.

    Parameters
    ----------
    filename : path-like
        Path of the file.
    amode : int
        Access mode: ``MODE_`` constants joined by ``|``.

    Attributes
    ----------
    path : str
        Real path, independent of later working directories.
    descriptor : int
        File descriptor of all ranks, when the file is open; -1 before.
    communicator : Communicator
        The file's own, when it is open: the program may free the one it was opened with.
    """

    __slots__ = ("__weakref__", "_closing", "_failure", "amode", "communicator", "descriptor", "path")

    communicator: Communicator

    def __init__(self, filename: Path, amode: int) -> None:
        self.path = _real_path(filename)
        self.amode = amode
        self.descriptor = -1
        self._failure: OSError | None = None
        self._closing: finalize[[int], OpenFile] | None = None

    def check_same(self, filename: Path, amode: int) -> None:
        """Raise unless the running rank opens the same file in the same way."""
        path = _real_path(filename)
        if (path, amode) != (self.path, self.amode):
            fail(
                "ERR_NOT_SAME",
                f"File.Open({path!r}, amode={amode}): another rank opens {self.path!r} with amode={self.amode}; "
                "all ranks open the same file in the same way",
            )

    def open(self, communicator: Communicator) -> None:
        """Open the file once, by the first rank; its OSError is raised on all ranks."""
        if self._closing is None and self._failure is None:
            try:
                self.descriptor = os.open(self.path, _flags(self.amode), 0o666)
            except OSError as error:
                self._failure = error
            else:
                self._closing = finalize(self, os.close, self.descriptor)
                self.communicator = world().new_like(communicator)
                self.communicator.name = f"the file {self.path}"
        if self._failure is not None:
            _fail(self._failure, f"File.Open({self.path!r})")

    def close(self) -> None:
        """Close the file once, by the first rank, and delete it if its mode says so."""
        if self._closing is None or not self._closing.alive:
            return
        self._closing()
        if self.amode & MODE_DELETE_ON_CLOSE:
            with suppress(FileNotFoundError):
                os.unlink(self.path)


def check_mode(amode: int) -> None:
    """Raise ``ERR_AMODE`` unless the modes go together."""
    n_accesses = sum(bool(amode & access) for access in _ACCESS)
    if n_accesses != 1:
        fail("ERR_AMODE", f"File.Open(amode={amode}): give one of MODE_RDONLY, MODE_WRONLY and MODE_RDWR")
    if amode & MODE_RDONLY and amode & (MODE_CREATE | MODE_EXCL):
        fail("ERR_AMODE", f"File.Open(amode={amode}): a file to be read only is not created")
    if amode & MODE_RDWR and amode & MODE_SEQUENTIAL:
        fail("ERR_AMODE", f"File.Open(amode={amode}): MODE_SEQUENTIAL is for reading or for writing, not for both")


def remove(filename: Path) -> None:
    """Delete a file; failures raise MPI's error classes."""
    with telling_of_failures(f"File.Delete({os.fsdecode(filename)!r})"):
        os.unlink(filename)


@contextmanager
def telling_of_failures(call: str) -> Iterator[None]:
    """Raise failures of the operating system as MPI's error classes."""
    try:
        yield
    except OSError as error:
        _fail(error, call)


def _fail(error: OSError, call: str) -> NoReturn:
    fail(_ERROR_CLASSES.get(error.errno or 0, "ERR_IO"), f"{call}: {error.strerror}")


def _real_path(filename: Path) -> str:
    return os.path.realpath(os.fsdecode(filename))


def _flags(amode: int) -> int:
    flags = next(flag for access, flag in _ACCESS.items() if amode & access)
    if amode & MODE_CREATE:
        flags |= os.O_CREAT
    if amode & MODE_EXCL:
        flags |= os.O_EXCL
    return flags
