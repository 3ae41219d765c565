"""The classes that the compiled surface replaces: the contents of handles on communicators, requests and windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from smpy.engine.messages import Envelope

__all__ = ["CommBase", "RequestBase", "WindowBase"]


class CommBase:
    """A communicator's number."""

    __slots__ = {"_kernel_comm": "The kernel's number; -1 when null, -2 for the running rank alone."}

    _kernel_comm: int

    def __new__(cls, *args: object, **named: object) -> Self:
        self = super().__new__(cls)
        self._kernel_comm = -1
        return self

    def _refer_to(self, number: int, /) -> None:
        """Set the kernel's number of the communicator."""
        self._kernel_comm = number


class RequestBase:
    """A kernel request, and the objects that it keeps alive."""

    __slots__ = {
        "_buffer": "Kept alive until the request completes.",
        "_envelope": "What a request that has completed already received.",
        "_kernel_request": "The kernel's number; 0 when it is through, -1 when null.",
        "_on_completion": "What the owner does on completion, given the envelope.",
    }

    _layout: None = None
    """Layout of the entries in a compiled request; always None here."""

    _kernel_request: int
    _buffer: object
    _envelope: Envelope | None
    _on_completion: Any

    def __new__(cls, *args: object, **named: object) -> Self:
        self = super().__new__(cls)
        self._let_go()
        return self

    def _refer_to(self, number: int, /) -> None:
        """Set the kernel's number of the request; 0: it is complete."""
        self._kernel_request = number

    def _share(self, request: RequestBase, /) -> None:
        """Take over the operation of another request."""
        self._kernel_request, self._buffer = request._kernel_request, request._buffer
        self._envelope, self._on_completion = request._envelope, request._on_completion

    def _let_go(self) -> None:
        """Make the request null, and release all memory."""
        self._kernel_request = -1
        self._buffer = self._envelope = self._on_completion = None


class WindowBase:
    """Nothing: the state of a window is in Python."""

    __slots__ = ()
