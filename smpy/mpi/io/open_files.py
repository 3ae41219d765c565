"""Real files behind an opened `File`: their modes, descriptors and failures."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from stat import S_ISDIR
from typing import Final, NoReturn, TypeAlias
from weakref import finalize

from smpy.engine.running import per_world
from smpy.mpi.state.constants import (
    MODE_APPEND,
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

__all__ = ["OpenFile", "Path", "check_mode", "fail_as", "remove", "telling_of_failures"]

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
    errno.ELOOP: "ERR_BAD_FILE",
    errno.EBADF: "ERR_FILE",
    errno.ENOTDIR: "ERR_BAD_FILE",
    errno.ENAMETOOLONG: "ERR_BAD_FILE",
}


class _Descriptors(dict[tuple[int, int, int], list[int]]):
    """Open descriptors of a world, with the number of files that use each, by device, inode and access."""

    def of_file(self, path: str, flags: int) -> tuple[tuple[int, int, int], int]:
        """Open a file, and return key and descriptor; the same file with the same access shares one descriptor."""
        descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
        status = os.fstat(descriptor)
        if S_ISDIR(status.st_mode):
            os.close(descriptor)
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        key = status.st_dev, status.st_ino, flags & os.O_ACCMODE
        shared = self.setdefault(key, [descriptor, 0])
        shared[1] += 1
        if shared[0] != descriptor:
            os.close(descriptor)
        return key, shared[0]

    def give_back(self, key: tuple[int, int, int]) -> None:
        """Close a descriptor when the last file that used it is closed."""
        shared = self[key]
        shared[1] -= 1
        if not shared[1]:
            del self[key]
            with suppress(OSError):  # the program may have closed it
                os.close(shared[0])


class _Queues:
    """Counter of the queues used by files of a world."""

    def __init__(self) -> None:
        self._n = 0

    def new(self) -> int:
        """Number of a new queue."""
        self._n += 1
        return self._n


class OpenFile:
    """A file, shared by the ranks that open it.

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
        File descriptor shared by all ranks; -1 before the file is open.
    communicator : Communicator
        Communicator of the open file itself; the program may free the one passed to `Open`.
    first_size : int
        Length of the file when it was opened, in bytes.
    origin : int
        Initial position of all pointers, in bytes.
    shared_pointer : int
        Position of the ranks' shared pointer, in etypes.
    simgrid_pointer : int
        Shared pointer in bytes as SMPI keeps it on a disk of SimGrid, behind all started accesses.
    simgrid_pointer_behind_ended : int
        The same, behind completed accesses only; a rank that does not wait for others reads this one.
    simgrid_sizes : dict
        Size of the file when it was opened, by disk of SimGrid.
    """

    __slots__ = (
        "__weakref__",
        "_closing",
        "_failure",
        "_other",
        "_queue",
        "amode",
        "communicator",
        "descriptor",
        "first_size",
        "origin",
        "path",
        "shared_pointer",
        "simgrid_pointer",
        "simgrid_pointer_behind_ended",
        "simgrid_sizes",
    )

    communicator: Communicator

    def __init__(self, filename: Path, amode: int) -> None:
        self.path = _real_path(filename)
        self.amode = amode
        self.descriptor = -1
        self.first_size = 0
        self.origin = self.shared_pointer = self.simgrid_pointer = self.simgrid_pointer_behind_ended = 0
        self.simgrid_sizes: dict[tuple[int, str], int] = {}
        self._queue = 0
        self._other: tuple[str, int] | None = None
        self._failure: OSError | None = None
        self._closing: finalize[[tuple[int, int, int]], OpenFile] | None = None

    def compare(self, filename: Path, amode: int) -> None:
        """Record whether the running rank opens another file or uses another mode."""
        path_and_mode = _real_path(filename), amode
        if path_and_mode != (self.path, self.amode):
            self._other = path_and_mode

    def open(self, communicator: Communicator) -> None:
        """Open the file once, on the first rank; raise its failure, or a difference between the ranks, on all ranks.

        All ranks have called `compare` before.
        """
        if self._other is not None:
            fail(
                "ERR_NOT_SAME",
                f"File.Open({self.path!r}, amode={self.amode}): another rank opens {self._other[0]!r} with "
                f"amode={self._other[1]}; all ranks open the same file in the same way",
            )
        check_mode(self.amode)
        if self._closing is None and self._failure is None:
            descriptors = per_world(_Descriptors)
            try:
                key, self.descriptor = descriptors.of_file(self.path, _flags(self.amode))
            except OSError as error:
                self._failure = error
            else:
                self._closing = finalize(self, descriptors.give_back, key)
                self.communicator = world().new_like(communicator)
                self.communicator.name = f"the file {self.path}"
                self.first_size = self.size()
                self.origin = self.shared_pointer = self.first_size if self.amode & MODE_APPEND else 0
        if self._failure is not None:
            fail_as(self._failure, f"File.Open({self.path!r})")

    def size(self) -> int:
        """Length of the file in bytes."""
        return os.fstat(self.descriptor).st_size

    def queue(self) -> int:
        """Number of the queue that orders accesses at the shared pointer."""
        if not self._queue:
            self._queue = per_world(_Queues).new()
        return self._queue

    def reach(self, size: int) -> None:
        """Extend the file to at least this length in bytes."""
        if size > self.size():
            os.ftruncate(self.descriptor, size)

    def close(self) -> None:
        """Close the file once, on the first rank, and delete it if its mode says so."""
        if self._closing is None or not self._closing.alive:
            return
        self._closing()
        if self.amode & MODE_DELETE_ON_CLOSE:
            with suppress(FileNotFoundError):
                os.unlink(self.path)


def check_mode(amode: int) -> None:
    """Raise ``ERR_AMODE`` unless the modes are compatible."""
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
        fail_as(error, call)


def fail_as(error: OSError, call: str) -> NoReturn:
    """Raise a failure of the operating system as MPI's error class."""
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
