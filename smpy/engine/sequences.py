"""Sequences of messages: sends and receives that a program writes down once, and that one call performs.

Under a simulated run the kernel goes from one step to the next without the program, with the dates that the calls would
have one by one. Elsewhere the calls are made one by one.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from math import prod
from operator import index
from typing import Any, Final, TypeAlias

from smpy.engine.polling import poll_until
from smpy.engine.running import current, is_running, mpi_call
from smpy.engine.surface import surface
from smpy.errors import UsageError

__all__ = ["AwaitedMessage", "MessageProgram"]

Part: TypeAlias = int | tuple[int, int, int]
"""An array, by its place among those that a performance is given; or that, and the first and the end of some rows."""

Number: TypeAlias = int | tuple[int, int]
"""A whole number; or the place of one that a performance is given, and what is added to that."""

_SEND, _RECV, _IRECV, _WAIT, _LOOK, _PERFORM, _CALL, _EXECUTE = range(8)
_TAG_OF_CALL: Final = -(2**31)
_WHOLE: Final = -1

_Step: TypeAlias = tuple[Any, ...]
"""Kind, array, first row, end, peer, tag, and the step that a Wait waits for; or kind and sequence; or kind, function
or operations, and numbers, each a place (negative: none) and a summand."""

if surface is None:
    raise ImportError("sequences of messages need the compiled surface: unset SMPY_SURFACE")


class MessageProgram(surface.SequenceBase):  # type: ignore[misc]  # a class in C
    """Sends and receives that one call performs, one after the other.

    Each method but `perform` writes one step down, and has the name and the meaning of mpi4py's call. A message sends
    or fills a part of one of the arrays that `perform` is given: their number, or a tuple of it, a first row and an
    end; so one sequence serves arrays of all sizes, and all ranks for which its partners are right. A `tag` of None is
    the one that `perform` is given.

    A sequence may have others within it, computing that takes its time, and functions that are called in between.
    Their numbers are told, or some of those that `perform` is given: the numbers of rows that are left, say.

    Performing a sequence has the dates, the matching and the messages of its calls made one by one, which is what
    happens under a real MPI. A receive that is too short for its message raises when the steps behind it may have
    been performed; the error, and the report of a deadlock, tell its step, counted from 0 in the sequence that it was
    written in.

    Examples
    --------
    >>> halo = MessageProgram()
    >>> coming = halo.Irecv((0, 0, 1), source=3)  # row 0 comes, row 1 goes
    >>> halo.Send((0, 1, 2), dest=3)
    >>> halo.Wait(coming)
    >>> halo.perform(comm, grid)  # doctest: +SKIP

    A time step of a solver, for any number of rows:

    >>> step = MessageProgram()
    >>> step.Perform(halo)
    >>> step.Execute(4.0, (0, -2), 100)  # 4 operations for each of 100 numbers in all rows but two
    >>> step.perform(comm, grid, numbers=(len(grid),))  # doctest: +SKIP
    """

    __slots__ = ()

    def Send(self, part: Part, dest: int, tag: int | None = 0) -> None:
        """Send a part, and go on when it may be reused."""
        self._post(_SEND, part, dest, tag)

    def Recv(self, part: Part, source: int, tag: int | None = 0) -> None:
        """Receive into a part."""
        self._post(_RECV, part, source, tag)

    def Irecv(self, part: Part, source: int, tag: int | None = 0) -> int:
        """Start to receive into a part: the step's number, for `Wait`; its sequence waits for it at the end."""
        return self._post(_IRECV, part, source, tag)

    def Wait(self, step: int) -> None:
        """Wait for the receive that a step has started."""
        self._add(_WAIT, 0, 0, _WHOLE, 0, 0, index(step))

    def Look(self) -> None:
        """Have `perform` look here for the arrival that it is given, as long as that is not done."""
        self._add(_LOOK, 0, 0, _WHOLE, 0, 0, 0)

    def Perform(self, sequence: MessageProgram) -> None:
        """Perform another sequence, with the same arrays, tag, arrival and numbers; it does not change any more.

        At its own end it waits for the receives that it started and has not waited for.
        """
        self._add_sequence(sequence)

    def Call(self, function: Callable[..., object], *numbers: Number) -> None:
        """Call a function with whole numbers: told here, or as tuples (place, summand) of one that `perform` is given.

        A summand is added to the number. There are at most eight, of at most 64 bits.
        """
        self._add_call(function, *(each for number in numbers for each in _place_and_summand(number)))

    def Execute(self, flop: float, *numbers: Number, kernel: str = "execute") -> None:
        """Compute so many operations, times each of the numbers (see `Call`), as `execute` does.

        Profiles and traces name the kernel.
        """
        if is_running():
            current().kernel_names.add(kernel)
        written = (each for number in numbers for each in _place_and_summand(number))
        self._add_execution((kernel, float(flop)), *written)

    def _post(self, kind: int, part: Part, peer: int, tag: int | None) -> int:
        step: int = self._add(*_step(kind, part, peer, tag))
        return step

    def _perform(
        self,
        comm: Any,
        *arrays: Any,
        tag: int | None = None,
        arrival: AwaitedMessage | None = None,
        numbers: Sequence[int] = (),
    ) -> None:
        """Make the calls one by one."""
        requests: dict[int, Any] = {}
        for place, step in enumerate(self._steps()):
            kind, *rest = step
            if kind == _LOOK:
                if arrival is not None:
                    arrival.look()
            elif kind == _WAIT:
                if step[-1] in requests:
                    requests.pop(step[-1]).Wait()
            elif kind == _PERFORM:
                rest[0]._perform(comm, *arrays, tag=tag, arrival=arrival, numbers=numbers)
            elif kind == _CALL:
                function, written = rest
                function(*(_number(numbers, *number) for number in written))
            elif kind == _EXECUTE:
                (kernel, flop), written = rest
                _execute(kernel, prod((_number(numbers, *number) for number in written), start=flop))
            else:
                array, first, end, peer, written_tag, _ = rest
                request = getattr(comm, _NAMES[kind])(_rows(arrays, array, first, end), peer, _tag(written_tag, tag))
                if request is not None:
                    requests[place] = request
        if requests:
            type(next(iter(requests.values()))).Waitall(list(requests.values()))


