"""Waiting for requests and testing them, one or several.

A request has completed early when its ``message`` is set: nothing is left to ask the kernel, and asking is free. One
whose ``number`` is 0 is complete too, but nobody has looked: a look costs what a look costs.

Testall looks at each request, as SMPI does; those found complete are remembered, because none may become null before
all are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from smpy.engine.messages import NO_MESSAGE, Message
from smpy.engine.running import current
from smpy.mpi.constants import UNDEFINED
from smpy.mpi.exceptions import Exception as MPIException
from smpy.mpi.exceptions import fail
from smpy.mpi.handles import IDLE
from smpy.mpi.status import Status, fill

if TYPE_CHECKING:
    from smpy.mpi.requests import Request

__all__ = ["end", "test", "test_all", "test_any", "test_some", "truncated", "wait", "wait_all", "wait_any", "wait_some"]


def end(request: Request, message: Message, status: Status | None, call: str) -> Any:
    """Make a request null, now that its operation has completed: the object that was received, if any."""
    finish = request.finish
    request.number, request.kind = -1, IDLE
    request.buffer = request.message = request.finish = None
    fill(status, message)
    if message.nbytes > message.capacity:
        truncated(call, message)
    return None if finish is None else finish(message)


def truncated(call: str, message: Message) -> NoReturn:
    """Raise ``ERR_TRUNCATE`` for a message that did not fit."""
    fail(
        "ERR_TRUNCATE",
        f"{call}: the message from rank {message.source} with tag {message.tag} has {message.nbytes} bytes, "
        f"the buffer has room for {message.capacity}: receive into a larger one",
    )


def wait(request: Request, status: Status | None, call: str) -> Any:
    """Wait for one: the object received."""
    if request.number < 0:
        fill(status, NO_MESSAGE)
        return None
    message = request.message
    return end(request, current().wait(request.number, call) if message is None else message, status, call)


def test(request: Request, status: Status | None, call: str) -> tuple[bool, Any]:
    """Look at one: whether it has completed, and the object received."""
    if request.number < 0:
        fill(status, NO_MESSAGE)
        return True, None
    message = _looked_at(request, call)
    return (False, None) if message is None else (True, end(request, message, status, call))


def wait_all(requests: Sequence[Request], statuses: list[Status] | None, call: str) -> list[Any]:
    """Wait for all: the objects received. The first that was truncated is raised when all have ended."""
    told = iter(current().wait_all([r.number for r in requests if r.number > 0], call))
    messages = [next(told) if r.number > 0 else r.message or NO_MESSAGE for r in requests]
    return _end_all(requests, messages, statuses, call)


def test_all(requests: Sequence[Request], statuses: list[Status] | None, call: str) -> list[Any] | None:
    """Look at each: the objects received when all have completed, else None."""
    for request in requests:
        if request.number >= 0:
            _remember(request, _looked_at(request, call))
    if any(request.number >= 0 and request.message is None for request in requests):
        return None
    return _end_all(requests, [request.message or NO_MESSAGE for request in requests], statuses, call)


def wait_any(requests: Sequence[Request], status: Status | None, call: str) -> tuple[int, Any]:
    """Wait for one of several: its index and the object received; ``UNDEFINED`` when all are null."""
    early = _early(requests)
    if early is not None:
        request = requests[early]
        return early, end(request, request.message or NO_MESSAGE, status, call)
    if all(request.number < 0 for request in requests):
        fill(status, NO_MESSAGE)
        return UNDEFINED, None
    index, message = current().wait_any([request.number for request in requests], call)
    return index, end(requests[index], message, status, call)


def test_any(requests: Sequence[Request], status: Status | None, call: str) -> tuple[int, bool, Any]:
    """Look at several: index of one that has completed, whether there is one or all are null, its object."""
    early = _early(requests)
    if early is not None:
        request = requests[early]
        return early, True, end(request, request.message or NO_MESSAGE, status, call)
    if all(request.number < 0 for request in requests):
        fill(status, NO_MESSAGE)
        return UNDEFINED, True, None
    found = current().test_any([request.number for request in requests], call)
    if found is None:
        return UNDEFINED, False, None
    index, message = found
    return index, True, end(requests[index], message, status, call)


def wait_some(
    requests: Sequence[Request], statuses: list[Status] | None, call: str
) -> tuple[list[int] | None, list[Any] | None]:
    """Wait for one, then look at the others: indices and objects of those completed; None when all are null."""
    if all(request.number < 0 for request in requests):
        return None, None
    first = Status()
    index, received = wait_any(requests, first, call)
    indices, objects, told = [index], [received], [first]
    _look_at_each(requests, call, indices, objects, told)
    _report(statuses, told)
    return indices, objects


def test_some(
    requests: Sequence[Request], statuses: list[Status] | None, call: str
) -> tuple[list[int] | None, list[Any] | None]:
    """Look at each: indices and objects of those that have completed; None when all are null."""
    if all(request.number < 0 for request in requests):
        return None, None
    indices: list[int] = []
    objects: list[Any] = []
    told: list[Status] = []
    _look_at_each(requests, call, indices, objects, told)
    _report(statuses, told)
    return indices, objects


def _looked_at(request: Request, call: str) -> Message | None:
    return current().test(request.number, call) if request.message is None else request.message


def _remember(request: Request, message: Message | None) -> None:
    if message is not None:
        request.number, request.message = 0, message


def _early(requests: Sequence[Request]) -> int | None:
    return next((i for i, request in enumerate(requests) if request.message is not None), None)


def _look_at_each(
    requests: Sequence[Request], call: str, indices: list[int], objects: list[Any], told: list[Status]
) -> None:
    for index, request in enumerate(requests):
        message = _looked_at(request, call) if request.number >= 0 else None
        if message is not None:
            status = Status()
            objects.append(end(request, message, status, call))
            indices.append(index)
            told.append(status)


def _end_all(
    requests: Sequence[Request], messages: Sequence[Message], statuses: list[Status] | None, call: str
) -> list[Any]:
    objects: list[Any] = []
    told = [Status() for _ in requests]
    first_error: MPIException | None = None
    for request, message, status in zip(requests, messages, told, strict=True):
        try:
            objects.append(end(request, message, status, call) if request.number >= 0 else None)
        except MPIException as error:
            status.Set_error(error.Get_error_class())
            first_error = first_error or error
    _report(statuses, told)
    if first_error is not None:
        raise first_error
    return objects


def _report(statuses: list[Status] | None, told: list[Status]) -> None:
    """Copy to the statuses that the program gave; its list grows when it is too short."""
    if statuses is None:
        return
    if isinstance(statuses, list):
        statuses.extend(Status() for _ in range(len(statuses), len(told)))
    for status, source in zip(statuses, told, strict=False):
        status.__setstate__(source.__getstate__())
