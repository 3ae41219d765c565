"""Size, address and number of a handle, as C code asks for them."""

from __future__ import annotations

from typing import Any, Final

from smpy.mpi.requests.status import Status
from smpy.mpi.state.handle import Handle

__all__ = ["_addressof", "_handleof", "_sizeof"]

_HANDLE_BYTES: Final = 8
_STATUS_BYTES: Final = 24


def _sizeof(arg: Any) -> int:
    """Bytes that C would need for a handle or a status, given it or its class."""
    kind = arg if isinstance(arg, type) else type(arg)
    if not issubclass(kind, Handle | Status):
        raise TypeError(f"expected a handle or a status, or a class of them, not a {kind.__name__}")
    return _STATUS_BYTES if issubclass(kind, Status) else _HANDLE_BYTES


def _addressof(arg: Any) -> int:
    """Address of the handle or status object."""
    _sizeof(type(arg))
    return id(arg)


def _handleof(arg: Any) -> int:
    """Number of the object that a handle refers to, or address of a status."""
    _sizeof(type(arg))
    return id(arg) if isinstance(arg, Status) else int(arg.handle)
