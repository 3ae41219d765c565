"""`Grequest`: an operation of the program's own that completes when the program says so.

Its callbacks are called on the rank that completes it. An exception of theirs is printed, and becomes an error of the
call that called them.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, Self

from smpy.engine.messages import Envelope
from smpy.engine.running import mpi_call
from smpy.mpi.requests.compound_operations import OUT_OF_REACH, CompoundOperation
from smpy.mpi.requests.request import Request
from smpy.mpi.requests.status import Status
from smpy.mpi.state.exceptions import Exception as MPIException
from smpy.mpi.state.exceptions import fail

__all__ = ["Grequest"]


class _Own(CompoundOperation):
    """An operation that the program carries out itself, with its callbacks."""

    __slots__ = ("_cancel", "_free", "_is_complete", "_is_released", "_query", "_received")

    def __init__(
        self, query: Callable[[Status], None], free: Callable[[], None], cancel: Callable[[bool], None]
    ) -> None:
        self._query, self._free, self._cancel = query, free, cancel
        self._is_complete = self._is_released = False
        self._received: Any = None

    def mark_complete(self, received: Any) -> None:
        if self._is_complete:
            fail("ERR_REQUEST", "Complete: the request has been completed already")
        self._is_complete, self._received = True, received
        if self._is_released:
            _call_back("Complete", self._free)

    def next(self) -> int:
        return 0 if self._is_complete else OUT_OF_REACH

    def advance(self, envelope: Envelope) -> Envelope | None:
        return envelope

    def fill_status(self, envelope: Envelope, status: Status | None, call: str) -> None:
        answer = Status()
        _call_back(call, self._query, answer)
        if status is not None:
            status.__setstate__(answer.__getstate__())

    def complete(self, envelope: Envelope, status: Status | None, call: str) -> Any:
        try:
            self.fill_status(envelope, status, call)
        finally:
            _call_back(call, self._free)
        return self._received

    def cancel(self, call: str) -> None:
        _call_back(call, self._cancel, self._is_complete)

    def release(self) -> None:
        self._is_released = True
        if self._is_complete:
            _call_back("Free", self._free)

    def explain(self, call: str) -> str:
        return (
            f"{call}: the rank would wait for ever: a generalised request that it has not completed; "
            "call Complete() first"
        )


class Grequest(Request):
    """An operation that the program carries out itself.

    Parameters
    ----------
    request : Grequest, optional
        One to make another handle of.

    Raises
    ------
    TypeError
        If `request` is not a generalised request.
    """

    __slots__ = ()

    def __new__(cls, request: Request | None = None) -> Self:
        if request and not isinstance(request, Grequest):
            raise TypeError(f"expected a Grequest, not a {type(request).__name__}")
        return super().__new__(cls, request)

    @classmethod
    @mpi_call
    def Start(
        cls,
        query_fn: Callable[..., None] | None = None,
        free_fn: Callable[..., None] | None = None,
        cancel_fn: Callable[..., None] | None = None,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> Grequest:
        """A request for an operation of the program's own.

        Parameters
        ----------
        query_fn : callable, optional
            Fills the status of the completed operation, its first argument.
        free_fn : callable, optional
            Called when the request is no longer needed.
        cancel_fn : callable, optional
            Told, as its first argument, whether the operation to be cancelled has completed.
        args, kwargs : tuple and dict, optional
            Further arguments of all three.
        """
        more, named = args or (), kwargs or {}

        def bound(function: Callable[..., None] | None) -> Callable[..., None]:
            return lambda *first: None if function is None else function(*first, *more, **named)

        request = Grequest()
        request._refer_to(0)
        request._on_completion = _Own(bound(query_fn), bound(free_fn), bound(cancel_fn))
        return request

    @mpi_call
    def Complete(self) -> None:
        """Say that the operation has completed."""
        self._complete(None)

    @mpi_call
    def complete(self, obj: Any = None) -> None:
        """Say that the operation has completed, with an object that `wait` returns.

        Parameters
        ----------
        obj : object
            Any object.
        """
        self._complete(obj)

    def _complete(self, received: Any) -> None:
        own = self._on_completion
        if not isinstance(own, _Own):
            fail("ERR_REQUEST", "Complete: the request is null")
        own.mark_complete(received)


def _call_back(call: str, function: Callable[..., None], *arguments: Any) -> None:
    """Call a callback of the program; an exception is printed and becomes an error of `call`."""
    try:
        function(*arguments)
    except MPIException:
        traceback.print_exc()
        raise
    except Exception as error:  # noqa: BLE001  # a callback may raise anything
        traceback.print_exc()
        fail("ERR_OTHER", f"{call}: a callback of the generalised request raised {type(error).__name__}")
