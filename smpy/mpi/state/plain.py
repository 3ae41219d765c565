"""The hot handles in plain Python: what the compiled surface offers, without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG

if TYPE_CHECKING:
    from smpy.engine.messages import Envelope
    from smpy.mpi.requests.request import Request
    from smpy.mpi.requests.status import Status

__all__ = ["CommBase", "RequestBase"]


class CommBase:
    """A communicator's number and its hot calls."""

    __slots__ = {"_kernel_comm": "The kernel's number; -1 when null, -2 for the running rank alone."}

    _kernel_comm: int

    def __new__(cls, *args: object, **named: object) -> Self:
        self = super().__new__(cls)
        self._kernel_comm = -1
        return self

    def _refer_to(self, number: int, /) -> None:
        """Stand for the communicator with this number of the kernel's."""
        self._kernel_comm = number

    def Get_size(self) -> int:
        """Number of ranks."""
        return self._Get_size()

    def Get_rank(self) -> int:
        """The running rank in this communicator."""
        return self._Get_rank()

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._Get_size()

    @property
    def rank(self) -> int:
        """The running rank in this communicator."""
        return self._Get_rank()

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer; returns when it may be used again."""
        self._Send(buf, dest, tag)

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> None:
        """Receive a message into a buffer."""
        self._Recv(buf, source, tag, status)

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send a buffer, which must not change until the request completes."""
        return self._Isend(buf, dest, tag)

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Start to receive a message into a buffer."""
        return self._Irecv(buf, source, tag)

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send one buffer and receive into another at the same time."""
        self._Sendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag, status)

    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send what is in a buffer and receive another message into it."""
        self._Sendrecv_replace(buf, dest, sendtag, source, recvtag, status)

    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Whether there is a message to receive; looking takes simulated time."""
        return self._Iprobe(source, tag, status)

    def Allreduce(self, *args: Any, **named: Any) -> None:
        """Reduce the ranks' buffers, entry by entry and from left to right, into every rank's."""
        self._Allreduce(*args, **named)

    def _Get_size(self) -> int:
        raise NotImplementedError

    def _Get_rank(self) -> int:
        raise NotImplementedError

    def _Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        raise NotImplementedError

    def _Recv(self, buf: Any, source: int = -1, tag: int = -1, status: Status | None = None) -> None:
        raise NotImplementedError

    def _Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        raise NotImplementedError

    def _Irecv(self, buf: Any, source: int = -1, tag: int = -1) -> Request:
        raise NotImplementedError

    def _Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = -1,
        recvtag: int = -1,
        status: Status | None = None,
    ) -> None:
        raise NotImplementedError

    def _Sendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = -1, recvtag: int = -1, status: Status | None = None
    ) -> None:
        raise NotImplementedError

    def _Iprobe(self, source: int = -1, tag: int = -1, status: Status | None = None) -> bool:
        raise NotImplementedError

    def _Allreduce(self, *args: Any, **named: Any) -> None:
        raise NotImplementedError

    def _truncated(self, call: str, message: Envelope) -> NoReturn:
        raise NotImplementedError


class RequestBase:
    """A kernel request, what it keeps alive, and its hot calls."""

    __slots__ = {
        "_buffer": "Kept alive until the request completes.",
        "_finish": "What the owner does on completion, given the message.",
        "_kernel_request": "The kernel's number; 0 when it is through, -1 when null.",
        "_message": "What a request that has completed already received.",
    }

    _layout: None = None
    """A compiled request's alone."""

    _kernel_request: int
    _buffer: object
    _message: Envelope | None
    _finish: Any

    def __new__(cls, *args: object, **named: object) -> Self:
        self = super().__new__(cls)
        self._let_go()
        return self

    def _refer_to(self, number: int, /) -> None:
        """Stand for the kernel's request with this number; 0: it is complete."""
        self._kernel_request = number

    def _share(self, request: RequestBase, /) -> None:
        """Stand for what another request stands for."""
        self._kernel_request, self._buffer = request._kernel_request, request._buffer
        self._message, self._finish = request._message, request._finish

    def _let_go(self) -> None:
        """Become null, and let go of all memory."""
        self._kernel_request = -1
        self._buffer = self._message = self._finish = None

    def Wait(self, status: Status | None = None) -> Literal[True]:
        """Wait until the operation has completed."""
        return self._Wait(status)

    def Test(self, status: Status | None = None) -> bool:
        """Whether the operation has completed; if so the request becomes null."""
        return self._Test(status)

    @classmethod
    def Waitall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> Literal[True]:
        """Wait until all operations have completed."""
        return cls._Waitall(requests, statuses)

    def _Wait(self, status: Status | None = None) -> Literal[True]:
        raise NotImplementedError

    def _Test(self, status: Status | None = None) -> bool:
        raise NotImplementedError

    @classmethod
    def _Waitall(cls, requests: Sequence[Request], statuses: list[Status] | None = None) -> Literal[True]:
        raise NotImplementedError

    def _truncated(self, call: str, message: Envelope) -> NoReturn:
        raise NotImplementedError
