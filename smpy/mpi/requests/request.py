"""`Request`: an operation under way. Completion of one or several is in `completion`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Literal, NoReturn, Self

from smpy.engine.messages import Envelope
from smpy.engine.running import current, mpi_call
from smpy.mpi.requests import completion, get_status
from smpy.mpi.requests.compound_operations import CompoundOperation, SeveralTransfers, truncated
from smpy.mpi.requests.states import RequestState, compound_of, is_null, state_of
from smpy.mpi.requests.status import Status
from smpy.mpi.state.constants import ANY_TAG, PROC_NULL
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import Handle, of_family
from smpy.mpi.state.surface_bases import RequestBase, compiled_when_available, use_request_class

__all__ = ["FROM_NOBODY", "REQUEST_NULL", "Request", "from_nobody", "new_request", "to_nobody"]

FROM_NOBODY: Final = Envelope(PROC_NULL, ANY_TAG, 0, 0)
"""Envelope that a receive from ``PROC_NULL`` gets."""


@compiled_when_available("Wait", "Test", "Waitall")
class Request(RequestBase, Handle):
    """An operation under way; null once it has completed.

    Parameters
    ----------
    request : Request, optional
        One to make another handle of.
    """

    __slots__ = ("__weakref__", "_operation")
    _family: ClassVar = "Request"
    _null_identity: ClassVar = -1

    _operation: Callable[[], Request]
    """Function that starts the operation once more; only persistent requests have it."""

    def __new__(cls, request: Request | None = None) -> Self:
        self = super().__new__(cls)
        if request is not None:
            of_family(request, Request)
            self._share(request)
            operation = request._persistent()
            if operation is not None:
                self._operation = operation
        return self

    def _persistent(self) -> Callable[[], Request] | None:
        return getattr(self, "_operation", None)

    def _identity(self) -> int:
        operation = self._persistent()
        if operation is not None:
            return id(operation)
        if state_of(self) in (RequestState.NULL, RequestState.TRANSFER):
            return self._kernel_request
        return id(compound_of(self) or self)

    def _become_null(self) -> None:
        completion.release(self)
        if self._persistent() is not None:
            del self._operation

    def _truncated(self, call: str, envelope: Envelope) -> NoReturn:
        truncated(call, envelope)

    # ---- one ----

    @mpi_call
    def Wait(self, status: Status | None = None) -> Literal[True]:
        """Wait until the operation has completed."""
        completion.wait(self, status, "Wait")
        return True

    @mpi_call
    def Test(self, status: Status | None = None) -> bool:
        """Whether the operation has completed; if so the request becomes null."""
        return completion.test(self, status, "Test")[0]

    @mpi_call
    def Get_status(self, status: Status | None = None) -> bool:
        """Whether the operation has completed; the request stays as it is."""
        return get_status.get_status(self, status, "Get_status")

    @mpi_call
    def Cancel(self) -> None:
        """Try to stop the operation; a wait is still needed, and its status says whether it was stopped."""
        compound = compound_of(self)
        if is_null(self):
            fail("ERR_REQUEST", "Cancel: the request is null or has not been started: there is nothing to stop")
        if compound is not None:
            compound.cancel("Cancel")
        elif state_of(self) is RequestState.TRANSFER:
            current().cancel(self._kernel_request)

    @mpi_call
    def Free(self) -> None:
        """Give the request back; an operation under way goes on by itself and delivers its message."""
        if not self:
            fail("ERR_REQUEST", "Free: the request is null")
        self._become_null()

    @mpi_call
    def wait(self, status: Status | None = None) -> Any:
        """Wait until the operation has completed: the object received."""
        return completion.wait(self, status, "wait")

    @mpi_call
    def test(self, status: Status | None = None) -> tuple[bool, Any | None]:
        """Whether the operation has completed, and the object received."""
        return completion.test(self, status, "test")

    def get_status(self, status: Status | None = None) -> bool:
        """Whether the operation has completed; the request stays as it is."""
        return self.Get_status(status)

    def cancel(self) -> None:
        """Try to stop the operation."""
        self.Cancel()

    # ---- several, buffers ----

    @classmethod
    @mpi_call
    def Waitany(cls, requests: Sequence[Request], status: Status | None = None) -> int:
        """Wait until one has completed: its index, ``UNDEFINED`` when all are null."""
        return completion.wait_any(requests, status, "Waitany")[0]

    @classmethod
    @mpi_call
    def Testany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool]:
        """Whether one has completed: its index, and whether there is one or all are null."""
        return completion.test_any(requests, status, "Testany")[:2]

    @classmethod
    @mpi_call
    def Waitall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> Literal[True]:
        """Wait until all operations have completed."""
        completion.wait_all(requests, statuses, "Waitall")
        return True

    @classmethod
    @mpi_call
    def Testall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Whether all have completed; none becomes null before."""
        return completion.test_all(requests, statuses, "Testall") is not None

    @classmethod
    @mpi_call
    def Waitsome(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """Wait until at least one has completed: the indices of the completed requests, None when all are null."""
        return completion.wait_some(requests, statuses, "Waitsome")[0]

    @classmethod
    @mpi_call
    def Testsome(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """The indices of the completed requests, None when all are null."""
        return completion.test_some(requests, statuses, "Testsome")[0]

    @classmethod
    @mpi_call
    def Get_status_any(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool]:
        """Index of one that has completed, and whether there is one or all are null; none becomes null."""
        return get_status.get_status_any(requests, status, "Get_status_any")

    @classmethod
    @mpi_call
    def Get_status_all(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Whether all have completed; none becomes null."""
        return get_status.get_status_all(requests, statuses, "Get_status_all")

    @classmethod
    @mpi_call
    def Get_status_some(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """Indices of the completed requests, None when all are null; none becomes null."""
        return get_status.get_status_some(requests, statuses, "Get_status_some")

    # ---- several, objects ----

    @classmethod
    @mpi_call
    def waitany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, Any]:
        """Wait until one has completed: its index and the object received."""
        return completion.wait_any(requests, status, "waitany")

    @classmethod
    @mpi_call
    def testany(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool, Any | None]:
        """Whether one has completed: its index, whether there is one or all are null, and the object received."""
        return completion.test_any(requests, status, "testany")

    @classmethod
    @mpi_call
    def waitall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> list[Any]:
        """Wait until all have completed: the objects received."""
        return completion.wait_all(requests, statuses, "waitall")

    @classmethod
    @mpi_call
    def testall(
        cls, requests: Sequence[Request], statuses: list[Status] | None = None
    ) -> tuple[bool, list[Any] | None]:
        """Whether all have completed, and then the objects received."""
        objects = completion.test_all(requests, statuses, "testall")
        return objects is not None, objects

    @classmethod
    @mpi_call
    def waitsome(
        cls, requests: Sequence[Request], statuses: list[Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Wait until at least one has completed: indices and objects of the completed requests."""
        return completion.wait_some(requests, statuses, "waitsome")

    @classmethod
    @mpi_call
    def testsome(
        cls, requests: Sequence[Request], statuses: list[Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Indices and objects of the completed requests."""
        return completion.test_some(requests, statuses, "testsome")

    @classmethod
    def get_status_any(cls, requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool]:
        """Index of one that has completed, and whether there is one or all are null; none becomes null."""
        return cls.Get_status_any(requests, status)

    @classmethod
    def get_status_all(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Whether all have completed; none becomes null."""
        return cls.Get_status_all(requests, statuses)

    @classmethod
    def get_status_some(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """Indices of the completed requests, None when all are null; none becomes null."""
        return cls.Get_status_some(requests, statuses)


use_request_class(Request)

REQUEST_NULL: Final = Request()
Request._know({"REQUEST_NULL": REQUEST_NULL})


def new_request(
    number: int,
    *,
    finish: Callable[[Envelope], Any] | CompoundOperation | None = None,
    envelope: Envelope | None = None,
) -> Request:
    """A request for the kernel's transfer `number`, or for an operation.

    `smpy.mpi.state.surface_bases` describes the arguments.
    """
    request = Request()
    request._refer_to(number)
    request._on_completion, request._envelope = finish, envelope
    return request


def from_nobody() -> Request:
    """A receive from ``PROC_NULL``: it is complete, but its first test costs the test overhead."""
    return new_request(0, finish=SeveralTransfers((), whole=FROM_NOBODY))


def to_nobody() -> Request:
    """A send to ``PROC_NULL``: it is complete, like a send that needs no receive."""
    return new_request(0)
