"""`MPI.Exception`, the standard's error classes, and the one function that raises them."""

from __future__ import annotations

import builtins
from typing import NoReturn

from smpy.engine.running import current, is_running, per_world

__all__ = ["ERROR_CLASSES", "AddedCodes", "Exception", "Get_error_class", "Get_error_string", "added_codes", "fail"]

ERROR_CLASSES: dict[str, tuple[int, str]] = {
    "SUCCESS": (0, "no error"),
    "ERR_BUFFER": (1, "invalid buffer"),
    "ERR_COUNT": (2, "invalid count"),
    "ERR_TYPE": (3, "invalid datatype"),
    "ERR_TAG": (4, "invalid tag"),
    "ERR_COMM": (5, "invalid communicator"),
    "ERR_RANK": (6, "invalid rank"),
    "ERR_ROOT": (7, "invalid root"),
    "ERR_GROUP": (8, "invalid group"),
    "ERR_OP": (9, "invalid reduction operation"),
    "ERR_TOPOLOGY": (10, "invalid topology"),
    "ERR_DIMS": (11, "invalid dimensions"),
    "ERR_ARG": (12, "invalid argument"),
    "ERR_UNKNOWN": (13, "unknown error"),
    "ERR_TRUNCATE": (14, "message truncated"),
    "ERR_OTHER": (15, "other error"),
    "ERR_INTERN": (16, "internal error"),
    "ERR_IN_STATUS": (17, "error code is in the status"),
    "ERR_PENDING": (18, "request is pending"),
    "ERR_REQUEST": (19, "invalid request"),
    "ERR_ACCESS": (20, "permission denied"),
    "ERR_AMODE": (21, "invalid access mode"),
    "ERR_BAD_FILE": (22, "invalid file name"),
    "ERR_CONVERSION": (23, "error in a data conversion function"),
    "ERR_DUP_DATAREP": (24, "data representation exists already"),
    "ERR_FILE_EXISTS": (25, "file exists"),
    "ERR_FILE_IN_USE": (26, "file is in use"),
    "ERR_FILE": (27, "invalid file"),
    "ERR_INFO": (28, "invalid info"),
    "ERR_INFO_KEY": (29, "invalid info key"),
    "ERR_INFO_VALUE": (30, "invalid info value"),
    "ERR_INFO_NOKEY": (31, "info key is not defined"),
    "ERR_IO": (32, "input or output error"),
    "ERR_NAME": (33, "service name is not published"),
    "ERR_NO_MEM": (34, "out of memory"),
    "ERR_NOT_SAME": (35, "collective argument differs between ranks"),
    "ERR_NO_SPACE": (36, "no space left"),
    "ERR_NO_SUCH_FILE": (37, "file does not exist"),
    "ERR_PORT": (38, "invalid port"),
    "ERR_QUOTA": (39, "quota exceeded"),
    "ERR_READ_ONLY": (40, "file or file system is read-only"),
    "ERR_SERVICE": (41, "invalid service name"),
    "ERR_SPAWN": (42, "could not spawn"),
    "ERR_UNSUPPORTED_DATAREP": (43, "data representation is not supported"),
    "ERR_UNSUPPORTED_OPERATION": (44, "operation is not supported"),
    "ERR_WIN": (45, "invalid window"),
    "ERR_BASE": (46, "invalid base address"),
    "ERR_LOCKTYPE": (47, "invalid lock type"),
    "ERR_KEYVAL": (48, "invalid attribute key"),
    "ERR_RMA_CONFLICT": (49, "conflicting accesses to a window"),
    "ERR_RMA_SYNC": (50, "wrong synchronisation of a window"),
    "ERR_SIZE": (51, "invalid size"),
    "ERR_DISP": (52, "invalid displacement"),
    "ERR_ASSERT": (53, "invalid assertion"),
    "ERR_RMA_RANGE": (54, "target memory is outside the window"),
    "ERR_RMA_ATTACH": (55, "memory cannot be attached"),
    "ERR_RMA_SHARED": (56, "memory cannot be shared"),
    "ERR_RMA_FLAVOR": (57, "wrong kind of window"),
    "ERR_ERRHANDLER": (58, "invalid error handler"),
    "ERR_SESSION": (59, "invalid session"),
    "ERR_PROC_ABORTED": (60, "peer has aborted"),
    "ERR_VALUE_TOO_LARGE": (61, "value does not fit"),
    "ERR_PROC_FAILED": (62, "peer has failed"),
    "ERR_PROC_FAILED_PENDING": (63, "peer of a pending operation has failed"),
    "ERR_REVOKED": (64, "communicator is revoked"),
    "ERR_ABI": (65, "ABI mismatch"),
    "ERR_LASTCODE": (1023, "last error code"),
}
_STRINGS = dict(ERROR_CLASSES.values())
_NUMBERS = {name: number for name, (number, _) in ERROR_CLASSES.items()}
_UNKNOWN = _NUMBERS["ERR_UNKNOWN"]
_LAST_OF_STANDARD = _NUMBERS["ERR_LASTCODE"]


