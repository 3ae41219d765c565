"""Communicators that only their future ranks make, and those between two groups.

SMPI makes the former as it makes any: rank 0 of the new one broadcasts 4 bytes. It has none of the latter; here the
leaders of the two groups swap their sizes and lists of ranks and broadcast each on their side, as MPICH does.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from smpy.engine.running import current, mpi_call, mpi_question
from smpy.mpi.collectives.leaderless_meeting import LeaderlessMeeting, form_group
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.comms.creation import Creation
from smpy.mpi.comms.creation_messages import announce, exchange, pay_for_new, swap
from smpy.mpi.comms.groups import Group
from smpy.mpi.comms.hints import give_hints
from smpy.mpi.state.comm_core import member_of
from smpy.mpi.state.error_handlers import Errhandler
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.info import INFO_NULL, Info, pairs_of
from smpy.mpi.state.members import Members, place_of
from smpy.mpi.state.world import Communicator, world

__all__ = ["CreationByGroup", "RemoteGroup"]

_RANK_BYTES: Final = 4
_FIRST_LEADERS_TAG: Final = 1 << 30
"""First tag of messages between leaders, on kernel numbers that no receive of the program sees."""


class CreationByGroup(Creation):
    """Creation of communicators by groups of ranks, and of intercommunicators."""

    __slots__ = ()

    @mpi_call
    def Create_group(self, group: Group, tag: int = 0) -> Any:
        """A communicator of the ranks in a group, made by them alone.

        Parameters
        ----------
        group : Group
            Ranks of this communicator.
        tag : int
            Distinguishes communicators that are made at the same time.
        """
        communicator, _ = member_of(self, "Create_group")
        key = ("Create_group", communicator.number, tag, group._members)
        new = _made_by(group._members, key, "Create_group")
        return self._handle_or_null(new)

    @classmethod
    @mpi_call
    def Create_from_group(
        cls,
        group: Group,
        stringtag: str = "org.mpi4py",
        info: Info = INFO_NULL,
        errhandler: Errhandler | None = None,
    ) -> Any:
        """A communicator of the ranks in a group, made without another one.

        Parameters
        ----------
        group : Group
            Its ranks, of a communicator or of a session.
        stringtag : str
            Distinguishes communicators that are made at the same time.
        info : Info
            Its hints.
        errhandler : Errhandler, optional
            Its error handler.
        """
        new = _made_by(group._members, ("Create_from_group", stringtag, group._members), "Create_from_group")
        return cls._equipped(new, info, errhandler, "Create_from_group")

    @mpi_call
    def Create_intercomm(self, local_leader: int, peer_comm: Creation, remote_leader: int, tag: int = 0) -> Any:
        """An intercommunicator of the ranks here and those of another group that makes the same call.

        Parameters
        ----------
        local_leader : int
            Leader of this group, a rank of this communicator.
        peer_comm : Intracomm
            Communicator of both leaders; only the leader's argument counts.
        remote_leader : int
            Leader of the other group, a rank of `peer_comm`; only the leader's argument counts.
        tag : int
            Distinguishes communicators that are made at the same time.
        """
        local, rank = member_of(self, "Create_intercomm")
        _check_leader(local_leader, local.size, "local_leader")
        collective = enter(local, rank, Signature("Create_intercomm", local_leader), dict)
        if rank == local_leader:
            peers, my_peer = member_of(peer_comm, "Create_intercomm")
            _check_leader(remote_leader, peers.size, "remote_leader")
            key = ("Create_intercomm", peers.number, tag, *sorted((my_peer, remote_leader)))
            collective.payload["joined"] = _join_leaders(
                local, peers, my_peer, remote_leader, _FIRST_LEADERS_TAG + tag % _FIRST_LEADERS_TAG, key
            )
        new = _tell_side(local, rank, local_leader, collective.payload)
        collective.leave()
        return self._handle_or_null(new)

    @classmethod
    def _equipped(cls, new: Communicator | None, info: Info, errhandler: Errhandler | None, call: str) -> Any:
        """The running rank's handle on a communicator made of nothing, null when it is not in it."""
        if new is None:
            return cls._null_handle()
        handle = cls._handle_on(new)
        give_hints(new, handle.rank, pairs_of(info), call)
        if errhandler is not None:
            handle.Set_errhandler(errhandler)
        return handle