class AwaitedMessage(surface.ArrivalBase):  # type: ignore[misc]  # likewise
    """An awaited message, and the sequence to perform when it is there; the program goes on meanwhile.

    Parameters
    ----------
    comm : Comm
        Communicator of the message.
    source : int or None
        Rank of the sender; None: there is nothing to look for, and the first look goes on.
    tag : int
        Its tag, and that of the steps of `sequence` that have none.
    sequence : MessageProgram
        Sequence to perform when the message is there, such as its receive.
    *arrays : array
        Arrays of the sequence.

    Attributes
    ----------
    is_done : bool
        Whether `sequence` has been performed.

    Notes
    -----
    `look` asks once, as ``comm.Iprobe(source, tag)`` does, and goes on when the message is there; `wait` asks until it
    is. After that neither does anything. `overlap` performs a sequence with the same communicator, arrays and tag, then
    looks, and does both again until the message is there, at most so many times: how often it was.
    """

    __slots__ = ()

    def _look(self) -> bool:
        if self._source is not None and not self._comm.Iprobe(self._source, self._tag):
            return False
        self._follow()
        return True

    def _wait(self) -> None:
        if self._source is not None:
            poll_until(self._comm.Iprobe, self._source, self._tag)
        self._follow()

    def _overlap(self, sequence: MessageProgram, times: int, numbers: Sequence[int] = ()) -> int:
        n = 0
        while n < times and not self.is_done:
            sequence.perform(self._comm, *self._arrays, tag=self._tag, arrival=self, numbers=numbers)
            self.look()
            n += 1
        return n

    def _follow(self) -> None:
        self.is_done = True  # type: ignore[misc]  # a member of the class in C
        self._sequence._perform(self._comm, *self._arrays, tag=self._tag)


def _step(kind: int, part: Part, peer: int, tag: int | None) -> _Step:
    """A send or a receive, in plain integers."""
    try:
        array, first, end = map(index, part) if isinstance(part, Iterable) else (index(part), 0, _WHOLE)
    except (TypeError, ValueError):
        raise ValueError(f"{part!r} is no part: give an array's number, or (array, first row, end)") from None
    if isinstance(part, Iterable) and end < 0:
        raise ValueError(f"{part!r}: a part's rows begin at 0, and end where they begin or later")
    return kind, array, first, end, index(peer), _TAG_OF_CALL if tag is None else index(tag), 0


def _place_and_summand(number: Number) -> tuple[int, int]:
    """A number of a call, in plain integers; without a place -1."""
    try:
        place, summand = map(index, number) if isinstance(number, Iterable) else (-1, index(number))
    except (TypeError, ValueError):
        raise ValueError(f"{number!r} is no number: give a whole one, or (place, summand)") from None
    if isinstance(number, Iterable) and place < 0:
        raise ValueError(f"{number!r}: places are counted from 0")
    return place, summand


def _number(numbers: Sequence[int], place: int, summand: int) -> int:
    if place < 0:
        return summand
    if place >= len(numbers):
        raise UsageError(f"a step of the sequence takes number {place}, and perform was given {len(numbers)}")
    return index(numbers[place]) + summand


@mpi_call
def _execute(kernel: str, flop: float) -> None:
    if not 0 <= flop <= sys.float_info.max:
        raise ValueError(f"cannot compute {flop} operations: give a finite number of at least 0")
    if is_running():
        current().compute(flop, 0.0, kernel)


_NAMES: Final = {_SEND: "Send", _RECV: "Recv", _IRECV: "Irecv"}


def _rows(arrays: tuple[Any, ...], array: int, first: int, end: int) -> Any:
    if array >= len(arrays):
        raise UsageError(f"a step of the sequence takes array {array}, and perform was given {len(arrays)}")
    if end == _WHOLE:
        return arrays[array]
    whole = arrays[array]
    if not hasattr(whole, "__array_interface__"):  # not numpy's: may copy its parts, as `array.array` does
        with contextlib.suppress(TypeError):  # or is no buffer: what is wrong with it, the call says
            whole = memoryview(whole)
    if end > len(whole):
        raise UsageError(f"a step of the sequence takes rows {first} to {end} of array {array}, which has {len(whole)}")
    return whole[first:end]


def _tag(written: int, tag: int | None) -> int:
    return written if written != _TAG_OF_CALL else tag or 0
