"""Buffers of started operations: no two overlap, and the program leaves them alone until completion.

Checksums at the start and at the end reveal whether a buffer being sent was changed. A guard of the compiled surface
detects reads and writes of a receive buffer that fills pages of its own. Any other receive buffer has two checksums:
one just before its data arrives reveals earlier writes, one at completion reveals later ones. The result of a
collective arrives as its request completes. Memory with shared content (folded arrays) is not checked.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any
from zlib import crc32

from smpy.engine.folded_memory import is_any, private_ranges
from smpy.engine.messages import Entries, Envelope, Load, PartialBytes
from smpy.engine.pointers import bytes_at, pointer_at
from smpy.engine.surface import surface
from smpy.mpi.checks.mistakes import NOWHERE, Kind, Line, Mistakes, Side
from smpy.mpi.checks.stretches import StretchOfBytes, span_of, stretches_of
from smpy.mpi.data.buffers import EVERYWHERE
from smpy.mpi.data.packing import pack
from smpy.mpi.data.strided import strided

__all__ = ["PendingBuffer", "PendingBuffers", "Touch", "has_own_content", "settling"]


class Touch(IntEnum):
    """First touch of a guarded buffer, numbered as in kernels/surface/guard.h."""

    NONE = 0
    READ = 1
    WRITTEN = 2
    USED = 3
    """Read or written: the machine does not report which."""

    def sides(self, rank: int, call: str, line: Line, touch_line: Line) -> list[Side]:
        """Sides of the mistake: the start of the receive, and the touch if its line is known."""
        start = Side(rank, f"{call}: its buffer is {self.name.lower()} before the operation completes", line)
        return [start] if touch_line == NOWHERE else [start, Side(rank, f"{_TOUCHES[self]} it", touch_line)]


_TOUCHES = {Touch.READ: "reads", Touch.WRITTEN: "writes", Touch.USED: "uses"}


class PendingBuffer:
    """The entries in a program's memory that a started operation reads or writes.

    Parameters
    ----------
    rank : int
        World rank that owns them.
    call : str
        Name of the call that has started the operation.
    line : Line
        Line of the call.
    entries : Entries
        The entries.
    is_written : bool
        Whether the operation receives into them.
    is_result : bool
        Whether they are the result of a collective, stored as its request completes.
    """

    __slots__ = (
        *("_checksum", "_guard", "_is_guarded", "_was_changed", "begin", "call", "end", "entries", "is_result"),
        *("is_written", "line", "rank"),
    )

    def __init__(
        self, rank: int, call: str, line: Line, entries: Entries, *, is_written: bool, is_result: bool = False
    ) -> None:
        self.rank = rank
        self.call = call
        self.line = line
        self.entries = entries
        self.is_written = is_written
        self.is_result = is_result
        self._checksum: int | None = None
        self._guard = 0
        self._is_guarded = False
        self._was_changed = False
        self.begin, self.end = span_of(entries.layout.typemap, entries.address, entries.n)

    @property
    def side(self) -> Side:
        """Start of the operation, as one side of a mistake."""
        return Side(
            self.rank, f"{self.call} {'receives into' if self.is_written else 'sends from'} the buffer", self.line
        )

    @property
    def change(self) -> Side:
        """Change of the buffer's content, as one side of a mistake."""
        what = "written" if self.is_written else "changed"
        return Side(self.rank, f"{self.call}: its buffer is {what} before the operation completes", self.line)

    def overlaps(self, other: PendingBuffer) -> bool:
        """Whether both buffers share a byte that one of the operations writes."""
        if not (self.is_written or other.is_written) or self.begin >= other.end or other.begin >= self.end:
            return False
        mine, its = self.stretches(), other.stretches()
        if not mine or not its:
            return False
        i = j = 0
        while i < len(mine) and j < len(its):
            if mine[i][0] < its[j][1] and its[j][0] < mine[i][1]:
                return True
            if mine[i][1] <= its[j][1]:
                i += 1
            else:
                j += 1
        return False

    def stretches(self) -> list[StretchOfBytes]:
        """Stretches of the entries' bytes, in order; empty when there are too many to list."""
        typemap, (address, count, *_) = self.entries.layout.typemap, self.entries
        return stretches_of(typemap, address, count)

    # ---- content ----

    def guard(self, line_number: int) -> None:
        """Ask the surface to record the first touch of the buffer; `line_number` is the line of the start."""
        stretches = self.stretches()
        if surface is not None and len(stretches) == 1:
            self._guard, self._is_guarded = surface.guard(self.begin, self.end - self.begin, line_number)
            if self._is_guarded:
                self._checksum = None

    def end_guard(self) -> tuple[Touch, int]:
        """End the guard, and return the first touch and the number of its line (0 if unknown)."""
        if not self._guard:
            return Touch.NONE, 0
        how, line = surface.end_guard(self._guard)
        self._guard = 0
        return Touch(how), line

    def remember(self, *, has_changed: bool = False) -> None:
        """Store a checksum unless a guard covers the whole buffer; `has_changed` adds a change found earlier."""
        self._was_changed |= has_changed
        if not self._is_guarded:
            self._checksum = self._sum()

    def has_changed(self) -> bool:
        """Whether the content differs from the last checksum, or had changed before that."""
        return self._was_changed or (self._checksum is not None and self._checksum != self._sum())

    def settle(self) -> None:
        """Record whether the content has changed until now; ignore later changes."""
        self._was_changed = self.has_changed()
        self._checksum = None

    def _sum(self) -> int:
        typemap, (address, count, *_) = self.entries.layout.typemap, self.entries
        if not typemap.is_dense and strided(typemap) is not None:
            return crc32(pack(typemap, EVERYWHERE, address, count))
        total = 0
        for begin, end in self.stretches():
            total = crc32(bytes_at(pointer_at(begin), end - begin), total)
        return total

    def arriving(self, load: Load, tell: Callable[[PendingBuffer, bool], None]) -> Load:
        """Wrap the payload end of the receive: it checks the memory before it stores the data there.

        `tell(buffer, False)` is called if the program has written there before.
        """

        def take(data: memoryview | PartialBytes) -> None:
            if self.has_changed():
                tell(self, False)
            if load.take is not None:
                load.take(data)
            else:
                _put(load.address, data, load.nbytes)
            self.remember()

        return Load(load.nbytes, keep=load.keep, take=take, entries=load.entries)


