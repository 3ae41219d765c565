"""Messages in segments: their sizes, and relays that pass a segment on while they wait for the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from smpy.collectives.schedule import Schedule, Value, larger, smaller

_SIZE_MAX: Final = 1 << 62


class Segments(NamedTuple):
    """Segments of a message, equal but for the last one.

    Attributes
    ----------
    nbytes, segment_bytes : int or Formula
        Size of the message, and of a segment: any size if the message is empty.
    """

    nbytes: Value
    segment_bytes: Value

    @property
    def n_segments(self) -> Value:
        """Number of segments; one if the message is empty."""
        width = larger(1, self.segment_bytes)
        return larger(1, (self.nbytes + width - 1) // width)

    def size(self, index: Value) -> Value:
        """Bytes of a segment."""
        return smaller(self.segment_bytes, self.nbytes - index * self.segment_bytes)


def whole_entries(segment_bytes: int, item_bytes: int) -> int:
    """Size of a segment of whole entries, rounded to the closest as in Open MPI; no limit if not one fits."""
    n_entries, rest = divmod(segment_bytes, item_bytes)
    if n_entries == 0:
        return _SIZE_MAX  # a message is one segment
    return (n_entries + (rest > item_bytes // 2)) * item_bytes


def split(nbytes: Value, segment_bytes: Value) -> Segments:
    """Split a message into segments of a size; a smaller message is one segment."""
    return Segments(nbytes, smaller(segment_bytes, nbytes))


def last_size(holds: Callable[[int], bool]) -> int:
    """The largest message size for which a condition holds, if it holds for all smaller sizes, too; -1 for none."""
    if not holds(0):
        return -1
    first, bound = 0, _SIZE_MAX
    while bound - first > 1:
        middle = (first + bound) // 2
        first, bound = (middle, bound) if holds(middle) else (first, middle)
    return first


class End(NamedTuple):
    """The other end of a relay's message; some ranks have none.

    Attributes
    ----------
    exists : int or Formula
        Whether this rank has it.
    rank : int or Formula
        Its rank.
    """

    exists: Value
    rank: Value


def relay(
    steps: Schedule, source: End, targets: Sequence[End], nbytes: Value, n_segments: Value, *, is_started: bool
) -> None:
    """Receive segments of `nbytes` and pass each on to the targets in order, with all receives posted ahead.

    Sends are only started and completed at the end if `is_started`; otherwise each is waited for.
    """
    with steps.when(source.exists):
        for _ in steps.loop(0, n_segments):
            steps.irecv(source.rank, nbytes)
    for _ in steps.loop(0, n_segments):
        with steps.when(source.exists):
            steps.wait_oldest()
        for target in targets:
            with steps.when(target.exists):
                (steps.isend if is_started else steps.send)(target.rank, nbytes)
    steps.wait_all()


def relay_whole(steps: Schedule, source: End, targets: Sequence[End], nbytes: Value) -> None:
    """Receive a message and pass it on to the targets in order."""
    with steps.when(source.exists):
        steps.recv(source.rank, nbytes)
    for target in targets:
        with steps.when(target.exists):
            steps.send(target.rank, nbytes)
