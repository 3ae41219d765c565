"""Get_status: whether requests have completed, without making them null."""

from __future__ import annotations

from collections.abc import Iterable

from smpy.engine.messages import NO_MESSAGE, Envelope
from smpy.engine.running import current
from smpy.mpi.requests.completion import checked, look, reported
from smpy.mpi.requests.states import RequestState, are_null, compound_of, is_null, state_of
from smpy.mpi.requests.status import Status, fill
from smpy.mpi.state.constants import UNDEFINED
from smpy.mpi.state.surface_bases import RequestBase

__all__ = ["get_status", "get_status_all", "get_status_any", "get_status_some"]


def get_status(request: RequestBase, status: Status | None, call: str) -> bool:
    """Whether a request has completed; a null one has."""
    envelope = NO_MESSAGE if is_null(request) else _seen(request, call)
    if envelope is None:
        return False
    compound = compound_of(request)
    if compound is None:
        fill(status, envelope)
    else:
        compound.fill_status(envelope, status, call)
    return True


def get_status_any(requests: Iterable[RequestBase], status: Status | None, call: str) -> tuple[int, bool]:
    """Index of the first that has completed, and whether there is one or all are null."""
    listed = checked(requests, call)
    for index, request in enumerate(listed):
        if not is_null(request) and get_status(request, status, call):
            return index, True
    if are_null(listed):
        fill(status, NO_MESSAGE)
        return UNDEFINED, True
    return UNDEFINED, False


def get_status_all(requests: Iterable[RequestBase], statuses: list[Status] | None, call: str) -> bool:
    """Whether all have completed."""
    listed = checked(requests, call)
    filled = [Status() for _ in listed]
    for request, status in zip(listed, filled, strict=True):
        if not get_status(request, status, call):
            return False
    reported(statuses, filled)
    return True


def get_status_some(requests: Iterable[RequestBase], statuses: list[Status] | None, call: str) -> list[int] | None:
    """Indices of the completed requests; None when all are null."""
    among = checked(requests, call)
    if are_null(among):
        return None
    filled: list[Status] = []
    indices: list[int] = []
    for index, request in enumerate(among):
        status = Status()
        if not is_null(request) and get_status(request, status, call):
            indices.append(index)
            filled.append(status)
    reported(statuses, filled)
    return indices


def _seen(request: RequestBase, call: str) -> Envelope | None:
    """The message of a request, None if it is not complete; completed parts of a compound operation are recorded."""
    if compound_of(request) is not None:
        return look(request, call)
    match state_of(request):
        case RequestState.TRANSFER:
            return current().get_status(request._kernel_request)
        case RequestState.COMPLETE:
            return request._envelope
    return NO_MESSAGE
