"""Unfinished operations of a program: their buffers until completion, and requests that are never completed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any
from weakref import ref

from smpy.engine.surface import surface
from smpy.mpi.checks.buffers import PendingBuffer, PendingBuffers, settling
from smpy.mpi.checks.mistakes import Kind, Line, Mistakes, Side, is_of_library
from smpy.mpi.requests.persistent import Prequest
from smpy.mpi.requests.request import Request
from smpy.mpi.requests.states import RequestState, compound_of, is_null, state_of

__all__ = ["RequestChecks"]


class _Started:
    """A started request: its call, line and buffers. Only the program keeps the request alive."""

    __slots__ = ("buffers", "call", "is_over", "line", "request", "wild_lines")

    def __init__(
        self, request: ref[Request], call: str, line: Line, buffers: Sequence[PendingBuffer], wild_lines: Sequence[int]
    ) -> None:
        self.request = request
        self.call = call
        self.line = line
        self.buffers = buffers
        self.wild_lines = wild_lines
        self.is_over = False


class RequestChecks:
    """Unfinished requests of all ranks."""

    def __init__(self, mistakes: Mistakes, line_of: Callable[[int], Line]) -> None:
        self._mistakes = mistakes
        self._line_of = line_of
        self._started: dict[int, dict[int, _Started]] = {}
        self._buffers: dict[int, PendingBuffers] = {}

    def buffers_of(self, rank: int) -> PendingBuffers:
        """Buffers of a rank's unfinished operations."""
        buffers = self._buffers.get(rank)
        if buffers is None:
            buffers = self._buffers[rank] = PendingBuffers(self._mistakes, self._line_of)
        return buffers

    def started(
        self,
        rank: int,
        request: Request,
        call: str,
        line: Line,
        buffers: Sequence[PendingBuffer],
        wild_lines: Sequence[int],
    ) -> None:
        """Record a request that a call has started. `wild_lines`: line numbers of receives from any source."""
        if is_null(request):
            self._end(rank, buffers)
            return
        if surface is not None:
            surface.pending_mark(request)
        results = [buffer for buffer in buffers if buffer.is_result]
        if results and compound_of(request) is None:
            request._on_completion = settling(request._on_completion, results)
        own = self._started.setdefault(rank, {})
        key, is_eager = id(request), state_of(request) is RequestState.UNSEEN
        own[key] = _Started(ref(request, partial(self._dropped, rank, key, is_eager)), call, line, buffers, wild_lines)

    def _dropped(self, rank: int, key: int, is_eager: bool, _dead: object) -> None:
        """End the checks of an unfinished request that Python has collected."""
        started = self._started[rank].pop(key, None)
        if started is not None:
            self._end(rank, started.buffers)
            if is_eager:
                self._tell_of_incomplete(rank, started)

    def _tell_of_incomplete(self, rank: int, started: _Started) -> None:
        if not is_of_library(started.line):
            self._mistakes.add(Kind.REQUESTS, Side(rank, f"request of {started.call}", started.line))

    def asked(self, rank: int, requests: Iterable[Any] | None) -> list[int]:
        """Line numbers of receives from any source, among the requests that a call waits for (None: all requests)."""
        own = self._started.get(rank, {})
        among = own.values() if requests is None else (own[id(request)] for request in requests if id(request) in own)
        return [line for started in among for line in started.wild_lines]

    def completed(self, rank: int, requests: Iterable[Any] | None, call: str, line: Line) -> None:
        """Check the buffers of each request that a call has completed; `requests` None: look at all of the rank's."""
        own = self._started.get(rank)
        if not own:
            return
        keys = list(own) if requests is None else [id(request) for request in requests if id(request) in own]
        for key in keys:
            request = own[key].request()
            if request is not None and is_null(request):
                started = own.pop(key)
                for buffer in started.buffers:
                    self.buffers_of(rank).end_looking(buffer, Side(rank, f"{call} completes it", line))

    def forget(self, rank: int, request: object) -> None:
        """Forget a request that the program has freed."""
        started = self._started.get(rank, {}).pop(id(request), None)
        if started is not None:
            self._end(rank, started.buffers)

    def _end(self, rank: int, buffers: Sequence[PendingBuffer]) -> None:
        for buffer in buffers:
            self.buffers_of(rank).end(buffer)

    def report(self) -> None:
        """Report requests that were never completed though nothing was left to wait for; the kernel reports others."""
        for rank, own in self._started.items():
            for started in own.values():
                for buffer in started.buffers:
                    self.buffers_of(rank).end_guard(buffer)
                request = started.request()
                if request is None or isinstance(request, Prequest):
                    continue
                if state_of(request) is RequestState.UNSEEN:
                    self._tell_of_incomplete(rank, started)
        self._started.clear()
