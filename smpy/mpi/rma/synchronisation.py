"""Synchronisation of windows: fences, groups, locks and flushes.

Simulated times are those of SMPI. `Post`, `Start`, `Complete` and `Wait` exchange messages of 0 bytes. A fence is a
barrier, the completion of accesses to the rank's part, and another barrier. Locks take no message. An exclusive lock
also waits for shared ones, which it does not in SMPI.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from smpy.engine.messages import INNER, Load
from smpy.engine.running import current, mpi_call
from smpy.mpi.comms.collective_handles import CollectiveHandle, wait_for_all
from smpy.mpi.comms.groups import Group
from smpy.mpi.rma.targets import rank_of
from smpy.mpi.rma.window_parts import WindowPart
from smpy.mpi.state import constants
from smpy.mpi.state.constants import PROC_NULL
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import of_family
from smpy.mpi.state.members import place_of
from smpy.mpi.state.surface_bases import WindowBase, compiled_when_available

__all__ = ["Synchronisation"]

_OPENED: Final = 4
"""Tag of the message by which `Post` allows a rank to start its accesses."""
_OVER: Final = 5
"""Tag of the message by which `Complete` announces the end of accesses."""
_EACH_MAX: Final = 256
"""Largest window, in ranks, in which a call for all ranks makes SMPI's calls for each of them, in SMPI's order.

