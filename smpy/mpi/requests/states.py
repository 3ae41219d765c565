"""The states of a request, by name.

The fields of a request that the compiled surface reads encode them (see `smpy.mpi.state.surface_bases`); all other
code asks here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto

from smpy.mpi.requests.compound_operations import CompoundOperation
from smpy.mpi.state.surface_bases import RequestBase

__all__ = ["RequestState", "are_null", "compound_of", "first_complete", "is_null", "numbers_of", "state_of"]


class RequestState(Enum):
    """State of a request."""

    NULL = auto()
    """A request that refers to nothing, or is persistent and has not been started."""
    TRANSFER = auto()
    """One transfer of the kernel's is under way."""
    COMPOUND = auto()
    """A compound operation is under way."""
    UNSEEN = auto()
    """A complete request that the rank has not tested: the first test costs the test overhead."""
    COMPLETE = auto()
    """A request that is known to be complete: a test costs nothing."""


def state_of(request: RequestBase) -> RequestState:
    """The state of a request."""
    if request._kernel_request < 0:
        return RequestState.NULL
    if request._envelope is not None:
        return RequestState.COMPLETE
    if request._kernel_request > 0:
        return RequestState.TRANSFER
    return RequestState.UNSEEN if compound_of(request) is None else RequestState.COMPOUND


def is_null(request: RequestBase) -> bool:
    """Whether it is in the state `RequestState.NULL`."""
    return request._kernel_request < 0


def are_null(requests: Iterable[RequestBase]) -> bool:
    """Whether all are in the state `RequestState.NULL`."""
    return all(request._kernel_request < 0 for request in requests)


def compound_of(request: RequestBase) -> CompoundOperation | None:
    """The compound operation that it stands for, None when it is a transfer."""
    finish = request._on_completion
    return finish if isinstance(finish, CompoundOperation) else None


def first_complete(requests: Iterable[RequestBase]) -> int | None:
    """Index of the first in the state `RequestState.COMPLETE`."""
    return next((index for index, request in enumerate(requests) if request._envelope is not None), None)


def numbers_of(requests: Sequence[RequestBase]) -> list[int]:
    """The kernel's number of each transfer under way, negative for null requests, 0 for those in any other state."""
    return [request._kernel_request for request in requests]