class RemoteGroup(Creation):
    """The other side of an intercommunicator."""

    __slots__ = ()

    @mpi_question
    def Get_remote_group(self) -> Group:
        """The group of the ranks on the other side."""
        return Group._of(member_of(self, "Get_remote_group")[0].remote.world_ranks())

    def Get_remote_size(self) -> int:
        """Number of ranks on the other side."""
        return member_of(self, "Get_remote_size")[0].remote.size

    @property
    def remote_group(self) -> Group:
        """The group of the ranks on the other side."""
        return self.Get_remote_group()

    @property
    def remote_size(self) -> int:
        """Number of ranks on the other side."""
        return self.Get_remote_size()

    @mpi_call
    def Merge(self, high: bool = False) -> Any:
        """An intracommunicator of the ranks of both sides.

        Parameters
        ----------
        high : bool
            Whether this side comes second; equal on all its ranks. With equal values on both sides, side 0 comes first.
        """
        communicator, rank = member_of(self, "Merge")
        collective = enter(communicator, rank, Signature("Merge"), dict)
        is_high_of: dict[int, bool] = collective.payload
        if is_high_of.setdefault(communicator.side, bool(high)) != bool(high):
            fail("ERR_NOT_SAME", f"Merge(high={high}): another rank of this group says the opposite")
        exchange(communicator, rank, _RANK_BYTES, _RANK_BYTES, "Merge")
        new: Communicator | None = collective.payload.get("made")
        if new is None:
            low, high_group = communicator.groups()[:: -1 if is_high_of[0] and not is_high_of[1] else 1]
            new = collective.payload["made"] = world().new_communicator([*low, *high_group])
        new_rank = current().comm_rank(new.number)
        pay_for_new(new, new_rank, "Merge")
        collective.leave()
        return self._handle_on(new)

    @classmethod
    @mpi_call
    def Create_from_groups(
        cls,
        local_group: Group,
        local_leader: int,
        remote_group: Group,
        remote_leader: int,
        stringtag: str = "org.mpi4py",
        info: Info = INFO_NULL,
        errhandler: Errhandler | None = None,
    ) -> Any:
        """An intercommunicator of two groups, made without another communicator.

        Parameters
        ----------
        local_group, remote_group : Group
            The ranks of this side and of the other.
        local_leader, remote_leader : int
            Leader of each group, a rank of that group.
        stringtag : str
            Distinguishes communicators that are made at the same time.
        info : Info
            Its hints.
        errhandler : Errhandler, optional
            Its error handler.
        """
        call, mine, its = "Create_from_groups", local_group._members, remote_group._members
        _check_leader(local_leader, len(mine), "local_leader")
        _check_leader(remote_leader, len(its), "remote_leader")
        pair = tuple(sorted((tuple(mine), tuple(its))))
        local = _made_by(mine, (call, stringtag, pair, mine), call)
        if local is None:
            return fail("ERR_GROUP", f"{call}: world rank {current().rank} is not in its own group")
        rank = place_of(mine, current().rank)
        collective = enter(local, rank, Signature(call, local_leader), dict)
        if rank == local_leader:
            peers = world().communicator(current().world_of(current().rank))
            me, peer = (place_of(peers.world_ranks(), leader) for leader in (current().rank, its[remote_leader]))
            collective.payload["joined"] = _join_leaders(local, peers, me, peer, _FIRST_LEADERS_TAG, (call, pair))
        new = _tell_side(local, rank, local_leader, collective.payload)
        collective.leave()
        cls._handle_on(local).Free()
        handle = cls._handle_on(new)
        give_hints(new, rank, pairs_of(info), call)
        if errhandler is not None:
            handle.Set_errhandler(errhandler)
        return handle


def _made_by(members: Members, key: Hashable, call: str) -> Communicator | None:
    """The communicator that the members alone make; None for other ranks."""
    place = place_of(members, current().rank)
    if place < 0:
        return None
    meeting = form_group(key, place, len(members))
    if meeting.result is None:
        meeting.result = world().new_communicator(members)
    pay_for_new(meeting.result, place, call)
    new: Communicator = meeting.result
    return new


def _join_leaders(
    local: Communicator, peers: Communicator, my_peer: int, remote_leader: int, tag: int, key: Hashable
) -> Communicator:
    """This group's side of the intercommunicator that the leaders of two groups make."""
    call, side = "Create_intercomm", int(my_peer > remote_leader)
    if my_peer == remote_leader:
        fail("ERR_ARG", f"{call}(remote_leader={remote_leader}): a leader cannot speak for both groups")
    meeting: LeaderlessMeeting = form_group(key, side, 2, local.world_ranks())
    swap(peers.internal_context(), remote_leader, tag, _RANK_BYTES, _RANK_BYTES, call)
    groups: list[Members] = [meeting.brought[0], meeting.brought[1]]
    sizes = [_RANK_BYTES * len(group) for group in groups]
    swap(peers.internal_context(), remote_leader, tag, sizes[side], sizes[1 - side], call)
    if meeting.result is None:
        if not set(groups[0]).isdisjoint(groups[1]):
            fail("ERR_COMM", f"{call}: the two groups have ranks in common")
        meeting.result = world().new_intercommunicator(*groups)
    new: Communicator = meeting.result[side]
    return new


def _tell_side(local: Communicator, rank: int, leader: int, payload: dict[str, Communicator]) -> Communicator:
    """Broadcast the size and then the ranks of the other group from the leader to its group."""
    call = "Create_intercomm"
    announce(local, rank, leader, _RANK_BYTES, call)
    new = payload["joined"]
    announce(local, rank, leader, _RANK_BYTES * new.remote.size, call)
    return new


def _check_leader(leader: int, n_ranks: int, name: str) -> None:
    if not 0 <= leader < n_ranks:
        fail("ERR_RANK", f"Create_intercomm({name}={leader}): there are ranks 0 to {n_ranks - 1}")
