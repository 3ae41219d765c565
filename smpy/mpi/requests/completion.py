"""Waiting for requests and testing them, one or several.

A request is complete when its ``_message`` is set: nothing is left to ask the kernel, and asking is free. One whose
``_kernel_request`` is 0 is complete too, but nobody has looked: a look costs what a look costs. Of an operation that
consists of several, one after the other is asked for (`compound_operations`).

Testall looks at each request, as SMPI does; those found complete are remembered, because none may become null before
all are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from smpy.engine.messages import NO_MESSAGE, Envelope
from smpy.engine.running import current
from smpy.mpi.requests.compound_operations import OUT_OF_REACH, CompoundOperation, report
from smpy.mpi.requests.status import Status, fill
from smpy.mpi.state.bases import RequestBase
from smpy.mpi.state.constants import UNDEFINED
from smpy.mpi.state.exceptions import Exception as MPIException
from smpy.mpi.state.exceptions import fail

__all__ = [
    "checked",
    "end",
    "look",
    "release",
    "reported",
    "test",
    "test_all",
    "test_any",
    "test_some",
    "wait",
    "wait_all",
    "wait_any",
    "wait_some",
]


def end(request: RequestBase, message: Envelope, status: Status | None, call: str) -> Any:
    """Make a request null, now that its operation has completed: the object that was received, if any."""
    finish = request._finish
    request._let_go()
    if isinstance(finish, CompoundOperation):
        return finish.complete(message, status, call)
    report(message, status, call)
    return None if finish is None else finish(message)


def release(request: RequestBase) -> None:
    """Make a request null whose operation may go on by itself; it still delivers."""
    operation = request._finish
    if isinstance(operation, CompoundOperation):
        operation.release()
    elif request._kernel_request > 0:
        lent: Any = request._buffer  # a compiled request's own hold on it, and on its layout, ends with the request
        keep = None if lent is None else (memoryview(lent), request._layout)
        current().release(request._kernel_request, keep)
    request._let_go()


def wait(request: RequestBase, status: Status | None, call: str) -> Any:
    """Wait for one: the object received."""
    if request._kernel_request < 0:
        fill(status, NO_MESSAGE)
        return None
    return end(request, _wait_for_all_of(request, call), status, call)


def test(request: RequestBase, status: Status | None, call: str) -> tuple[bool, Any]:
    """Look at one: whether it has completed, and the object received."""
    if request._kernel_request < 0:
        fill(status, NO_MESSAGE)
        return True, None
    message = look(request, call)
    return (False, None) if message is None else (True, end(request, message, status, call))


def look(request: RequestBase, call: str) -> Envelope | None:
    """Look at a request that is not null: its message when it has completed, which is remembered."""
    while request._message is None:
        number = _next_of(request)
        message = current().test(max(number, 0), call)
        if message is None or number == OUT_OF_REACH:
            return None
        _tell(request, message)
    return request._message


def wait_all(requests: Iterable[RequestBase], statuses: list[Status] | None, call: str) -> list[Any]:
    """Wait for all: the objects received. The first that was truncated is raised when all have ended."""
    given = checked(requests, call)
    open_ones = [request for request in given if request._kernel_request >= 0 and request._message is None]
    transfers = [request for request in open_ones if not isinstance(request._finish, CompoundOperation)]
    for request, message in zip(
        transfers, current().wait_all([request._kernel_request for request in transfers], call), strict=True
    ):
        _complete(request, message)
    for request in open_ones:
        _wait_for_all_of(request, call)
    return _end_all(given, statuses, call)


def test_all(requests: Iterable[RequestBase], statuses: list[Status] | None, call: str) -> list[Any] | None:
    """Look at each: the objects received when all have completed, else None."""
    given = checked(requests, call)
    are_complete = [request._kernel_request < 0 or look(request, call) is not None for request in given]
    return _end_all(given, statuses, call) if all(are_complete) else None


def wait_any(requests: Iterable[RequestBase], status: Status | None, call: str) -> tuple[int, Any]:
    """Wait for one of several: its index and the object received; ``UNDEFINED`` when all are null."""
    given = checked(requests, call)
    while (early := _early(given)) is None:
        if _are_null(given):
            fill(status, NO_MESSAGE)
            return UNDEFINED, None
        numbers = _next_of_each(given)
        if all(number < 0 for number in numbers):
            _check_reach(next(request for request in given if request._kernel_request >= 0), OUT_OF_REACH, call)
        index, message = current().wait_any(numbers, call)
        _tell(given[index], message)
    return early, _end_early(given[early], status, call)


def test_any(requests: Iterable[RequestBase], status: Status | None, call: str) -> tuple[int, bool, Any]:
    """Look at several: index of one that has completed, whether there is one or all are null, its object."""
    given = checked(requests, call)
    if _early(given) is None and not _are_null(given):
        found = current().test_any(_next_of_each(given), call)
        if found is not None:
            _tell(given[found[0]], found[1])
    early = _early(given)
    if early is not None:
        return early, True, _end_early(given[early], status, call)
    are_null = _are_null(given)
    if are_null:
        fill(status, NO_MESSAGE)
    return UNDEFINED, are_null, None


def wait_some(
    requests: Iterable[RequestBase], statuses: list[Status] | None, call: str
) -> tuple[list[int] | None, list[Any] | None]:
    """Wait for one, then look at the others: indices and objects of those completed; None when all are null."""
    given = checked(requests, call)
    if _are_null(given):
        return None, None
    first = Status()
    index, received = wait_any(given, first, call)
    indices, objects, told = [index], [received], [first]
    _look_at_each(given, call, indices, objects, told)
    reported(statuses, told)
    return indices, objects


def test_some(
    requests: Iterable[RequestBase], statuses: list[Status] | None, call: str
) -> tuple[list[int] | None, list[Any] | None]:
    """Look at each: indices and objects of those that have completed; None when all are null."""
    given = checked(requests, call)
    if _are_null(given):
        return None, None
    indices: list[int] = []
    objects: list[Any] = []
    told: list[Status] = []
    _look_at_each(given, call, indices, objects, told)
    reported(statuses, told)
    return indices, objects


def reported(statuses: list[Status] | None, told: list[Status]) -> None:
    """Copy to the statuses that the program gave; its list grows when it is too short."""
    if statuses is None:
        return
    if isinstance(statuses, list):
        statuses.extend(Status() for _ in range(len(statuses), len(told)))
    for status, source in zip(statuses, told, strict=False):
        status.__setstate__(source.__getstate__())


def checked(requests: Iterable[RequestBase], call: str) -> list[RequestBase]:
    """The requests of a call, as a list; raises ``TypeError`` for what is none."""
    if not isinstance(requests, Iterable):
        raise TypeError(f"{call}: requests is of type {type(requests).__name__}, not a sequence of Requests")
    given = list(requests)
    for index, request in enumerate(given):
        if not isinstance(request, RequestBase):
            raise TypeError(f"{call}: requests[{index}] is of type {type(request).__name__}, not a Request")
    return given


def _wait_for_all_of(request: RequestBase, call: str) -> Envelope:
    while request._message is None:
        number = _next_of(request)
        _check_reach(request, number, call)
        _tell(request, current().wait(number, call))
    return request._message


def _next_of(request: RequestBase) -> int:
    """What to ask the kernel for."""
    operation = request._finish
    return operation.next() if isinstance(operation, CompoundOperation) else request._kernel_request


def _next_of_each(requests: Sequence[RequestBase]) -> list[int]:
    return [request._kernel_request if request._kernel_request < 0 else _next_of(request) for request in requests]


def _check_reach(request: RequestBase, number: int, call: str) -> None:
    if number == OUT_OF_REACH:
        fail("ERR_PENDING", request._finish.explain(call))


def _tell(request: RequestBase, message: Envelope) -> None:
    """Take what the kernel says; the request is complete unless more is left of it."""
    operation = request._finish
    whole = operation.advance(message) if isinstance(operation, CompoundOperation) else message
    if whole is not None:
        _complete(request, whole)


def _complete(request: RequestBase, message: Envelope) -> None:
    request._refer_to(0)
    request._message = message


def _are_null(requests: Sequence[RequestBase]) -> bool:
    return all(request._kernel_request < 0 for request in requests)


def _early(requests: Sequence[RequestBase]) -> int | None:
    return next((i for i, request in enumerate(requests) if request._message is not None), None)


def _end_early(request: RequestBase, status: Status | None, call: str) -> Any:
    return end(request, request._message or NO_MESSAGE, status, call)


def _look_at_each(
    requests: Sequence[RequestBase], call: str, indices: list[int], objects: list[Any], told: list[Status]
) -> None:
    for index, request in enumerate(requests):
        message = look(request, call) if request._kernel_request >= 0 else None
        if message is not None:
            status = Status()
            objects.append(end(request, message, status, call))
            indices.append(index)
            told.append(status)


def _end_all(requests: Sequence[RequestBase], statuses: list[Status] | None, call: str) -> list[Any]:
    objects: list[Any] = []
    told = [Status() for _ in requests]
    first_error: MPIException | None = None
    for request, status in zip(requests, told, strict=True):
        try:
            objects.append(_end_early(request, status, call) if request._kernel_request >= 0 else None)
        except MPIException as error:
            status.Set_error(error.Get_error_class())
            first_error = first_error or error
    reported(statuses, told)
    if first_error is not None:
        raise first_error
    return objects
