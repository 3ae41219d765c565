"""`Status`: what a receive learns of its message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from smpy.mpi.constants import ANY_SOURCE, ANY_TAG, UNDEFINED
from smpy.mpi.datatypes import BYTE, Datatype
from smpy.mpi.exceptions import fail

if TYPE_CHECKING:
    from smpy.engine.messages import Message

__all__ = ["Status", "fill"]


class Status:
    """Source, tag, error and size of a message.

    Parameters
    ----------
    status : Status, optional
        One to copy.
    """

    __slots__ = ("__weakref__", "_cancelled", "_error", "_nbytes", "_source", "_tag")
    __hash__ = None  # type: ignore[assignment]  # mutable

    _source: int
    _tag: int
    _error: int
    _nbytes: int
    _cancelled: bool

    def __new__(cls, status: Status | None = None) -> Self:
        self = super().__new__(cls)
        if status is None:
            self._source, self._tag, self._error, self._nbytes, self._cancelled = ANY_SOURCE, ANY_TAG, 0, 0, False
        else:
            self.__setstate__(status.__getstate__())
        return self

    def __eq__(self, other: object, /) -> bool:
        return self.__getstate__() == other.__getstate__() if isinstance(other, Status) else NotImplemented

    def __ne__(self, other: object, /) -> bool:
        return not self == other if isinstance(other, Status) else NotImplemented

    def __reduce__(self) -> tuple[Any, tuple[Any, ...], dict[str, int]]:
        return type(self), (), self.__getstate__()

    def __getstate__(self) -> dict[str, int]:
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

    def Get_source(self) -> int:
        """Rank of the sender."""
        return self._source

    def Set_source(self, source: int) -> None:
        """Set the rank of the sender."""
        self._source = source

    def Get_tag(self) -> int:
        """Tag of the message."""
        return self._tag

    def Set_tag(self, tag: int) -> None:
        """Set the tag of the message."""
        self._tag = tag

    def Get_error(self) -> int:
        """Error class of the operation."""
        return self._error

    def Set_error(self, error: int) -> None:
        """Set the error class of the operation."""
        self._error = error

    def Get_count(self, datatype: Datatype = BYTE) -> int:
        """Number of whole entries received, or ``UNDEFINED`` when the message ends inside one.

        Parameters
        ----------
        datatype : Datatype
            What an entry is.
        """
        size = datatype.Get_size()
        if size == 0:
            return 0 if self._nbytes == 0 else UNDEFINED
        count, rest = divmod(self._nbytes, size)
        return UNDEFINED if rest else count

    def Get_elements(self, datatype: Datatype) -> int:
        """Number of basic elements received.

        Parameters
        ----------
        datatype : Datatype
            What the message was made of.
        """
        return datatype.elements_in(self._nbytes)

    def Set_elements(self, datatype: Datatype, count: int) -> None:
        """Set the size to `count` entries of `datatype`."""
        if count < 0:
            fail("ERR_COUNT", f"Set_elements(count={count}): a count is not negative")
        self._nbytes = count * datatype.Get_size()

    def Is_cancelled(self) -> bool:
        """Whether the operation was cancelled."""
        return self._cancelled

    def Set_cancelled(self, flag: bool) -> None:
        """Set whether the operation was cancelled."""
        self._cancelled = bool(flag)

    @property
    def source(self) -> int:
        """Rank of the sender."""
        return self._source

    @source.setter
    def source(self, value: int) -> None:
        self.Set_source(value)

    @property
    def tag(self) -> int:
        """Tag of the message."""
        return self._tag

    @tag.setter
    def tag(self, value: int) -> None:
        self.Set_tag(value)

    @property
    def error(self) -> int:
        """Error class of the operation."""
        return self._error

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
        return self._cancelled

    @cancelled.setter
    def cancelled(self, value: bool) -> None:
        self.Set_cancelled(value)


def fill(status: Status | None, message: Message) -> None:
    """Write into `status`, when there is one, what `message` says."""
    if status is not None:
        nbytes = min(message.nbytes, message.capacity)
        told = {"source": message.source, "tag": message.tag, "error": 0, "nbytes": nbytes, "cancelled": False}
        status.__setstate__(told)
