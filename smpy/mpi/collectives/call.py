"""One rank's call of a collective: its arguments are read once; then it is performed, started, or started often.

Every collective call is a class. `signature` has the arguments that must be equal on all ranks; `op`, `root`, `nbytes`
and `tables` choose and drive the algorithm; `give` leaves the rank's contribution and `take` stores its result. The
blocking, the non-blocking and the persistent form of a call use one object in three ways.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from smpy.engine.messages import Envelope
from smpy.engine.running import current
from smpy.mpi.collectives.open_collective import NOT_COMPARED, OpenCollective, Signature, enter
from smpy.mpi.collectives.run import perform, start
from smpy.mpi.requests.persistent import Prequest, new_prequest
from smpy.mpi.requests.request import Request
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.comm_core import CommCore, member_of
from smpy.mpi.state.constants import PROC_NULL, ROOT
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.world import Communicator

__all__ = ["CollectiveCall", "Root", "both_sides", "both_ways", "check_root", "equal_offsets", "root_of"]


class CollectiveCall:
    """One rank's part in a collective.

    Parameters
    ----------
    comm : CommCore
        The program's handle.
    call : str
        Name of the method that the program called.

    Attributes
    ----------
    communicator : Communicator
        The communicator as its ranks share it.
    rank : int
        The rank there.
    signature : Signature
        Arguments that must be the same on all ranks.
    op : str
        Name of the operation, for its algorithm.
    root, nbytes : int
        Root and bytes that the algorithm gets (`smpy.collectives.call.Call`).
    tables : sequence of arrays
        Offsets of blocks that the algorithm gets.
    facts : dict
        Further fields of the `Query` that chooses an algorithm.
    is_idle : bool
        Whether the rank has no part: it is in the root's group of an intercommunicator, and not the root.
    """

    __slots__ = ("communicator", "nbytes", "rank", "root", "signature")
    op = ""
    tables: Sequence[Sequence[int]] = ()
    facts: dict[str, Any] = {}  # noqa: RUF012  # replaced, never changed
    is_idle = False

    communicator: Communicator
    rank: int
    signature: Signature
    root: int
    nbytes: int

    def __init__(self, comm: CommCore, call: str) -> None:
        self.communicator, self.rank = member_of(comm, call)
        self.root = 0
        self.nbytes = 0

    def perform(self) -> None:
        """Take part, and go on when the rank is through."""
        communicator, call = self.communicator, self.signature.call
        collective = enter(communicator, self.rank, self.signature, self.new_payload)
        self.give(collective, is_blocking=True)
        if self.facts:
            perform(collective, communicator, self.op, self.root, self.nbytes, call, tables=self.tables, **self.facts)
        elif not self.is_idle:
            perform(collective, communicator, self.op, self.root, self.nbytes, call, True, self.tables)
        self._finish(collective)

    def start(self) -> Request:
        """Take part, and go on at once."""
        collective = enter(self.communicator, self.rank, self.signature, self.new_payload)
        self.give(collective, is_blocking=False)
        return start(
            *(collective, self.communicator, self.op, self.root, self.nbytes, partial(self._finish, collective)),
            tables=self.tables,
            latch=self.latch(collective),
            **self.facts,
        )

    def persistent(self) -> Prequest:
        """A request that takes part whenever it is started."""
        return new_prequest(self.start)

    def _finish(self, collective: OpenCollective, _envelope: Envelope | None = None) -> None:
        try:
            if not self.is_idle:
                if current().charges_data and not self.communicator.is_inter:
                    current().spend_on_copy(self.own_bytes)
                self.take(collective)
        finally:
            collective.leave()

    # ---- methods that differ between calls ----

    @property
    def own_bytes(self) -> int:
        """Bytes that this rank copies from its own buffer: its block, or its operand of a reduction."""
        return 0

    def new_payload(self) -> Any:
        """Object in which the ranks leave their contributions."""
        return None

    def give(self, collective: OpenCollective, *, is_blocking: bool) -> None:
        """Leave this rank's contribution; a blocking one may be lent when no rank leaves before all have come."""

    def take(self, collective: OpenCollective) -> None:
        """Put this rank's result where the program wants it."""

    def latch(self, collective: OpenCollective) -> int:
        """Kernel number of a latch that holds the ranks back when their messages do not; 0 for none."""
        return 0


class Root(NamedTuple):
    """The root of a collective, as one rank sees it.

    Parameters
    ----------
    member : int
        Its place among the members of both sides; `NOT_COMPARED` when this rank cannot know it.
    is_here : bool
        Whether it is this rank.
    is_idle : bool
        Whether this rank only stands beside it.
    """

    member: int
    is_here: bool
    is_idle: bool


def check_root(communicator: Communicator, root: Any, call: str) -> int:
    """`root`, if it is a rank; between groups, one of the other group, ``ROOT`` or ``PROC_NULL``."""
    number: int = root if type(root) is int else integer(call, "root", root)
    if 0 <= number < communicator.remote.size or (communicator.is_inter and number in (ROOT, PROC_NULL)):
        return number
    which = "the other group" if communicator.is_inter else "the communicator"
    return fail("ERR_ROOT", f"{call}(root={root}): {which} has ranks 0 to {communicator.remote.size - 1}")


def root_of(communicator: Communicator, rank: int, root: int, call: str) -> Root:
    """The root that a program names.

    Raises
    ------
    Exception
        If there is no such rank: ``ERR_ROOT``.
    """
    root = check_root(communicator, root, call)
    if not communicator.is_inter:
        return Root(root, rank == root, False)
    if root == PROC_NULL:
        return Root(NOT_COMPARED, False, True)
    is_here = root == ROOT
    side, place = (communicator.side, rank) if is_here else (communicator.remote.side, root)
    return Root(communicator.joint.index(side, place), is_here, False)


def both_sides(communicator: Communicator, new: Callable[[int], Any]) -> list[Any]:
    """A payload for each side's contributions, made with its number of ranks; an intracommunicator has one."""
    if not communicator.is_inter:
        return [new(communicator.size)]
    payloads = [new(communicator.size), new(communicator.remote.size)]
    return payloads[::-1] if communicator.side else payloads


def both_ways(communicator: Communicator, sent: int, received: int) -> tuple[int, int]:
    """Bytes that side 0 and side 1 send, for the signature of a rank that sends and receives so much."""
    if not communicator.is_inter:
        return sent, NOT_COMPARED
    return (received, sent) if communicator.side else (sent, received)


def equal_offsets(n: int, nbytes: int) -> array[int]:
    """Offsets of `n` blocks of one size, and their end."""
    return array("q", range(0, n * nbytes + 1, nbytes)) if nbytes else array("q", bytes(8 * (n + 1)))
