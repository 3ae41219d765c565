"""Waiting for requests and testing them, one or several.

A request that is known to be complete (`states`) costs nothing to test again; any other test costs the test overhead.
The transfers of a compound operation are waited for one after the other. Testall tests each request, as SMPI does;
completed ones are remembered, because none may become null before all are complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from smpy.engine.messages import NO_MESSAGE, Envelope
from smpy.engine.running import current
from smpy.mpi.requests.compound_operations import OUT_OF_REACH, CompoundOperation, report
from smpy.mpi.requests.states import RequestState, are_null, compound_of, first_complete, is_null, numbers_of, state_of
from smpy.mpi.requests.status import Status, fill
from smpy.mpi.state.constants import UNDEFINED
from smpy.mpi.state.exceptions import Exception as MPIException
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.surface_bases import RequestBase

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


def end(request: RequestBase, envelope: Envelope, status: Status | None, call: str) -> Any:
    """Make a request null whose operation has completed; returns the object that was received, if any."""
    finish = request._on_completion
    request._let_go()
    if isinstance(finish, CompoundOperation):
        return finish.complete(envelope, status, call)
    report(envelope, status, call)
    return None if finish is None else finish(envelope)


def release(request: RequestBase) -> None:
    """Make a request null whose operation may go on by itself; it still delivers."""
    compound = compound_of(request)
    if compound is not None:
        compound.release()
    elif state_of(request) is RequestState.TRANSFER:
        lent: Any = request._buffer  # a compiled request's own hold on it, and on its layout, ends with the request
        keep = None if lent is None else (memoryview(lent), request._layout)
        current().release(request._kernel_request, keep)
    request._let_go()


def wait(request: RequestBase, status: Status | None, call: str) -> Any:
    """Wait for a request; returns the object received."""
    if is_null(request):
        fill(status, NO_MESSAGE)
        return None
    return end(request, _wait_for_all_of(request, call), status, call)


def test(request: RequestBase, status: Status | None, call: str) -> tuple[bool, Any]:
    """Test a request: whether it has completed, and the object received."""
    if is_null(request):
        fill(status, NO_MESSAGE)
        return True, None
    envelope = look(request, call)
    return (False, None) if envelope is None else (True, end(request, envelope, status, call))


def look(request: RequestBase, call: str) -> Envelope | None:
    """Test a request that is not null; returns and remembers its message if it has completed, else None."""
    while request._envelope is None:
        number = _next_of(request)
        envelope = current().test(max(number, 0), call)
        if envelope is None or number == OUT_OF_REACH:
            return None
        _advance(request, envelope)
    return request._envelope


def wait_all(requests: Iterable[RequestBase], statuses: list[Status] | None, call: str) -> list[Any]:
    """Wait for all; returns the objects received. The first truncated message raises when all have ended."""
    listed = checked(requests, call)
    numbers = numbers_of(listed)
    transfers = [request for request, number in zip(listed, numbers, strict=True) if number > 0]
    messages = current().wait_all([number for number in numbers if number > 0], call)
    for request, envelope in zip(transfers, messages, strict=True):
        _complete(request, envelope)
    for request, number in zip(listed, numbers, strict=True):
        if number == 0:
            _wait_for_all_of(request, call)
    return _end_all(listed, statuses, call)


def test_all(requests: Iterable[RequestBase], statuses: list[Status] | None, call: str) -> list[Any] | None:
    """Test each request; returns the objects received when all have completed, else None."""
    listed = checked(requests, call)
    are_complete = [is_null(request) or look(request, call) is not None for request in listed]
    return _end_all(listed, statuses, call) if all(are_complete) else None


def wait_any(requests: Iterable[RequestBase], status: Status | None, call: str) -> tuple[int, Any]:
    """Wait for one of several: its index and the object received; ``UNDEFINED`` when all are null."""
    return _wait_any(checked(requests, call), status, call)


def test_any(requests: Iterable[RequestBase], status: Status | None, call: str) -> tuple[int, bool, Any]:
    """Test several: index of a completed one, whether there is one or all are null, and the object received."""
    listed = checked(requests, call)
    numbers = numbers_of(listed)
    index = None if all(numbers) else first_complete(listed)
    if index is None:
        if _are_negative(numbers):
            fill(status, NO_MESSAGE)
            return UNDEFINED, True, None
        completed = current().test_any(_next_of_each(listed, numbers), call)
        if completed is None or not _advance(listed[completed[0]], completed[1]):
            return UNDEFINED, False, None
        index = completed[0]
    return index, True, _end_known(listed[index], status, call)


def wait_some(
    requests: Iterable[RequestBase], statuses: list[Status] | None, call: str
) -> tuple[list[int] | None, list[Any] | None]:
    """Wait for one, then test the others: indices and objects of completed ones; None when all are null."""
    listed = checked(requests, call)
    if are_null(listed):
        return None, None
    first = Status()
    index, received = _wait_any(listed, first, call)
    indices, objects, filled = [index], [received], [first]
    _look_at_each(listed, call, indices, objects, filled)
    reported(statuses, filled)
    return indices, objects


def test_some(
    requests: Iterable[RequestBase], statuses: list[Status] | None, call: str
) -> tuple[list[int] | None, list[Any] | None]:
    """Test each: indices and objects of the completed requests; None when all are null."""
    listed = checked(requests, call)
    if are_null(listed):
        return None, None
    indices: list[int] = []
    objects: list[Any] = []
    filled: list[Status] = []
    _look_at_each(listed, call, indices, objects, filled)
    reported(statuses, filled)
    return indices, objects


def reported(statuses: list[Status] | None, filled: list[Status]) -> None:
    """Copy to the statuses that the program gave; its list grows when it is too short."""
    if statuses is None:
        return
    if isinstance(statuses, list):
        statuses.extend(Status() for _ in range(len(statuses), len(filled)))
    for status, source in zip(statuses, filled, strict=False):
        status.__setstate__(source.__getstate__())


def checked(requests: Iterable[RequestBase], call: str) -> list[RequestBase]:
    """The requests of a call, as a list; raises ``TypeError`` if an item is not a request."""
    if not isinstance(requests, Iterable):
        raise TypeError(f"{call}: requests is of type {type(requests).__name__}, not a sequence of Requests")
    listed: list[Any] = list(requests)
    if not all(issubclass(kind, RequestBase) for kind in set(map(type, listed))):
        index = next(index for index, one in enumerate(listed) if not isinstance(one, RequestBase))
        raise TypeError(f"{call}: requests[{index}] is of type {type(listed[index]).__name__}, not a Request")
    return listed


def _wait_any(requests: list[RequestBase], status: Status | None, call: str) -> tuple[int, Any]:
    """Wait for one: its index and the object received. If all are transfers, each is tested once."""
    while True:
        numbers = numbers_of(requests)
        index = None if all(numbers) else first_complete(requests)
        if index is not None:
            break
        if _are_negative(numbers):
            fill(status, NO_MESSAGE)
            return UNDEFINED, None
        numbers = _next_of_each(requests, numbers)
        if _are_negative(numbers):
            _check_reach(next(request for request in requests if not is_null(request)), OUT_OF_REACH, call)
        index, envelope = current().wait_any(numbers, call)
        if _advance(requests[index], envelope):
            break
    return index, _end_known(requests[index], status, call)


def _are_negative(numbers: Sequence[int]) -> bool:
    return not any(map((-1).__lt__, numbers))


def _wait_for_all_of(request: RequestBase, call: str) -> Envelope:
    while request._envelope is None:
        number = _next_of(request)
        _check_reach(request, number, call)
        _advance(request, current().wait(number, call))
    return request._envelope


def _next_of(request: RequestBase) -> int:
    """Kernel request to wait for next; 0 if nothing is left, `OUT_OF_REACH` if it has none."""
    compound = compound_of(request)
    return request._kernel_request if compound is None else compound.next()


def _next_of_each(requests: Sequence[RequestBase], numbers: list[int]) -> list[int]:
    """Kernel requests to wait for next, given the numbers of the requests."""
    if all(numbers):
        return numbers
    return [number or _next_of(request) for request, number in zip(requests, numbers, strict=True)]


def _check_reach(request: RequestBase, number: int, call: str) -> None:
    compound = compound_of(request)
    if number == OUT_OF_REACH and compound is not None:
        fail("ERR_PENDING", compound.explain(call))


def _advance(request: RequestBase, envelope: Envelope) -> bool:
    """Record a completed kernel request; whether the whole request is complete now."""
    compound = compound_of(request)
    whole = envelope if compound is None else compound.advance(envelope)
    if whole is not None:
        _complete(request, whole)
    return whole is not None


def _complete(request: RequestBase, envelope: Envelope) -> None:
    request._refer_to(0)
    request._envelope = envelope


def _end_known(request: RequestBase, status: Status | None, call: str) -> Any:
    return end(request, request._envelope or NO_MESSAGE, status, call)


def _look_at_each(
    requests: Sequence[RequestBase], call: str, indices: list[int], objects: list[Any], filled: list[Status]
) -> None:
    for index, request in enumerate(requests):
        envelope = look(request, call) if not is_null(request) else None
        if envelope is not None:
            status = Status()
            objects.append(end(request, envelope, status, call))
            indices.append(index)
            filled.append(status)


def _end_all(requests: Sequence[RequestBase], statuses: list[Status] | None, call: str) -> list[Any]:
    objects: list[Any] = []
    filled = [Status() for _ in requests]
    first_error: MPIException | None = None
    for request, status in zip(requests, filled, strict=True):
        try:
            objects.append(_end_known(request, status, call) if not is_null(request) else None)
        except MPIException as error:
            status.Set_error(error.Get_error_class())
            first_error = first_error or error
    reported(statuses, filled)
    if first_error is not None:
        raise first_error
    return objects
