"""Creation of communicators from one, and their end; the messages are in `creation_messages`."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from smpy.engine.running import current, mpi_call
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.collectives.run import start
from smpy.mpi.comms.creation_messages import exchange, pay_for_new, split, split_both
from smpy.mpi.comms.groups import Group
from smpy.mpi.comms.hints import give_hints
from smpy.mpi.comms.identity import Identity
from smpy.mpi.requests.request import Request
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.attributes import copy_attributes, delete_attributes
from smpy.mpi.state.comm_core import handle_on, member_of
from smpy.mpi.state.constants import UNDEFINED
from smpy.mpi.state.environment import abort
from smpy.mpi.state.exceptions import Exception as MpiException
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.info import Info, pairs_of
from smpy.mpi.state.members import Members, place_of
from smpy.mpi.state.surface_bases import MYSELF, NOWHERE
from smpy.mpi.state.world import Communicator, world

__all__ = ["Creation"]

_FLAG_BYTES: Final = 4
"""Bytes per rank in the messages of `Create` between groups, and in the broadcast of `Idup`."""


class Creation(Identity):
    """Creation of communicators from a communicator, and their end."""

    __slots__ = ()

    # ---- the same ranks ----

    @mpi_call
    def Dup(self, info: Info | None = None) -> Any:
        """A communicator of the same ranks, with messages of its own.

        Parameters
        ----------
        info : Info, optional
            Its hints; default: those of this communicator.
        """
        return self._duplicated(info, "Dup")

    @mpi_call
    def Dup_with_info(self, info: Info) -> Any:
        """A communicator of the same ranks, with messages and hints of its own.

        Parameters
        ----------
        info : Info
            Its hints.
        """
        return self._duplicated(info, "Dup_with_info")

    @mpi_call
    def Idup(self, info: Info | None = None) -> tuple[Any, Request]:
        """Start to make a communicator of the same ranks, to be used when the request has completed.

        It costs a non-blocking broadcast of 4 bytes; between groups, a non-blocking barrier.

        Parameters
        ----------
        info : Info, optional
            Its hints; default: those of this communicator.
        """
        return self._started_duplicate(info, "Idup")

    @mpi_call
    def Idup_with_info(self, info: Info) -> tuple[Any, Request]:
        """Start to make a communicator of the same ranks, to be used when the request has completed.

        Parameters
        ----------
        info : Info
            Its hints.
        """
        return self._started_duplicate(info, "Idup_with_info")

    def Clone(self) -> Any:
        """A communicator of the same ranks, with messages of its own."""
        return self.Dup()

    def _duplicated(self, info: Info | None, call: str) -> Any:
        communicator, rank = member_of(self, call)
        collective = enter(communicator, rank, Signature(call), _duplicate_of, communicator)
        new = _this_side(collective.payload, communicator)
        pay_for_new(new, rank, call)
        collective.leave()
        return self._as_duplicate(communicator, rank, new, info, call)

    def _started_duplicate(self, info: Info | None, call: str) -> tuple[Any, Request]:
        communicator, rank = member_of(self, call)
        collective = enter(communicator, rank, Signature(call), _duplicate_of, communicator)
        new = _this_side(collective.payload, communicator)
        collective.leave()
        op, nbytes = ("barrier", 0) if new.is_inter else ("bcast", _FLAG_BYTES)
        announcing = enter(new, rank, Signature(f"{call}'s broadcast", 0), object)
        request = start(announcing, new, op, 0, nbytes, lambda _: announcing.leave())
        return self._as_duplicate(communicator, rank, new, info, call), request

    def _as_duplicate(
        self, communicator: Communicator, rank: int, new: Communicator, info: Info | None, call: str
    ) -> Any:
        handle = handle_on(type(self), new.number)
        own = communicator.own_of(rank, to_change=False)
        hints = dict(own.info) if info is None else pairs_of(info)
        give_hints(new, rank, hints, call)
        if own.attributes:
            try:
                new.own_of(rank, to_change=True).attributes = copy_attributes(self, own.attributes, call)
            except MpiException:
                handle.Free()
                raise
        return handle

    # ---- other ranks ----

    @mpi_call
    def Create(self, group: Group) -> Any:
        """A communicator of the ranks in a group; null for the others.

        Between groups, each side names its own ranks; it is null for all when a side names nobody.

        Parameters
        ----------
        group : Group
            Ranks of this communicator, of the running rank's side.
        """
        communicator, rank = member_of(self, "Create")
        _check_within(group._members, communicator)
        make = _create_between if communicator.is_inter else _create_within
        new = make(communicator, rank, group._members)
        return self._handle_or_null(new)

    @mpi_call
    def Split(self, color: int = 0, key: int = 0) -> Any:
        """A communicator of the ranks with the same color, in order of key, then of rank.

        Parameters
        ----------
        color : int
            Not negative, or ``UNDEFINED`` for no communicator.
        key : int
            Order in the new communicator.
        """
        communicator, rank = member_of(self, "Split")
        color, key = integer("Split", "color", color), integer("Split", "key", key)
        if color < 0 and color != UNDEFINED:
            fail("ERR_ARG", f"Split(color={color}): a color is not negative, or UNDEFINED")
        new = (split_both if communicator.is_inter else split)(communicator, rank, color, key)
        if new is not None:
            pay_for_new(new, current().comm_rank(new.number), "Split")
        return self._handle_or_null(new)

    def _handle_or_null(self, new: Communicator | None) -> Any:
        """The running rank's handle on a new communicator, null when it is not in it."""
        if new is None:
            return self._null_handle()
        return self._handle_on(new)

    # ---- its end ----

    @mpi_call
    def Free(self) -> None:
        """Give the communicator back; the handle becomes null."""
        self._end_by("Free")

    @mpi_call
    def Disconnect(self) -> None:
        """Give the communicator back when its messages have arrived; the handle becomes null."""
        self._end_by("Disconnect")

    def _end_by(self, call: str) -> None:
        communicator, rank = member_of(self, call)
        if self._kernel_comm in (0, MYSELF):
            fail("ERR_COMM", f"{call}: {communicator.name} is predefined")
        delete_attributes(self, communicator.own_of(rank, to_change=False).attributes, call)
        communicator.own.pop(rank, None)
        if world().parents.get(current().rank) == communicator.number:
            del world().parents[current().rank]
        self._refer_to(NOWHERE)
        joint = communicator.joint
        joint.n_freed += 1
        if joint.n_freed == joint.n_members:
            world().forget(communicator)

    @mpi_call
    def Abort(self, errorcode: int = 0) -> NoReturn:
        """End the run, at the simulated time of this call.

        Parameters
        ----------
        errorcode : int
            Exit code of the run.
        """
        abort(integer("Abort", "errorcode", errorcode))

    @classmethod
    def _null_handle(cls) -> Any:
        """A null handle of the class that the new communicators of this one have."""
        raise NotImplementedError


