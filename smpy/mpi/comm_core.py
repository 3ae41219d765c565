"""What every communicator method starts with: which communicator, who asks, and whether the arguments can be right."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from smpy.collectives.selectors import schedule_for, select
from smpy.engine.running import current
from smpy.mpi.constants import ANY_SOURCE, ANY_TAG, LARGEST_TAG, PROC_NULL
from smpy.mpi.exceptions import fail
from smpy.mpi.gathering import OpenCollective
from smpy.mpi.handle import Handle
from smpy.mpi.handles import MYSELF, NOWHERE, CommBase
from smpy.mpi.world import Communicator, world

__all__ = ["CommCore", "check_dest", "check_root", "check_source", "handle_on", "member_of", "number_of", "perform"]

C = TypeVar("C", bound="CommCore")


class CommCore(CommBase, Handle):
    """A handle on a communicator: a number, and no rank."""

    __slots__ = ()
    _family: ClassVar = "Comm"
    _null: ClassVar = NOWHERE

    def _identity(self) -> int:
        return self.comm


def number_of(comm: CommCore, call: str) -> int:
    """The kernel's number of a communicator for the running rank; raises ``ERR_COMM`` when the handle is null."""
    if comm.comm >= 0:
        return comm.comm
    if comm.comm == MYSELF:
        return 1 + current().rank
    return fail("ERR_COMM", f"{call}: the communicator is null")


def member_of(comm: CommCore, call: str) -> tuple[Communicator, int]:
    """The communicator as its ranks share it, and the running rank there."""
    number = comm.comm
    communicator = world().communicator(number if number >= 0 else number_of(comm, call))
    rank = comm.rank
    if rank < 0:
        fail("ERR_COMM", f"{call}: rank {current().rank} is not in this communicator")
    return communicator, rank


def handle_on(kind: type[C], number: int) -> C:
    """A handle, of class `kind`, on the communicator with a number."""
    handle = kind.__new__(kind)
    handle.comm = number
    return handle


def check_dest(number: int, dest: int, tag: int, call: str) -> None:
    """Raise unless a message can be sent to `dest` with `tag`."""
    size = current().comm_size(number)
    if not 0 <= dest < size:
        fail("ERR_RANK", f"{call}(dest={dest}, tag={tag}): the communicator has ranks 0 to {size - 1}")
    if not 0 <= tag <= LARGEST_TAG:
        fail("ERR_TAG", f"{call}(dest={dest}, tag={tag}): a tag is between 0 and {LARGEST_TAG}")


def check_source(number: int, source: int, tag: int, call: str) -> None:
    """Raise unless a message can come from `source` with `tag`."""
    size = current().comm_size(number)
    if not 0 <= source < size and source not in (ANY_SOURCE, PROC_NULL):
        fail("ERR_RANK", f"{call}(source={source}, tag={tag}): the communicator has ranks 0 to {size - 1}")
    if not 0 <= tag <= LARGEST_TAG and tag != ANY_TAG:
        fail("ERR_TAG", f"{call}(source={source}, tag={tag}): a tag is between 0 and {LARGEST_TAG}")


def check_root(communicator: Communicator, root: int, call: str) -> None:
    """Raise unless `root` is a rank."""
    if not 0 <= root < communicator.size:
        fail("ERR_ROOT", f"{call}(root={root}): the communicator has ranks 0 to {communicator.size - 1}")


def perform(
    meeting: OpenCollective,
    communicator: Communicator,
    op: str,
    root: int,
    nbytes: int,
    call: str,
    commutative: bool = True,
) -> None:
    """Take part in a collective with the algorithm that the table selects; the first rank to come looks it up."""
    if communicator.size == 1:
        return
    engine = current()
    if meeting.schedule < 0:
        algorithm = select(op, communicator.size, nbytes, commutative)
        meeting.schedule = schedule_for(engine, algorithm, communicator.size)
    engine.collective(communicator.number, meeting.schedule, root, nbytes, call)
