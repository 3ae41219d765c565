"""`Request`: an operation under way. How several are completed together is in `completion`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Literal, NoReturn, Self

from smpy.engine.messages import Message
from smpy.engine.running import mpi_call
from smpy.mpi import completion
from smpy.mpi.constants import ANY_TAG, PROC_NULL
from smpy.mpi.handle import Handle
from smpy.mpi.handles import RequestBase, use_request_class
from smpy.mpi.status import Status

__all__ = ["FROM_NOBODY", "REQUEST_NULL", "Request", "new_request"]

FROM_NOBODY: Final = Message(PROC_NULL, ANY_TAG, 0, 0)
"""What a receive from ``PROC_NULL`` gets."""


class Request(RequestBase, Handle):
    """An operation under way; null once it has completed.

    Parameters
    ----------
    request : Request, optional
        One to make another handle of.
    """

    __slots__ = ("__weakref__",)
    _family: ClassVar = "Request"
    _null: ClassVar = -1

    def __new__(cls, request: Request | None = None) -> Self:
        self = super().__new__(cls)
        if request is not None:
            self.number, self.kind, self.buffer = request.number, request.kind, request.buffer
            self.message, self.finish = request.message, request.finish
        return self

    def _identity(self) -> int:
        return id(self) if self.number == 0 else self.number

    def _truncated(self, call: str, message: Message) -> NoReturn:
        completion.truncated(call, message)

    # ---- one ----

    @mpi_call
    def _Wait(self, status: Status | None = None) -> Literal[True]:
        completion.wait(self, status, "Wait")
        return True

    @mpi_call
    def _Test(self, status: Status | None = None) -> bool:
        return completion.test(self, status, "Test")[0]

    @mpi_call
    def wait(self, status: Status | None = None) -> Any:
        """Wait until the operation has completed: the object received."""
        return completion.wait(self, status, "wait")

    @mpi_call
    def test(self, status: Status | None = None) -> tuple[bool, Any | None]:
        """Whether the operation has completed, and the object received."""
        return completion.test(self, status, "test")

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
    def _Waitall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> Literal[True]:
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
        """Wait until at least one has completed: the indices of those that have, None when all are null."""
        return completion.wait_some(requests, statuses, "Waitsome")[0]

    @classmethod
    @mpi_call
    def Testsome(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """The indices of those that have completed, None when all are null."""
        return completion.test_some(requests, statuses, "Testsome")[0]

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
        """Wait until at least one has completed: indices and objects of those that have."""
        return completion.wait_some(requests, statuses, "waitsome")

    @classmethod
    @mpi_call
    def testsome(
        cls, requests: Sequence[Request], statuses: list[Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Indices and objects of those that have completed."""
        return completion.test_some(requests, statuses, "testsome")


use_request_class(Request)

REQUEST_NULL: Final = Request()
Request.know({"REQUEST_NULL": REQUEST_NULL})


def new_request(
    number: int, kind: int, *, finish: Callable[[Message], Any] | None = None, message: Message | None = None
) -> Request:
    """A request for what the kernel knows by `number`; `smpy.mpi.handles` says what the other arguments are."""
    request = Request()
    request.number, request.kind, request.finish, request.message = number, kind, finish, message
    return request