def _duplicate_of(communicator: Communicator) -> Communicator:
    new = world().new_like(communicator)
    new.topology = communicator.topology
    return new


def _this_side(joined: Communicator, communicator: Communicator) -> Communicator:
    return joined if joined.side == communicator.side else joined.remote


def _check_within(members: Members, communicator: Communicator) -> None:
    known = communicator.world_ranks()
    if members == known:
        return
    strangers = set(members).difference(known)
    if strangers:
        fail("ERR_GROUP", f"Create: world rank {min(strangers)} of the group is not in the communicator")


def _create_within(communicator: Communicator, rank: int, members: Members) -> Communicator | None:
    collective = enter(communicator, rank, Signature("Create"), dict)
    new: Communicator | None = None
    place = place_of(members, current().rank)
    if place >= 0:
        new = collective.payload.get(members)
        if new is None:
            new = collective.payload[members] = world().new_communicator(members)
        pay_for_new(new, place, "Create")
    collective.leave()
    return new


def _create_between(communicator: Communicator, rank: int, members: Members) -> Communicator | None:
    collective = enter(communicator, rank, Signature("Create"), dict)
    groups: dict[int, Members] = collective.payload
    groups[communicator.side] = members
    exchange(communicator, rank, _FLAG_BYTES * communicator.size, _FLAG_BYTES * communicator.remote.size, "Create")
    new: Communicator | None = None
    if groups[0] and groups[1] and place_of(members, current().rank) >= 0:
        joined = collective.payload.get("made")
        if joined is None:
            joined = collective.payload["made"] = world().new_intercommunicator(groups[0], groups[1])
        new = joined[communicator.side]
        pay_for_new(new, current().comm_rank(new.number), "Create")
    collective.leave()
    return new
