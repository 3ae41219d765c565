"""Buffers in a rank's own memory that its accesses to a window use until they complete locally.

Two checksums reveal whether a buffer has changed: one as the call returns, when a read has stored its data, and one
at completion.
"""

from __future__ import annotations

from collections.abc import Iterable

from smpy.mpi.checks.buffers import PendingBuffer, has_own_content
from smpy.mpi.checks.mistakes import Kind, Line, Mistakes, Side
from smpy.mpi.data.buffer_segments import BufferSegment

__all__ = ["AccessBuffers", "AccessSegment"]

AccessSegment = tuple[BufferSegment, bool]
"""Entries that an access uses, and whether the access writes them."""


class _Incomplete:
    """Buffers of accesses to one target since the last completion, by line and range of addresses."""

    __slots__ = ("buffers", "is_over")

    def __init__(self) -> None:
        self.buffers: dict[object, PendingBuffer] = {}
        self.is_over = False


class _RequestBuffer(PendingBuffer):
    """Buffer of an access with a request: its wait completes the access unless a synchronisation did so before."""

    __slots__ = ("_among",)

    def __init__(self, buffer: PendingBuffer, among: _Incomplete) -> None:
        super().__init__(buffer.rank, buffer.call, buffer.line, buffer.entries, is_written=buffer.is_written)
        self._among = among

    def has_changed(self) -> bool:
        return not self._among.is_over and super().has_changed()


class AccessBuffers:
    """Buffers of one rank's accesses to a window.

    Parameters
    ----------
    mistakes : Mistakes
        Collects the mistakes found.
    rank : int
        The rank in the world.
    """

    __slots__ = ("_by_target", "_mistakes", "_rank")

    def __init__(self, mistakes: Mistakes, rank: int) -> None:
        self._mistakes = mistakes
        self._rank = rank
        self._by_target: dict[int, _Incomplete] = {}

    def started(
        self, target: int, call: str, line: Line, segments: Iterable[AccessSegment], *, has_request: bool
    ) -> list[PendingBuffer]:
        """Record the buffers of an access that has returned, and return those that its request has to check.

        In a loop, an access of the same line to the same entries replaces the one before.
        """
        among = self._by_target.setdefault(target, _Incomplete())
        of_request = list[PendingBuffer]()
        for segment, is_written in segments:
            if segment.memory.is_folded or not has_own_content(entries := segment.entries):
                continue
            buffer = PendingBuffer(self._rank, call, line, entries, is_written=is_written)
            if has_request:
                buffer = _RequestBuffer(buffer, among)
                of_request.append(buffer)
            else:
                self.add(target, buffer)
            buffer.remember()
        return of_request

    def add(self, target: int, buffer: PendingBuffer) -> None:
        """Add the buffer of an access without a request."""
        buffers = self._by_target.setdefault(target, _Incomplete()).buffers
        key = buffer.line, buffer.begin, buffer.end, buffer.is_written
        before = buffers.get(key)
        if before is not None and not buffer.is_written:
            self._look(before)
        buffers[key] = buffer

    def completed(self, target: int | None, done: Side) -> None:
        """Check the buffers of accesses that completed locally, to one target or (None) to all."""
        for each in list(self._by_target) if target is None else (target,):
            among = self._by_target.pop(each, None)
            if among is not None:
                among.is_over = True
                for buffer in among.buffers.values():
                    self._look(buffer, done)

    def _look(self, buffer: PendingBuffer, *done: Side) -> None:
        if buffer.has_changed():
            self._mistakes.add(Kind.BUFFERS, buffer.change, *done)
