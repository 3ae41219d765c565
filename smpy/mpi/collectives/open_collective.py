"""An open collective: the contributions of its ranks, and the check that they make the same call.

Collectives of a communicator are numbered by each rank as it enters them; the n-th of all ranks, of both sides of an
intercommunicator, is one `OpenCollective`. It holds the contributions of the ranks. The first rank to enter
makes it, the last one to leave removes it. Entering costs the same for any number of ranks.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from smpy.collectives.choice import hints_text
from smpy.engine.messages import Carried
from smpy.engine.running import current
from smpy.mpi.data.message_specifications import part_of
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.world import Communicator

if TYPE_CHECKING:
    from smpy.mpi.data.built_in_operations import Operation
    from smpy.mpi.data.reductions import ReductionInProgress
    from smpy.platforms.models.machine_models import CollectiveChoice

__all__ = ["NOT_COMPARED", "OpenCollective", "Signature", "caller_location", "enter"]

NOT_COMPARED: Final = -1


class Signature(NamedTuple):
    """Arguments that must be equal on all ranks; `NOT_COMPARED` or "" where a call, or a rank, does not know one.

    Between groups `root` is the root's index among the members of both, and `nbytes_back` the bytes that side 1 sends.
    """

    call: str
    root: int = NOT_COMPARED
    nbytes: int = NOT_COMPARED
    operation: str = ""
    datatype: str = ""
    nbytes_back: int = NOT_COMPARED

    def conflict(self, other: Signature) -> str:
        """Error class of the first field that both know and that differs; empty when they agree."""
        for name, error_class in _ERROR_CLASSES.items():
            mine, its = getattr(self, name), getattr(other, name)
            if mine != its and mine not in _UNSAID and its not in _UNSAID:
                return error_class
        return ""


_UNSAID: Final = (NOT_COMPARED, "")
_ERROR_CLASSES: Final = {
    "call": "ERR_OTHER",
    "root": "ERR_ROOT",
    "operation": "ERR_OP",
    "datatype": "ERR_TYPE",
    "nbytes": "ERR_TRUNCATE",
    "nbytes_back": "ERR_TRUNCATE",
}


class _Caller(NamedTuple):
    """A member, its call and the line of the program that makes it."""

    member: int
    signature: Signature
    line: str


class OpenCollective:
    """A collective that some ranks have entered and not all have left.

    Parameters
    ----------
    communicator : Communicator
        The communicator of its ranks.
    place : int
        Its place in the order of collectives.
    payload : object
        Object in which ranks leave their contributions; its type depends on the call.

    Attributes
    ----------
    schedule : int
        The kernel's number of the schedule, set by the first rank; -1 before.
    plain_allreduce : tuple or None
        Format, bytes, operation and fold of an `Allreduce` of plain buffers, for the compiled surface; else None.
    choice : CollectiveChoice or None
        The choice of algorithms that hints of the first rank have made.
    """

    __slots__ = ("_callers", "_communicator", "_n_left", "choice", "payload", "place", "plain_allreduce", "schedule")

    def __init__(self, communicator: Communicator, place: int, payload: Any) -> None:
        self.place = place
        self.payload = payload
        self.schedule = -1
        self.plain_allreduce: tuple[str, int, Operation, ReductionInProgress] | None = None
        self.choice: CollectiveChoice | None = None
        self._communicator = communicator
        self._callers: list[_Caller] = []
        self._n_left = 0

    @property
    def signature(self) -> Signature:
        """The call as the first rank made it."""
        return self._callers[0].signature

    def leave(self) -> None:
        """Leave the collective with the running rank; the last rank to leave closes it."""
        self._n_left += 1
        joint = self._communicator.joint
        if self._n_left == joint.n_members:
            del joint.open[self.place]

    def fill(self, recvbuf: Any, result: Carried) -> None:
        """Put a result where the running rank wants it; the compiled surface does so with plain bytes."""
        part_of(recvbuf, is_written=True).put_in_time(result)

    def check(self, signature: Signature, member: int) -> None:
        """Raise unless the running rank, which is `member` here, makes the same call as the ranks before it."""
        callers = self._callers
        if callers and callers[0].signature == signature:
            return
        mine = _Caller(member, signature, caller_location())
        for caller in callers:
            error_class = signature.conflict(caller.signature)
            if error_class:
                self._disagree(error_class, caller, mine)
        if all(caller.signature != signature for caller in callers):
            callers.append(mine)

    def check_choice(self, choice: CollectiveChoice | None, member: int) -> None:
        """Raise ``ERR_NOT_SAME`` unless hints of the running rank make the same choice as those of the first one."""
        if choice != self.choice:
            first = self._callers[0]
            lines = [(first.member, self.choice, first.line), (member, choice, caller_location())]
            self._fail(
                "ERR_NOT_SAME",
                [(f"{self._name(who)}:", hints_text(hints), line) for who, hints, line in lines],
                "All ranks of a communicator give it the same hints that begin with smpy_.",
            )

    def fail_between(self, sender: tuple[int, int, str], receiver: tuple[int, int, str]) -> NoReturn:
        """Raise ``ERR_TRUNCATE``: two members, each with its bytes and its line, disagree on a block between them."""
        call = self.signature.call
        self._fail(
            "ERR_TRUNCATE",
            [
                (
                    f"{self._name(sender[0])}:",
                    f"{call} sends {sender[1]} bytes to {self._name(receiver[0])}",
                    sender[2],
                ),
                (f"{self._name(receiver[0])}:", f"{call} expects {receiver[1]} bytes from there", receiver[2]),
            ],
            "What a rank sends to another and what that one expects are the same number of bytes.",
        )

    def fail_about(self, block: int, first: tuple[int, int, str], second: tuple[int, int, str]) -> NoReturn:
        """Raise ``ERR_TRUNCATE``: two members, each with its bytes and its line, disagree on the size of a block."""
        call = self.signature.call
        self._fail(
            "ERR_TRUNCATE",
            [
                (f"{self._name(member)}:", f"{call} has {nbytes} bytes for block {block}", line)
                for member, nbytes, line in (first, second)
            ],
            "All ranks give the same counts.",
        )

    def _disagree(self, error_class: str, first: _Caller, second: _Caller) -> NoReturn:
        self._fail(
            error_class,
            [
                (f"{self._name(caller.member)}:", self._call(caller.signature), caller.line)
                for caller in (first, second)
            ],
            "All ranks of a communicator make the same collective calls in the same order, "
            "with the same root, operation and size.",
        )

    def _fail(self, error_class: str, callers: list[tuple[str, str, str]], advice: str) -> NoReturn:
        widths = [max(len(caller[column]) for caller in callers) for column in (0, 1)]
        lines = "".join(f"\n  {who:<{widths[0]}} {what:<{widths[1]}}   {line}" for who, what, line in callers)
        name = self._communicator.name or "a communicator"
        fail(error_class, f"two ranks of {name} disagree on its collective number {self.place}{lines}\n{advice}")

    def _name(self, member: int) -> str:
        communicator = self._communicator
        if not communicator.is_inter:
            return f"rank {member}"
        n_first = communicator.remote.size if communicator.side else communicator.size
        return f"rank {member} of group 0" if member < n_first else f"rank {member - n_first} of group 1"

    def _call(self, signature: Signature) -> str:
        """The call as the program would write it."""
        arguments = []
        if signature.root != NOT_COMPARED:
            is_inter = self._communicator.is_inter
            arguments.append(f"root={self._name(signature.root) if is_inter else signature.root}")
        if signature.operation:
            arguments.append(f"op={signature.operation}")
        sizes = [f"{n} bytes" for n in (signature.nbytes, signature.nbytes_back) if n != NOT_COMPARED]
        size = f", {' and back '.join(sizes)}" if sizes else ""
        datatype = f" of {signature.datatype}" if signature.datatype else ""
        return f"{signature.call}({', '.join(arguments)}){size}{datatype}"


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
        Makes the payload when this rank is the first; called with `parts`.

    Raises
    ------
    Exception
        If another rank entered with another call, root, operation, datatype or size.
    """
    current().must_be_here()
    joint = communicator.joint
    entered = joint.entered
    if entered is None:
        entered = joint.entered = array("q", bytes(8 * joint.n_members))
    member = joint.index(communicator.side, rank)
    entered[member] += 1
    place = entered[member]
    collective = joint.open.get(place)
    if collective is None:
        collective = joint.open[place] = OpenCollective(communicator, place, new_payload(*parts))
        if communicator.choices:
            collective.choice = communicator.choices.get(rank)
    elif communicator.choices or collective.choice is not None:
        collective.check_choice(communicator.choices.get(rank), member)
    collective.check(signature, member)
    return collective


def caller_location() -> str:
    """File and line of the innermost frame that is not the surface's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("smpy."):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
