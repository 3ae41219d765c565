"""What every communicator method starts with: which communicator, who asks, and whether the arguments can be right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from smpy.collectives.selectors import schedule_for, select, selection_of
from smpy.engine.messages import Envelope
from smpy.engine.running import current
from smpy.mpi.collectives.open_collective import OpenCollective
from smpy.mpi.requests.request import Request, new_request
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.bases import MYSELF, NOWHERE, CommBase
from smpy.mpi.state.constants import PROC_NULL, ROOT
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import Handle
from smpy.mpi.state.world import Communicator, world

__all__ = [
    "CommCore",
    "check_root",
    "handle_on",
    "member_of",
    "number_of",
    "perform",
    "start",
]

C = TypeVar("C", bound="CommCore")


class CommCore(CommBase, Handle):
    """A handle on a communicator: a number, and no rank."""

    __slots__ = ()
    _family: ClassVar = "Comm"
    _null_identity: ClassVar = NOWHERE

    def _identity(self) -> int:
        return self._kernel_comm


def number_of(comm: CommCore, call: str) -> int:
    """The kernel's number of a communicator for the running rank; raises ``ERR_COMM`` when the handle is null."""
    if comm._kernel_comm >= 0:
        return comm._kernel_comm
    if comm._kernel_comm == MYSELF:
        return current().comm_self()
    return fail("ERR_COMM", f"{call}: the communicator is null")


def member_of(comm: CommCore, call: str) -> tuple[Communicator, int]:
    """The communicator as its ranks share it, and the running rank there."""
    number = comm._kernel_comm
    communicator = world().communicator(number if number >= 0 else number_of(comm, call))
    rank = comm.rank
    if rank < 0:
        fail("ERR_COMM", f"{call}: rank {current().rank} is not in this communicator")
    return communicator, rank


def handle_on(kind: type[C], number: int) -> C:
    """A handle, of class `kind`, on the communicator with a number."""
    handle = kind.__new__(kind)
    handle._refer_to(number)
    return handle


def check_root(communicator: Communicator, root: Any, call: str) -> int:
    """`root`, if it is a rank; between groups, one of the other group, ``ROOT`` or ``PROC_NULL``."""
    number: int = root if type(root) is int else integer(call, "root", root)
    if 0 <= number < communicator.remote.size or (communicator.is_inter and number in (ROOT, PROC_NULL)):
        return number
    which = "the other group" if communicator.is_inter else "the communicator"
    return fail("ERR_ROOT", f"{call}(root={root}): {which} has ranks 0 to {communicator.remote.size - 1}")


def perform(
    collective: OpenCollective,
    communicator: Communicator,
    op: str,
    root: int,
    nbytes: int,
    call: str,
    commutative: bool = True,
    tables: Sequence[Sequence[int]] = (),
    item_bytes: int = 1,
    **facts: Any,
) -> None:
    """Take part in a collective with the algorithm that the table selects; the first rank to come looks it up.

    Parameters
    ----------
    collective : OpenCollective
        Where its ranks meet.
    communicator : Communicator
        Its communicator.
    op : str
        Name of the operation, as `smpy.collectives.register` has it for an intracommunicator.
    root, nbytes : int
        As it wants them.
    call : str
        What the program called.
    commutative : bool
        Whether a reduction may reorder its operands.
    tables : sequence of sequences of int
        As it wants them.
    item_bytes : int
        Size of an entry of a reduction: what cannot be divided among ranks.
    **facts
        What else a `Query` tells.
    """
    if communicator.joint.n_members == 1:
        return
    schedule = collective.schedule
    if schedule < 0:
        schedule = _schedule(collective, communicator, op, nbytes, commutative, item_bytes, **facts)
    if tables:
        current().collective(communicator.number, schedule, root, nbytes, call, tables)
    else:
        current().collective(communicator.number, schedule, root, nbytes, call)


def start(
    collective: OpenCollective,
    communicator: Communicator,
    op: str,
    root: int,
    nbytes: int,
    finish: Callable[[Envelope], Any],
    commutative: bool = True,
    tables: Sequence[Sequence[int]] = (),
    latch: int = 0,
    item_bytes: int = 1,
    **facts: Any,
) -> Request:
    """Take part in a collective, and go on at once.

    Parameters
    ----------
    collective, communicator, op, root, nbytes, commutative, tables, item_bytes, **facts
        As for `perform`.
    finish : callable
        Run when the rank completes the request: it takes the result and leaves the collective.
    latch : int
        The kernel's number of what holds the ranks back when their messages do not.
    """
    number = 0
    if communicator.joint.n_members > 1:
        schedule = collective.schedule
        if schedule < 0:
            schedule = _schedule(collective, communicator, f"i{op}", nbytes, commutative, item_bytes, **facts)
        number = current().start_collective(communicator.number, schedule, root, nbytes, tables, latch)
    return new_request(number, finish=finish)


def _schedule(
    collective: OpenCollective,
    communicator: Communicator,
    op: str,
    nbytes: int,
    commutative: bool,
    item_bytes: int,
    **facts: Any,
) -> int:
    engine = current()
    algorithms = engine.algorithms or algorithms_in(engine)
    if communicator.is_inter:  # each side has its own
        algorithm = select(f"inter_{op}", communicator.size, nbytes, commutative, **facts)
        return schedule_for(engine, algorithm, communicator.size, communicator.remote.size, item_bytes)
    facts |= {"is_hierarchical": communicator.is_hierarchical(), "selection": selection_of(engine)}
    algorithm = select(op, communicator.size, nbytes, commutative, **facts)
    collective.schedule = schedule_for(engine, algorithm, communicator.size, 0, item_bytes)
    return collective.schedule
