"""Handles of what smpy does not simulate yet, one-sided communication and files: they exist, are null, and say so."""

from __future__ import annotations

from typing import Any, ClassVar, Final, NoReturn, Self

from smpy.mpi.attributes import Attributed, Attributes
from smpy.mpi.error_handlers import ErrorHandling
from smpy.mpi.exceptions import fail
from smpy.mpi.handle import Handle, of_family
from smpy.mpi.world import Own

__all__ = ["FILE_NULL", "WIN_NULL", "File", "Win"]


class _Null(Handle):
    """A handle that can only be null."""

    __slots__ = ()
    _error_class: ClassVar[str]

    def __new__(cls, other: Handle | None = None) -> Self:
        if other is not None and of_family(other, _Null)._family != cls._family:
            raise TypeError(f"expected a {cls._family}, not a {other._family}")
        return super().__new__(cls)

    def _identity(self) -> int:
        return 0

    def _become_null(self) -> None:
        pass

    def _fail(self, call: str) -> NoReturn:
        fail(self._error_class, f"{call}: the handle is null")

    def _own(self, call: str, *, to_change: bool = False) -> Own:
        self._fail(call)


class Win(_Null, Attributed, ErrorHandling):
    """A window on memory, for one-sided communication: smpy does not simulate it yet.

    Parameters
    ----------
    win : Win, optional
        One to make another handle of.
    """

    __slots__ = ("__weakref__",)
    _family: ClassVar = "Win"
    _error_class: ClassVar = "ERR_WIN"

    def _attributes(self, call: str) -> Attributes:
        self._fail(call)

    def Free(self) -> None:
        """Nothing can be freed: the handle is null."""
        self._fail("Free")

    @classmethod
    def Create(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Not simulated yet."""
        raise NotImplementedError("smpy has no MPI.Win.Create yet: it does not simulate windows")

    @classmethod
    def Allocate(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Not simulated yet."""
        raise NotImplementedError("smpy has no MPI.Win.Allocate yet: it does not simulate windows")

    @classmethod
    def Allocate_shared(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Not simulated yet."""
        raise NotImplementedError("smpy has no MPI.Win.Allocate_shared yet: it does not simulate windows")

    @classmethod
    def Create_dynamic(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Not simulated yet."""
        raise NotImplementedError("smpy has no MPI.Win.Create_dynamic yet: it does not simulate windows")


class File(_Null, ErrorHandling):
    """A file that ranks read and write together: smpy does not simulate it yet.

    Parameters
    ----------
    file : File, optional
        One to make another handle of.
    """

    __slots__ = ("__weakref__",)
    _family: ClassVar = "File"
    _error_class: ClassVar = "ERR_FILE"
    _giving_back: ClassVar = "Close"

    @classmethod
    def Open(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Not simulated yet."""
        raise NotImplementedError("smpy has no MPI.File.Open yet: it does not simulate files; use Python's own")

    @classmethod
    def Delete(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Not simulated yet."""
        raise NotImplementedError("smpy has no MPI.File.Delete yet: it does not simulate files; use Python's own")

    def Close(self) -> None:
        """Nothing can be closed: the handle is null."""
        self._fail("Close")


WIN_NULL: Final = Win()
FILE_NULL: Final = File()
Win.know({"WIN_NULL": WIN_NULL})
File.know({"FILE_NULL": FILE_NULL})