def settling(finish: Callable[[Envelope], Any], results: Sequence[PendingBuffer]) -> Callable[[Envelope], Any]:
    """Wrap the completion of a collective's request: it checks the memory before it stores the results there."""

    def look_and_finish(envelope: Envelope) -> Any:
        for buffer in results:
            buffer.settle()
        return finish(envelope)

    return look_and_finish


def _put(address: int, data: memoryview | PartialBytes, room: int) -> None:
    pieces = data.private if isinstance(data, PartialBytes) else [(0, len(data))]
    content = memoryview(data.data if isinstance(data, PartialBytes) else data).cast("B")
    into = memoryview(bytes_at(pointer_at(address), room)).cast("B") if room else memoryview(bytearray())
    for first, last in pieces:
        end = min(last, room)
        if first < end:
            into[first:end] = content[first:end]


def has_own_content(entries: Entries) -> bool:
    """Whether the program has the memory for itself, with real content in every byte."""
    if not entries.n or not entries.layout.size:
        return False
    if not is_any():
        return True
    typemap, (address, count, *_) = entries.layout.typemap, entries
    back, ahead = sorted((0, (count - 1) * typemap.extent))
    first, last = address + back + typemap.true_lb, address + ahead + typemap.true_ub
    return private_ranges(first, last - first) is None


class PendingBuffers:
    """Buffers of a rank's unfinished operations, ordered by first byte.

    Parameters
    ----------
    mistakes : Mistakes
        Collects the mistakes found.
    line_of : callable
        Returns the line of a number.
    """

    def __init__(self, mistakes: Mistakes, line_of: Callable[[int], Line]) -> None:
        self._mistakes = mistakes
        self._line_of = line_of
        self._begins: array[int] = array("Q")
        self._buffers: list[PendingBuffer] = []
        self._longest = 0

    def begin(self, new: PendingBuffer) -> None:
        """Add a buffer, and report each other buffer that it overlaps."""
        for other in self._near(new.begin, new.end):
            if new.overlaps(other):
                self._mistakes.add(Kind.OVERLAP, other.side, new.side)
        self._longest = max(self._longest, new.end - new.begin)
        if surface is not None:
            surface.pending_elsewhere(1)
        at = bisect_left(self._begins, new.begin)
        self._begins.insert(at, new.begin)
        self._buffers.insert(at, new)

    def _near(self, begin: int, end: int) -> Iterator[PendingBuffer]:
        """Buffers whose spans overlap a range of addresses."""
        first = bisect_left(self._begins, max(begin - self._longest, 0))
        for i in range(first, len(self._buffers)):
            other = self._buffers[i]
            if other.begin >= end:
                break
            if other.end > begin:
                yield other

    def overlapped(self, begin: int, end: int, *, is_written: bool) -> list[PendingBuffer]:
        """Buffers with bytes in a range of addresses, if the range or the buffer is written."""
        return [
            other
            for other in self._near(begin, end)
            if (is_written or other.is_written) and any(a < end and begin < b for a, b in other.stretches())
        ]

    def end(self, buffer: PendingBuffer, *done: Side) -> bool:
        """Remove a buffer, report its first touch if it was guarded, and return whether there was one."""
        at = bisect_left(self._begins, buffer.begin)
        while at < len(self._buffers) and self._buffers[at] is not buffer:
            at += 1
        if at < len(self._buffers):
            del self._begins[at], self._buffers[at]
            if surface is not None:
                surface.pending_elsewhere(-1)
        if not self._buffers:
            self._longest = 0
        return self.end_guard(buffer, *done)

    def end_guard(self, buffer: PendingBuffer, *done: Side) -> bool:
        """End the guard of a buffer, report its first touch, and return whether there was one."""
        touch, number = buffer.end_guard()
        if touch:
            sides = touch.sides(buffer.rank, buffer.call, buffer.line, self._line_of(number))
            self._mistakes.add(Kind.BUFFERS, *sides, *(() if number else done))
        return bool(touch)

    def end_looking(self, buffer: PendingBuffer, done: Side) -> None:
        """Remove a buffer at completion, and report whether the program has touched or changed it."""
        if not self.end(buffer, done) and buffer.has_changed():
            self.tell(buffer, done)

    def tell(self, buffer: PendingBuffer, done: Side | None = None) -> None:
        """Report that the program has changed the buffer of an unfinished operation."""
        self._mistakes.add(Kind.BUFFERS, *((buffer.change,) if done is None else (buffer.change, done)))