The order decides which of the events at one date comes first. In larger windows, only ranks that were accessed get
such calls.
"""
_ASSERTIONS: Final = (
    constants.MODE_NOCHECK
    | constants.MODE_NOSTORE
    | constants.MODE_NOPUT
    | constants.MODE_NOPRECEDE
    | constants.MODE_NOSUCCEED
)


@compiled_when_available("Lock", "Unlock", "Lock_all", "Unlock_all", "Flush", "Flush_local")
class Synchronisation(CollectiveHandle, WindowBase):
    """Calls that open epochs, end them, and complete accesses."""

    __slots__ = ()

    # ---- for all ranks ----

    @mpi_call
    def Fence(self, assertion: int = 0) -> None:
        """Complete all accesses, together with all ranks; begin an epoch in which all may access each other.

        Parameters
        ----------
        assertion : int
            ``MODE_NOPRECEDE``: no accesses come before; ``MODE_NOSUCCEED``: none come after. Others have no effect.
        """
        part, call = self._member("Fence"), "Win.Fence"
        _check_assertion(assertion, call)
        part.epochs.check_ended(call)
        if not assertion & constants.MODE_NOPRECEDE:
            wait_for_all(part.communicator, part.rank, call)
            current().complete(part.communicator.number, part.rank)
            part.epochs.note_completion()
        part.epochs.is_fenced = not assertion & constants.MODE_NOSUCCEED
        wait_for_all(part.communicator, part.rank, call)

    # ---- for groups ----

    @mpi_call
    def Post(self, group: Group, assertion: int = 0) -> None:
        """Let some ranks access this rank's part of the window, until `Wait`.

        Parameters
        ----------
        group : Group
            The ranks.
        assertion : int
            Changes nothing.
        """
        part, call = self._member("Post"), "Win.Post"
        _check_assertion(assertion, call)
        if part.epochs.posted is not None:
            fail("ERR_RMA_SYNC", f"{call}: an epoch of Post() is open: call Wait() before")
        ranks = _ranks_of(part, group, call)
        part.epochs.posted = ranks
        _send(part, ranks, _OPENED)

    @mpi_call
    def Start(self, group: Group, assertion: int = 0) -> None:
        """Begin to access some ranks' parts, once each has called `Post`, until `Complete`.

        Parameters
        ----------
        group : Group
            The ranks.
        assertion : int
            Changes nothing.
        """
        part, call = self._member("Start"), "Win.Start"
        _check_assertion(assertion, call)
        part.epochs.check_closed(call)
        ranks = _ranks_of(part, group, call)
        current().wait_all(_receive(part, ranks, _OPENED), call)
        part.epochs.is_fenced = False
        part.epochs.started = ranks

    @mpi_call
    def Complete(self) -> None:
        """End the accesses that `Start` began."""
        part, call = self._member("Complete"), "Win.Complete"
        if part.epochs.started is None:
            fail("ERR_RMA_SYNC", f"{call}: there is no epoch of Start() to complete")
        _send(part, part.epochs.started, _OVER)
        current().complete(part.communicator.number, part.rank)
        part.epochs.started = None
        part.epochs.note_completion()
        current().block(call)

    @mpi_call
    def Wait(self) -> Literal[True]:
        """Wait until the accesses that `Post` allowed are over."""
        part, call = self._member("Wait"), "Win.Wait"
        _check_posted(part, call)
        current().wait_all(_messages_of_end(part), call)
        _end_exposure(part, call)
        return True

    @mpi_call
    def Test(self) -> bool:
        """Whether the accesses that `Post` allowed are over; if so, end the epoch as `Wait` does. It costs a poll."""
        part, call = self._member("Test"), "Win.Test"
        _check_posted(part, call)
        left = part.epochs.requests = _messages_of_end(part)
        while left and current().test(left[0], call) is not None:
            left.pop(0)
        if left:
            return False
        _end_exposure(part, call)
        return True

    # ---- for one rank ----

    @mpi_call
    def Lock(self, rank: int, lock_type: int = constants.LOCK_EXCLUSIVE, assertion: int = 0) -> None:
        """Lock a rank's part of the window, to access it until `Unlock`.

        Parameters
        ----------
        rank : int
            The rank; ``PROC_NULL``: nothing happens.
        lock_type : int
            ``LOCK_EXCLUSIVE``: excludes all other locks there; ``LOCK_SHARED``: excludes only exclusive ones.
        assertion : int
            Changes nothing.
        """
        part, call = self._member("Lock"), "Win.Lock"
        _check_assertion(assertion, call)
        if lock_type not in (constants.LOCK_EXCLUSIVE, constants.LOCK_SHARED):
            fail("ERR_LOCKTYPE", f"{call}({lock_type=}): expecting LOCK_EXCLUSIVE or LOCK_SHARED")
        rank = rank_of(part, rank, call)
        if rank == PROC_NULL:
            return
        part.epochs.lock(rank, lock_type, call)
        current().lock(part.communicator.number, rank, is_shared=lock_type == constants.LOCK_SHARED)
        part.append_flush(rank)
        part.catch_up(call)
        part.window.write_puts(rank)

    @mpi_call
    def Unlock(self, rank: int) -> None:
        """Unlock a rank's part of the window, and complete accesses to it.

        Parameters
        ----------
        rank : int
            The rank; ``PROC_NULL``: nothing happens.
        """
        part, call = self._member("Unlock"), "Win.Unlock"
        rank = rank_of(part, rank, call)
        if rank == PROC_NULL:
            return
        kind = part.epochs.unlock(rank, call)
        current().unlock(part.communicator.number, rank, is_shared=kind == constants.LOCK_SHARED)
        part.append_flush(rank)
        part.epochs.note_completion(rank)
        current().block(call)

    @mpi_call
    def Lock_all(self, assertion: int = 0) -> None:
        """Lock the parts of all ranks, shared with others.

        Parameters
        ----------
        assertion : int
            Changes nothing.
        """
        part, call = self._member("Lock_all"), "Win.Lock_all"
        _check_assertion(assertion, call)
        part.epochs.lock_all(call)
        if part.communicator.size > _EACH_MAX:
            current().lock_all(part.communicator.number)
            part.append_flush(part.rank)
        else:
            for rank in range(part.communicator.size):
                current().lock(part.communicator.number, rank, is_shared=True)
                part.append_flush(rank)
        part.catch_up(call)
        for rank in list(part.window.puts):
            part.window.write_puts(rank)

    @mpi_call
    def Unlock_all(self) -> None:
        """Unlock the parts of all ranks, and complete accesses to them."""
        part, call = self._member("Unlock_all"), "Win.Unlock_all"
        part.epochs.unlock_all(call)
        if part.communicator.size > _EACH_MAX:
            current().unlock_all(part.communicator.number)
            for rank in _to_complete(part):
                part.append_flush(rank)
        else:
            for rank in range(part.communicator.size):
                current().unlock(part.communicator.number, rank, is_shared=True)
                part.append_flush(rank)
        part.epochs.note_completion()
        current().block(call)

    # ---- completion within an epoch of locks ----

    @mpi_call
    def Flush(self, rank: int) -> None:
        """Complete accesses to a rank.

        Parameters
        ----------
        rank : int
            The rank; ``PROC_NULL``: nothing happens.
        """
        part, call = self._member("Flush"), "Win.Flush"
        rank = rank_of(part, rank, call)
        if rank == PROC_NULL:
            return
        part.epochs.check_passive(rank, call)
        part.append_flush(rank)
        part.epochs.note_completion(rank)
        part.catch_up(call)

    @mpi_call
    def Flush_all(self) -> None:
        """Complete accesses to all ranks."""
        part, call = self._member("Flush_all"), "Win.Flush_all"
        part.epochs.check_passive(None, call)
        current().complete(part.communicator.number, part.rank)
        for rank in _to_complete(part):
            if rank != part.rank:
                current().complete(part.communicator.number, rank, part.rank)
        part.epochs.note_completion()
        part.catch_up(call)

    @mpi_call
    def Flush_local(self, rank: int) -> None:
        """Complete accesses to a rank locally: their buffers may be reused.

        Parameters
        ----------
        rank : int
            The rank; ``PROC_NULL``: nothing happens.
        """
        part, call = self._member("Flush_local"), "Win.Flush_local"
        rank = rank_of(part, rank, call)
        if rank == PROC_NULL:
            return
        part.epochs.check_passive(rank, call)
        current().complete(part.communicator.number, part.rank, rank)
        part.catch_up(call)

    @mpi_call
    def Flush_local_all(self) -> None:
        """Complete accesses to all ranks locally: their buffers may be reused."""
        part, call = self._member("Flush_local_all"), "Win.Flush_local_all"
        part.epochs.check_passive(None, call)
        current().complete(part.communicator.number, part.rank)
        part.catch_up(call)

    @mpi_call
    def Sync(self) -> None:
        """Make writes of other ranks to this rank's part visible. It takes the time of a poll."""
        self._member("Sync")
        current().poll()
        current().block("Win.Sync")


