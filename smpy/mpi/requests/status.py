"""`Status`: source, tag, error and size of a received message."""

from __future__ import annotations

from array import array
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Self

from smpy.engine.running import mpi_call
from smpy.mpi.data.datatypes import BYTE, Datatype
from smpy.mpi.data.elements import bytes_of_elements, elements_in
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG, UNDEFINED
from smpy.mpi.state.exceptions import fail

if TYPE_CHECKING:
    from smpy.engine.messages import Envelope

__all__ = ["Status", "fill"]

_IN_MEMORY: Final = Struct("=iiiqi")
"""Source, tag, error, size and whether it was cancelled, as memory shows them."""


class Status:
    """Source, tag, error and size of a message.

    Parameters
    ----------
    status : Status, optional
        One to copy.
    """

    __slots__ = ("__weakref__", "_cancelled", "_error", "_memory", "_nbytes", "_source", "_tag")
    __hash__ = None  # type: ignore[assignment]  # mutable

    _source: int
    _tag: int
    _error: int
    _nbytes: int
    _cancelled: bool
    _memory: tuple[bytearray, bytes] | None
    """Memory that the program may write, and its content when fields and memory last agreed; None until asked for."""

    def __new__(cls, status: Status | None = None) -> Self:
        self = super().__new__(cls)
        self._memory = None
        if status is None:
            self._source, self._tag, self._error, self._nbytes, self._cancelled = ANY_SOURCE, ANY_TAG, 0, 0, False
        elif isinstance(status, Status):
            self.__setstate__(status.__getstate__())
        else:
            raise TypeError(f"expected a Status, not a {type(status).__name__}")
        return self

    def __eq__(self, other: object, /) -> bool:
        return self.__getstate__() == other.__getstate__() if isinstance(other, Status) else NotImplemented

    def __ne__(self, other: object, /) -> bool:
        return not self == other if isinstance(other, Status) else NotImplemented

    def __reduce__(self) -> tuple[Any, tuple[Any, ...], dict[str, int]]:
        return type(self), (), self.__getstate__()

    def __getstate__(self) -> dict[str, int]:
        self._settle()
        return {
            "source": self._source,
            "tag": self._tag,
            "error": self._error,
            "nbytes": self._nbytes,
            "cancelled": self._cancelled,
        }

    def __setstate__(self, state: dict[str, int]) -> None:
        self._source, self._tag, self._error = state["source"], state["tag"], state["error"]
        self._nbytes, self._cancelled = state["nbytes"], bool(state["cancelled"])

    def _settle(self) -> None:
        """Synchronise fields and memory; a field set since they agreed takes precedence over a write to the memory."""
        if self._memory is None:
            return
        written, shown = self._memory
        fields = _IN_MEMORY.pack(self._source, self._tag, self._error, self._nbytes, self._cancelled)
        if fields == shown and written != shown:
            self._source, self._tag, self._error, self._nbytes, cancelled = _IN_MEMORY.unpack(written)
            self._cancelled = bool(cancelled)
            fields = bytes(written)
        written[:] = fields
        self._memory = written, fields

    def tomemory(self) -> memoryview:
        """The fields as integers in memory; writes of the program change the status."""
        if self._memory is None:
            fields = _IN_MEMORY.pack(self._source, self._tag, self._error, self._nbytes, self._cancelled)
            self._memory = bytearray(fields), fields
        self._settle()
        return memoryview(self._memory[0]).cast("i")

    def py2f(self) -> list[int]:
        """The fields as integers, as Fortran would see them."""
        return self.tomemory().tolist()

    @classmethod
    def f2py(cls, arg: list[int]) -> Self:
        """The status with the fields that `py2f` gave."""
        status = cls()
        status.tomemory()[:] = memoryview(array("i", arg))
        return status

    def Get_source(self) -> int:
        """Rank of the sender."""
        self._settle()
        return self._source

    def Set_source(self, source: int) -> None:
        """Set the rank of the sender."""
        self._source = source

    def Get_tag(self) -> int:
        """Tag of the message."""
        self._settle()
        return self._tag

    def Set_tag(self, tag: int) -> None:
        """Set the tag of the message."""
        self._tag = tag

    def Get_error(self) -> int:
        """Error class of the operation."""
        self._settle()
        return self._error

    def Set_error(self, error: int) -> None:
        """Set the error class of the operation."""
        self._error = error

    @mpi_call
    def Get_count(self, datatype: Datatype = BYTE) -> int:
        """Number of whole entries received, or ``UNDEFINED`` when the message ends inside one.

        Parameters
        ----------
        datatype : Datatype
            Datatype of an entry.
        """
        self._settle()
        size = datatype.Get_size()
        if size == 0:
            return 0 if self._nbytes == 0 else UNDEFINED
        count, rest = divmod(self._nbytes, size)
        return UNDEFINED if rest else count

    @mpi_call
    def Get_elements(self, datatype: Datatype) -> int:
        """Number of basic elements received.

        Parameters
        ----------
        datatype : Datatype
            Datatype of the message's entries.
        """
        self._settle()
        return elements_in(datatype._layout.typemap, self._nbytes)

    @mpi_call
    def Set_elements(self, datatype: Datatype, count: int) -> None:
        """Set the size to `count` entries of `datatype`."""
        if count < 0:
            fail("ERR_COUNT", f"Set_elements(count={count}): a count is not negative")
        self._nbytes = bytes_of_elements(datatype._layout.typemap, count)

    def Is_cancelled(self) -> bool:
        """Whether the operation was cancelled."""
        self._settle()
        return self._cancelled

    def Set_cancelled(self, flag: bool) -> None:
        """Set whether the operation was cancelled."""
        self._cancelled = bool(flag)

    @property
    def source(self) -> int:
        """Rank of the sender."""
        return self.Get_source()

    @source.setter
    def source(self, value: int) -> None:
        self.Set_source(value)

    @property
    def tag(self) -> int:
        """Tag of the message."""
        return self.Get_tag()

    @tag.setter
    def tag(self, value: int) -> None:
        self.Set_tag(value)

    @property
    def error(self) -> int:
        """Error class of the operation."""
        return self.Get_error()

    @error.setter
    def error(self, value: int) -> None:
        self.Set_error(value)

    @property
    def count(self) -> int:
        """Size of the message in bytes."""
        return self.Get_count(BYTE)

    @count.setter
    def count(self, value: int) -> None:
        self.Set_elements(BYTE, value)

    @property
    def cancelled(self) -> bool:
        """Whether the operation was cancelled."""
        return self.Is_cancelled()

    @cancelled.setter
    def cancelled(self, value: bool) -> None:
        self.Set_cancelled(value)


def fill(status: Status | None, envelope: Envelope) -> None:
    """Write the fields of `envelope` into `status`, when there is one."""
    if status is not None:
        nbytes = min(envelope.nbytes, envelope.capacity)
        fields = {"source": envelope.source, "tag": envelope.tag, "error": 0, "nbytes": nbytes}
        status.__setstate__({**fields, "cancelled": envelope.is_cancelled})
