"""Get_status: whether requests have completed, without making them null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smpy.engine.messages import NO_MESSAGE, Envelope
from smpy.engine.running import current
from smpy.mpi.requests.completion import checked, look, reported
from smpy.mpi.requests.compound_operations import CompoundOperation
from smpy.mpi.requests.status import Status, fill
from smpy.mpi.state.bases import RequestBase
from smpy.mpi.state.constants import UNDEFINED

__all__ = ["get_status", "get_status_all", "get_status_any", "get_status_some"]


def get_status(request: RequestBase, status: Status | None, call: str) -> bool:
    """Whether one has completed; null ones have."""
    message = NO_MESSAGE if request._kernel_request < 0 else _seen(request, call)
    if message is None:
        return False
    operation = request._finish
    if isinstance(operation, CompoundOperation):
        operation.fill_status(message, status, call)
    else:
        fill(status, message)
    return True


def get_status_any(requests: Iterable[RequestBase], status: Status | None, call: str) -> tuple[int, bool]:
    """Index of the first that has completed, and whether there is one or all are null."""
    given = checked(requests, call)
    for index, request in enumerate(given):
        if request._kernel_request >= 0 and get_status(request, status, call):
            return index, True
    are_null = _are_null(given)
    if are_null:
        fill(status, NO_MESSAGE)
    return UNDEFINED, are_null


def get_status_all(requests: Iterable[RequestBase], statuses: list[Status] | None, call: str) -> bool:
    """Whether all have completed."""
    given = checked(requests, call)
    told = [Status() for _ in given]
    for request, status in zip(given, told, strict=True):
        if not get_status(request, status, call):
            return False
    reported(statuses, told)
    return True


def get_status_some(requests: Iterable[RequestBase], statuses: list[Status] | None, call: str) -> list[int] | None:
    """Indices of those that have completed; None when all are null."""
    given = checked(requests, call)
    if _are_null(given):
        return None
    told: list[Status] = []
    indices: list[int] = []
    for index, request in enumerate(given):
        status = Status()
        if request._kernel_request >= 0 and get_status(request, status, call):
            indices.append(index)
            told.append(status)
    reported(statuses, told)
    return indices


def _seen(request: RequestBase, call: str) -> Envelope | None:
    """What has come of a request; the parts of an operation are completed as they are seen."""
    if isinstance(request._finish, CompoundOperation):
        return look(request, call)
    if request._message is not None:
        return request._message
    return current().peek(request._kernel_request) if request._kernel_request > 0 else NO_MESSAGE


def _are_null(requests: Sequence[RequestBase]) -> bool:
    return all(request._kernel_request < 0 for request in requests)