class AddedCodes:
    """Error classes and codes that one rank has added to the standard's.

    Attributes
    ----------
    last : int
        The largest number in use.
    class_of : dict of int to int
        The class of each number.
    strings : dict of int to str
        Message of each number that has one.
    """

    __slots__ = ("class_of", "last", "strings")

    def __init__(self) -> None:
        self.last = _LAST_OF_STANDARD
        self.class_of: dict[int, int] = {}
        self.strings: dict[int, str] = {}

    def add(self, error_class: int | None) -> int:
        """Add a code of a class, or a new class if `error_class` is None; returns its number."""
        self.last += 1
        self.class_of[self.last] = self.last if error_class is None else error_class
        return self.last

    def remove(self, number: int) -> None:
        """Forget a class or a code."""
        del self.class_of[number]
        self.last = max(self.class_of, default=_LAST_OF_STANDARD)


class _AddedByRanks(dict[int, AddedCodes]):
    """Error classes and codes that ranks of a world have added, by rank."""


class Exception(builtins.RuntimeError):  # mpi4py's name for it
    """An error with a class of the MPI standard; compares equal to the number of its class.

    Parameters
    ----------
    ierr : int
        Number of an error class; a negative one means ``ERR_UNKNOWN``.
    """

    _detail: str = ""
    """Details of this error: the call, its arguments and a remedy."""
    _is_told: bool = False
    """Whether the error handler has been told."""

    def __init__(self, ierr: int = 0, /) -> None:
        super().__init__(ierr if ierr >= 0 else _UNKNOWN)

    def __int__(self) -> int:
        number: int = self.args[0]
        return number

    def __bool__(self) -> bool:
        return int(self) != 0

    def __hash__(self) -> int:
        return hash(int(self))

    def __eq__(self, other: object, /) -> bool:
        return bool(int(self) == other) if not isinstance(other, Exception) else int(self) == int(other)

    def __ne__(self, other: object, /) -> bool:
        return not self == other

    def __lt__(self, other: int, /) -> bool:
        return int(self) < int(other)

    def __le__(self, other: int, /) -> bool:
        return int(self) <= int(other)

    def __gt__(self, other: int, /) -> bool:
        return int(self) > int(other)

    def __ge__(self, other: int, /) -> bool:
        return int(self) >= int(other)

    def __repr__(self) -> str:
        return f"MPI.Exception({int(self)})"

    def __str__(self) -> str:
        return self.Get_error_string()

    def Get_error_code(self) -> int:
        """Number of the error; here the same as its class."""
        return int(self)

    def Get_error_class(self) -> int:
        """Number of the standard's error class."""
        return Get_error_class(int(self))

    def Get_error_string(self) -> str:
        """Message of the error's class, with the details of this error if there are any."""
        text = Get_error_string(int(self))
        return f"{text}: {self._detail}" if self._detail else text

    @property
    def error_code(self) -> int:
        """Number of the error."""
        return self.Get_error_code()

    @property
    def error_class(self) -> int:
        """Number of the standard's error class."""
        return self.Get_error_class()

    @property
    def error_string(self) -> str:
        """Message of the error's class, with the details of this error if there are any."""
        return self.Get_error_string()


def fail(error_class: str, detail: str = "") -> NoReturn:
    """Raise `Exception` of the class named ``"ERR_..."``; `detail` gives the call, its arguments and a remedy."""
    error = Exception(_NUMBERS[error_class])
    error._detail = detail
    raise error


def added_codes() -> AddedCodes:
    """Error classes and codes that the running rank has added."""
    return per_world(_AddedByRanks).setdefault(current().rank, AddedCodes())


def _known(errorcode: int) -> tuple[int, str]:
    if errorcode in _STRINGS:
        return errorcode, _STRINGS[errorcode]
    if is_running() and errorcode in (added := added_codes()).class_of:
        return added.class_of[errorcode], added.strings.get(errorcode, "")
    return fail("ERR_ARG", f"{errorcode} is not an error code")


def Get_error_class(errorcode: int) -> int:
    """Error class of an error code.

    Parameters
    ----------
    errorcode : int
        Number that an `Exception` carries.

    Raises
    ------
    Exception
        If there is no such error: ``ERR_ARG``.
    """
    return _known(errorcode)[0]


def Get_error_string(errorcode: int) -> str:
    """Message of an error code.

    Parameters
    ----------
    errorcode : int
        Number that an `Exception` carries.

    Raises
    ------
    Exception
        If there is no such error: ``ERR_ARG``.
    """
    return _known(errorcode)[1]