def _to_complete(part: WindowPart) -> Iterable[int]:
    """Ranks to which accesses may be incomplete, and this one."""
    n_ranks = part.communicator.size
    return range(n_ranks) if n_ranks <= _EACH_MAX else sorted({*part.epochs.accessed, part.rank})


def _check_assertion(assertion: int, call: str) -> None:
    if not 0 <= assertion <= _ASSERTIONS:
        fail("ERR_ASSERT", f"{call}(assertion={assertion}): expecting a sum of MODE_ constants")


def _check_posted(part: WindowPart, call: str) -> None:
    if part.epochs.posted is None:
        fail("ERR_RMA_SYNC", f"{call}: there is no epoch of Post() to wait for")


def _ranks_of(part: WindowPart, group: Group, call: str) -> tuple[int, ...]:
    """Ranks of a group in the window."""
    members = part.communicator.world_ranks()
    ranks = tuple(place_of(members, rank) for rank in of_family(group, Group)._members)
    if any(rank < 0 for rank in ranks):
        fail("ERR_RMA_SYNC", f"{call}: the group has ranks that the window has not")
    return ranks


def _send(part: WindowPart, ranks: tuple[int, ...], tag: int) -> None:
    for rank in ranks:
        if rank != part.rank:
            current().isend(part.communicator.number, rank, tag, Load(0), INNER, is_blocking=True)


def _receive(part: WindowPart, ranks: tuple[int, ...], tag: int) -> list[int]:
    """Requests of the messages from some ranks."""
    engine, number = current(), part.communicator.number
    return [engine.irecv(number, rank, tag, Load(0)) for rank in ranks if rank != part.rank]


def _messages_of_end(part: WindowPart) -> list[int]:
    """Requests of the messages that end the accesses, without those that have already been received."""
    if part.epochs.posted is not None and not part.epochs.is_awaited:
        part.epochs.requests = _receive(part, part.epochs.posted, _OVER)
        part.epochs.is_awaited = True
    return part.epochs.requests


def _end_exposure(part: WindowPart, call: str) -> None:
    current().complete(part.communicator.number, part.rank)
    part.epochs.posted, part.epochs.requests, part.epochs.is_awaited = None, [], False
    current().block(call)
