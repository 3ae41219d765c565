"""The messages of a step of the algorithm, written down apart from their numbers.

A function ``write(steps, *facts)`` writes them down: it calls `Send`, `Recv`, `Irecv`, `Wait` and `Look` of
`steps`, with parts of arrays: the number of an array, or that and the first and the end of some of its rows. (Without
numbers, the kernels in between are written down likewise, with `Perform`, `Execute` and `Call`.) `Calls`
makes each call as it is written; `sequence` keeps them, for a simulator to perform as a whole (a `MessageProgram` of
`smpy.experimental`), as often as the facts are the same, which all processes share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

try:
    from smpy.experimental import AwaitedMessage, MessageProgram, poll_until
except ImportError:  # under a real MPI, where smpy need not be installed

    def poll_until(question: Callable[..., object], *arguments: Any) -> None:  # type: ignore[misc]
        """Ask until the answer is yes."""
        while not question(*arguments):
            pass

    class AwaitedMessage:  # type: ignore[no-redef]
        """Do nothing: there is none here."""


__all__ = [
    "WHOLE",
    "AwaitedMessage",
    "Calls",
    "Number",
    "Part",
    "Steps",
    "exchange",
    "is_empty",
    "nothing",
    "poll_until",
    "sequence",
]

Part = int | tuple[int, int, int]
Number = int | tuple[int, int]
Steps = Any

WHOLE: Part = 0  # all of the first array


class Calls:
    """Makes each call as it is written down.

    Parameters
    ----------
    comm : MPI.Comm
        Communicator of the calls.
    look : callable
        Called where a message is looked for in between.
    *arrays : array
        Arrays whose parts are sent and received.
    """

    def __init__(self, comm: Any, look: Callable[[], object], *arrays: Any) -> None:
        self._comm, self.Look, self._arrays = comm, look, arrays

    def Send(self, part: Part, dest: int, tag: int) -> None:
        self._comm.Send(self._rows(part), dest, tag)

    def Recv(self, part: Part, source: int, tag: int) -> None:
        self._comm.Recv(self._rows(part), source, tag)

    def Irecv(self, part: Part, source: int, tag: int) -> Any:
        return self._comm.Irecv(self._rows(part), source, tag)

    def Wait(self, request: Any) -> None:
        request.Wait()

    def _rows(self, part: Part) -> Any:
        if isinstance(part, int):
            return self._arrays[part]
        array, first, end = part
        return self._arrays[array][first:end]


@lru_cache(1 << 11)
def sequence(write: Callable[..., None], *facts: Any) -> Steps:
    """The steps that `write` adds to a sequence for these facts; under `smpy run`."""
    steps = MessageProgram()
    write(steps, *facts)
    return steps


def exchange(steps: Steps, out: Part, into: Part, partner: int, tag: int) -> None:
    """Send to and receive from one partner; an empty part takes no message."""
    if is_empty(into):
        if not is_empty(out):
            steps.Send(out, partner, tag)
        return
    if is_empty(out):
        steps.Recv(into, partner, tag)
        return
    request = steps.Irecv(into, partner, tag)
    steps.Send(out, partner, tag)
    steps.Wait(request)


def is_empty(part: Part) -> bool:
    """Whether a part has no rows."""
    return not isinstance(part, int) and part[1] == part[2]


def nothing(*facts: Any) -> None:
    """Do nothing between messages that carry no numbers."""
