"""Where the ranks of a collective meet: what each contributes, and that they mean the same call.

Collectives of a communicator are numbered by each rank as it enters them; the n-th of all ranks is one
`OpenCollective`. It holds what the ranks have left for each other. The first rank to enter makes it, the last one to
leave takes it away. Entering costs the same for any number of ranks.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from smpy.engine.running import current
from smpy.mpi.exceptions import fail
from smpy.mpi.world import Communicator

__all__ = ["NOT_COMPARED", "OpenCollective", "Signature", "enter"]

NOT_COMPARED = -1


class Signature(NamedTuple):
    """What must be equal on all ranks; `NOT_COMPARED` and empty strings where a call has no such thing."""

    call: str
    root: int = NOT_COMPARED
    nbytes: int = NOT_COMPARED
    operation: str = ""
    datatype: str = ""

    def __str__(self) -> str:
        arguments = [f"root={self.root}"] if self.root != NOT_COMPARED else []
        arguments += [f"op={self.operation}"] if self.operation else []
        size = f", {self.nbytes} bytes" if self.nbytes != NOT_COMPARED else ""
        return f"{self.call}({', '.join(arguments)}){size}{f' of {self.datatype}' if self.datatype else ''}"


class OpenCollective:
    """A collective that some ranks have entered and not all have left.

    Parameters
    ----------
    communicator : Communicator
        Whose it is.
    place : int
        Its place in the order of collectives.
    signature : Signature
        As the first rank called it.
    payload : object
        Where ranks leave what the others need; what it is depends on the call.

    Attributes
    ----------
    schedule : int
        The kernel's number of what the ranks do, set by the first of them; -1 before.
    """

    __slots__ = ("_communicator", "_first_line", "_first_rank", "_n_left", "payload", "place", "schedule", "signature")

    def __init__(self, communicator: Communicator, place: int, signature: Signature, payload: Any) -> None:
        self.place = place
        self.signature = signature
        self.payload = payload
        self.schedule = -1
        self._communicator = communicator
        self._first_rank = current().rank
        self._first_line = _line_of_program()
        self._n_left = 0

    def leave(self) -> None:
        """Say that the running rank has what it needs; the last one to say so closes the collective."""
        self._n_left += 1
        if self._n_left == self._communicator.size:
            del self._communicator.open[self.place]

    def check(self, signature: Signature) -> None:
        """Raise unless the running rank makes the same call as the first."""
        if signature != self.signature:
            self._disagree(signature)

    def _disagree(self, mine: Signature) -> NoReturn:
        first = self.signature
        if first.call != mine.call:
            error_class = "ERR_OTHER"
        elif first.root != mine.root:
            error_class = "ERR_ROOT"
        elif first.operation != mine.operation:
            error_class = "ERR_OP"
        else:
            error_class = "ERR_TYPE" if first.datatype != mine.datatype else "ERR_TRUNCATE"
        callers = [
            (f"rank {self._first_rank}:", str(first), self._first_line),
            (f"rank {current().rank}:", str(mine), _line_of_program()),
        ]
        widths = [max(len(caller[column]) for caller in callers) for column in (0, 1)]
        lines = "".join(f"\n  {who:<{widths[0]}} {call:<{widths[1]}}   {line}" for who, call, line in callers)
        fail(
            error_class,
            f"two ranks of {self._communicator.name or 'a communicator'} disagree on its collective number {self.place}"
            f"{lines}\n"
            "All ranks of a communicator make the same collective calls in the same order, "
            "with the same root, operation and size.",
        )


def enter(
    communicator: Communicator, rank: int, signature: Signature, new_payload: Callable[..., Any], *parts: Any
) -> OpenCollective:
    """The collective that the running rank enters next.

    Parameters
    ----------
    communicator : Communicator
        Its communicator.
    rank : int
        The running rank there.
    signature : Signature
        The call as this rank makes it.
    new_payload : callable
        Makes what the ranks will leave their contributions in, when this rank is the first; called with `parts`.

    Raises
    ------
    Exception
        If another rank entered with another call, root, operation, datatype or size.
    """
    entered = communicator.entered
    if entered is None:
        entered = communicator.entered = array("q", bytes(8 * communicator.size))
    entered[rank] += 1
    place = entered[rank]
    meeting = communicator.open.get(place)
    if meeting is None:
        meeting = communicator.open[place] = OpenCollective(communicator, place, signature, new_payload(*parts))
    else:
        meeting.check(signature)
    return meeting


def _line_of_program() -> str:
    """File and line of the innermost frame that is not the surface's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("smpy."):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
